// Copies a token: its key, or a ready call, environment or configuration of a client that holds it.
import { DownOutlined } from "@ant-design/icons";
import { Button, type MenuProps, Space } from "antd";
import { copyText } from "#console/base/clipboard.ts";
import {
  claudeCodeSample,
  codexSample,
  continueSample,
  curlSample,
  environmentSample,
  geminiCliSample,
} from "#console/base/samples.ts";
import { useServerAddress } from "#console/base/status.ts";
import { ButtonMenu } from "#console/ui/button-menu.tsx";
import type { Token } from "#contract/token.ts";

/** By the file that each stands in. */
const CLIENTS = [
  { label: "Claude Code（settings.json）", sample: claudeCodeSample },
  { label: "Codex（config.toml）", sample: codexSample },
  { label: "Gemini CLI（.env）", sample: geminiCliSample },
  { label: "Continue（config.yaml）", sample: continueSample },
] as const;

const SAMPLE_MODEL = "gpt-4o-mini";

export interface CopyKeyProps {
  readonly token: Token;
  /** Gets the text when the clipboard refused it. */
  readonly onRefused: (text: string) => void;
}

export function CopyKey({ token, onRefused }: CopyKeyProps) {
  const server = useServerAddress();
  const key = `sk-${token.key}`;
  const model = token.models.split(",")[0] || SAMPLE_MODEL;
  const copy = async (text: string) => {
    if (!(await copyText(text))) onRefused(text);
  };
  const items: NonNullable<MenuProps["items"]> = [
    { key: "key", label: "复制密钥", onClick: () => void copy(key) },
    { key: "curl", label: "复制 curl 命令", onClick: () => void copy(curlSample({ server, key, model })) },
    {
      key: "env",
      label: "复制环境变量",
      onClick: () => void copy(environmentSample({ server, key, model })),
    },
    { key: "address", label: "复制接口地址", onClick: () => void copy(`${server}/v1`) },
    {
      key: "clients",
      type: "group",
      label: "客户端配置",
      children: CLIENTS.map(({ label, sample }) => ({
        key: label,
        label,
        onClick: () => void copy(sample({ server, key, model })),
      })),
    },
  ];
  return (
    <Space.Compact size="small" className="tg-copy-key">
      <Button
        size="small"
        disabled={token.key === ""}
        onClick={() => void copy(key)}
        aria-label={`复制令牌 ${token.name} 的密钥`}
      >
        复制
      </Button>
      <ButtonMenu menu={{ items }}>
        <Button
          size="small"
          disabled={token.key === ""}
          icon={<DownOutlined aria-hidden="true" />}
          aria-label={`复制令牌 ${token.name} 的其他形式`}
        />
      </ButtonMenu>
    </Space.Compact>
  );
}
