// Pasting keys: what the text holds is told before anything is saved (requirements C29).
import { useQuery } from "@tanstack/react-query";
import { Input, Modal } from "antd";
import { useDeferredValue, useState } from "react";
import { call, useCall } from "#console/base/call.ts";
import { formatCount } from "#console/base/format.ts";
import { toast } from "#console/base/toast.ts";
import { Callout } from "#console/ui/callout.tsx";
import { type Fact, Facts } from "#console/ui/facts.tsx";
import { channelKeyApi, type KeyPreview } from "#contract/channel-key.ts";
import type { Endpoint } from "#contract/endpoint.ts";

const EXAMPLE =
  "每行一个密钥\n\n也可以是 JSON 数组，或以 key,name,weight,proxy 为表头的 CSV（还可有 connect_ms,first_byte_ms,idle_ms,total_ms）";

function count(value: number, unit = "个"): string {
  return `${formatCount(value)} ${unit}`;
}

function Preview({ found }: { readonly found: KeyPreview }) {
  const { fresh, known, repeated, elsewhere, elsewhere_channels: channels, malformed } = found;
  const facts: Fact[] = [
    ["将添加", <strong key="fresh">{count(fresh)}</strong>],
    known > 0 && ["本渠道已有，跳过", count(known)],
    repeated > 0 && ["文本中重复，跳过", count(repeated)],
    elsewhere > 0 && [
      "其他渠道也在用，仍会添加",
      `${count(elsewhere)}（渠道 ${channels.map((id) => `#${id}`).join("、")}）`,
    ],
  ];
  return (
    <>
      <Facts facts={facts} labelWidth={180} />
      {malformed === 0 ? null : (
        <Callout tone="warn">
          {formatCount(malformed)} 行无法使用，跳过：
          {found.malformed_lines.map(({ line, reason }) => `第 ${line} 行 ${reason}`).join("；")}
        </Callout>
      )}
    </>
  );
}

export interface PasteDialogProps {
  readonly id: number;
  readonly stale: readonly Endpoint[];
  readonly onClose: () => void;
}

/** Typing does not ask the server with each letter. */
const PAUSE_MS = 400;

export function PasteDialog({ id, stale, onClose }: PasteDialogProps) {
  const [text, setText] = useState("");
  const late = useDeferredValue(text.trim());
  const preview = useQuery({
    // The keys are in no cache that outlives this dialog.
    queryKey: ["key-preview", id, late],
    gcTime: 0,
    enabled: late !== "",
    meta: { silent: true },
    queryFn: async ({ signal }) => {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      return call(channelKeyApi.preview, { params: { id }, body: { text: late } }, signal);
    },
  });
  const add = useCall(channelKeyApi.add, {
    invalidates: stale,
    onSuccess: ({ fresh }) => {
      toast.success(`已添加 ${formatCount(fresh)} 个密钥`);
      onClose();
    },
  });
  const found = late === text.trim() ? preview.data : undefined;
  const fresh = found?.fresh ?? 0;
  return (
    <Modal
      open
      title="粘贴密钥"
      width={640}
      okText={fresh === 0 ? "添加" : `添加 ${formatCount(fresh)} 个密钥`}
      okButtonProps={{ disabled: fresh === 0, loading: add.isPending }}
      cancelText="取消"
      mask={{ closable: false }}
      onOk={() => add.mutate({ params: { id }, body: { text: late } })}
      onCancel={onClose}
    >
      <Input.TextArea
        className="tg-code"
        aria-label="要添加的密钥"
        value={text}
        autoFocus
        autoComplete="off"
        spellCheck={false}
        placeholder={EXAMPLE}
        autoSize={{ minRows: 6, maxRows: 14 }}
        onChange={(event) => setText(event.target.value)}
      />
      <div className="tg-key-preview" aria-live="polite">
        {found === undefined ? (
          <p className="tg-muted">
            {preview.error?.message ?? (late === "" ? "密钥加密保存，保存后不再显示。" : "正在检查……")}
          </p>
        ) : (
          <Preview found={found} />
        )}
      </div>
    </Modal>
  );
}
