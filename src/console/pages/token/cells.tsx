// Cells of the token list that say more than a value, and the button that copies a token in its many forms.
import { DownOutlined } from "@ant-design/icons";
import { Button, type MenuProps, Space } from "antd";
import { copyText } from "#console/base/clipboard.ts";
import { formatCount, formatTime, maskKey, relativeTime } from "#console/base/format.ts";
import { curlSample, environmentSample } from "#console/base/samples.ts";
import { useQuotaDisplay, useServerAddress } from "#console/base/status.ts";
import { ButtonMenu } from "#console/ui/button-menu.tsx";
import type { CellProps } from "#console/ui/row-view.ts";
import { StatusTag, type Tone } from "#console/ui/status-tag.tsx";
import { Tooltip } from "#console/ui/tooltip.tsx";
import { TimeText } from "#console/ui/value-text.tsx";
import { formatQuota } from "#contract/quota.ts";
import { type Token, TokenStatus, tagsOf } from "#contract/token.ts";
import { TOKEN_STATES } from "./filters.ts";
import { expiryWords, modelsFor, NEVER } from "./values.ts";
import "./cells.css";

const SAMPLE_MODEL = "gpt-4o-mini";

const TONES: Readonly<Record<number, Tone>> = {
  [TokenStatus.enabled]: "good",
  [TokenStatus.expired]: "bad",
  [TokenStatus.exhausted]: "bad",
};

export function State({ row }: CellProps<Token>) {
  return <StatusTag label={TOKEN_STATES[row.status] ?? "未知状态"} tone={TONES[row.status] ?? "idle"} />;
}

interface CopyKeyProps {
  readonly token: Token;
  readonly onRotate: () => void;
  /** Sets up a client. */
  readonly onSetUp: () => void;
  /** Gets the text when the clipboard refused it. */
  readonly onRefused: (text: string) => void;
}

export function CopyKey({ token, onRotate, onSetUp, onRefused }: CopyKeyProps) {
  const server = useServerAddress();
  // Shown once, or it could not be opened now.
  const isClosed = token.key === "";
  const key = `sk-${token.key}`;
  const model = modelsFor(token.models, [])[0] ?? SAMPLE_MODEL;
  const copy = async (text: string) => {
    if (!(await copyText(text))) onRefused(text);
  };
  const items: NonNullable<MenuProps["items"]> = [
    { key: "key", label: "复制密钥", disabled: isClosed, onClick: () => void copy(key) },
    {
      key: "curl",
      label: "复制 curl 命令",
      disabled: isClosed,
      onClick: () => void copy(curlSample({ server, key, model })),
    },
    {
      key: "env",
      label: "复制环境变量",
      disabled: isClosed,
      onClick: () => void copy(environmentSample({ server, key, model })),
    },
    { key: "address", label: "复制接口地址", onClick: () => void copy(`${server}/v1`) },
    { key: "clients", label: "客户端配置…", onClick: onSetUp },
    { key: "line", type: "divider" },
    { key: "rotate", label: "轮换密钥…", onClick: onRotate },
  ];
  return (
    <Space.Compact size="small" className="tg-copy-key">
      <Button
        size="small"
        disabled={isClosed}
        onClick={() => void copy(key)}
        aria-label={`复制令牌 ${token.name} 的密钥`}
      >
        复制
      </Button>
      <ButtonMenu menu={{ items }}>
        <Button
          size="small"
          icon={<DownOutlined aria-hidden="true" />}
          aria-label={`复制令牌 ${token.name} 的其他形式`}
        />
      </ButtonMenu>
    </Space.Compact>
  );
}

interface NameProps extends CellProps<Token> {
  /** Lists the tokens with a tag. */
  readonly onTag: (tag: string) => void;
}

/** The name over the tags. */
export function Name({ row: { name, tags }, onTag }: NameProps) {
  const all = tagsOf(tags);
  return (
    <>
      {name === "" ? <span className="tg-muted">无</span> : <span className="tg-clip tg-name">{name}</span>}
      {all.length === 0 ? null : (
        <span className="tg-token-tags">
          {all.map((tag) => (
            <button key={tag} type="button" title={`只看标签“${tag}”`} onClick={() => onTag(tag)}>
              {tag}
            </button>
          ))}
        </span>
      )}
    </>
  );
}

/** The masked key, and until when the one before it works. */
export function Key({ row: { key, key_hint, old_key_until, old_key_used } }: CellProps<Token>) {
  const masked = key === "" ? `sk-${key_hint.replace("…", "••••••")}` : maskKey(key);
  const used = old_key_used === 0 ? "轮换后未再使用" : `最近使用 ${formatTime(old_key_used)}`;
  return (
    <>
      {masked === "sk-" ? "暂时无法读取" : <code className="tg-code">{masked}</code>}
      {old_key_until === 0 ? null : (
        <Tooltip title={`旧密钥在 ${formatTime(old_key_until)} 之前仍可使用，${used}`}>
          <span className="tg-token-old">旧密钥 {relativeTime(old_key_until, Date.now() / 1_000)}失效</span>
        </Tooltip>
      )}
    </>
  );
}

/** What is left, over a bar of what was used of the whole. */
export function RemainingQuota({ row: token }: CellProps<Token>) {
  const display = useQuotaDisplay();
  if (token.unlimited_quota) return <span className="tg-muted">无限制</span>;
  const total = token.used_quota + token.remain_quota;
  const left = total === 0 ? 0 : Math.max(0, token.remain_quota / total);
  const words = `剩余 ${formatCount(token.remain_quota)} 点，共 ${formatQuota(total, display)}`;
  return (
    <Tooltip title={words}>
      <span className="tg-remaining">
        <span className="tg-number">{formatQuota(token.remain_quota, display)}</span>
        <span className="tg-bar" aria-hidden="true">
          <span className={left < 0.1 ? "tg-bar-low" : ""} style={{ width: `${Math.round(left * 100)}%` }} />
        </span>
      </span>
    </Tooltip>
  );
}

/** The date (requirements B3), in a warning tone near the end; how far away it is on hover. */
export function Expiry({ row: { expired_time } }: CellProps<Token>) {
  const { text, tone } = expiryWords(expired_time, Date.now() / 1000);
  if (expired_time === NEVER) return <span className="tg-muted">{text}</span>;
  if (tone === "idle") return <TimeText seconds={expired_time} />;
  return <StatusTag tone={tone} label={formatTime(expired_time)} hint={text} />;
}
