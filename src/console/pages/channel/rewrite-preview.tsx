// The request that a channel would send for an example, made by the server with the code that sends; the key is not shown.
import { Button, type FormInstance, Input, Modal, Select } from "antd";
import { useState } from "react";
import { useCall } from "#console/base/call.ts";
import { Callout } from "#console/ui/callout.tsx";
import { channelApi, type RewritePreview } from "#contract/channel.ts";
import { readRules } from "./rewrite-values.ts";
import { type ChannelValues, proxyOf } from "./values.ts";

const FORMATS = [
  { value: "chat", label: "Chat" },
  { value: "messages", label: "Messages" },
  { value: "responses", label: "Responses" },
  { value: "generate", label: "Gemini" },
  { value: "embeddings", label: "Embeddings" },
] as const;
type Format = (typeof FORMATS)[number]["value"];

function exampleOf(format: Format, model: string): string {
  const hi = { role: "user", content: "你好" };
  const bodies: Readonly<Record<Format, object>> = {
    chat: { model, messages: [hi], temperature: 1, max_tokens: 1_000 },
    messages: { model, messages: [hi], max_tokens: 1_000 },
    responses: { model, input: "你好", max_output_tokens: 1_000 },
    generate: { model, contents: [{ role: "user", parts: [{ text: "你好" }] }] },
    embeddings: { model, input: "你好" },
  };
  return JSON.stringify(bodies[format], null, 2);
}

/** For reading; a text that is no JSON stays. */
function spread(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function Shown({ found }: { readonly found: RewritePreview }) {
  const { fired, refused, url, headers, before, after } = found;
  return (
    <div className="tg-rewrite-shown">
      <p>{fired.length === 0 ? "没有规则生效，请求不变。" : `生效的规则：${fired.join("、")}`}</p>
      {refused === "" ? null : <Callout tone="warn">请求被规则拒绝：{refused}</Callout>}
      {found.raises_to > 0 ? (
        <Callout tone="info">规则可能把输出上限提高到 {found.raises_to}，预扣费按它计算。</Callout>
      ) : null}
      <h3>请求头</h3>
      <pre className="tg-code">
        {[`POST ${url}`, ...headers.map(({ name, value }) => `${name}: ${value}`)].join("\n")}
        {found.signed_late ? "\n（凭证在发送时生成）" : ""}
      </pre>
      {refused === "" ? (
        <div className="tg-rewrite-bodies">
          <div>
            <h3>改写前</h3>
            <pre className="tg-code">{spread(before)}</pre>
          </div>
          <div>
            <h3>改写后</h3>
            <pre className="tg-code">{spread(after)}</pre>
          </div>
        </div>
      ) : null}
    </div>
  );
}

export interface RewritePreviewDialogProps {
  readonly form: FormInstance<ChannelValues>;
  readonly channelId: number | undefined;
  readonly onClose: () => void;
}

export function RewritePreviewDialog({ form, channelId, onClose }: RewritePreviewDialogProps) {
  const [values] = useState((): ChannelValues => form.getFieldsValue(true));
  const [model = "gpt-4o"] = values.models;
  const [format, setFormat] = useState<Format>("chat");
  const [body, setBody] = useState(() => exampleOf("chat", model));
  const preview = useCall(channelApi.previewRewrite);
  const ask = () =>
    preview.mutate({
      body: {
        ...(channelId !== undefined && { id: channelId }),
        type: values.type,
        key: values.key.trim(),
        base_url: values.base_url.trim(),
        other: values.other.trim(),
        proxy: proxyOf(values),
        model_mapping: values.model_mapping,
        rewrite: readRules(values.rewrite) ?? { v: 1, rules: [] },
        format,
        body,
      },
    });
  const choose = (next: Format) => {
    setFormat(next);
    setBody(exampleOf(next, model));
  };
  return (
    <Modal open title="预览请求" width={860} footer={null} onCancel={onClose}>
      <p className="tg-muted">不会发送，不会保存；密钥以 *** 代替。已保存的渠道使用已保存的地址。</p>
      <div className="tg-form-inline tg-rewrite-buttons">
        <Select aria-label="客户端的格式" value={format} options={[...FORMATS]} onChange={choose} />
        <Button type="primary" loading={preview.isPending} onClick={ask}>
          预览
        </Button>
      </div>
      <Input.TextArea
        className="tg-code"
        aria-label="示例请求"
        spellCheck={false}
        value={body}
        autoSize={{ minRows: 4, maxRows: 10 }}
        onChange={(event) => setBody(event.target.value)}
      />
      {preview.data === undefined ? null : <Shown found={preview.data} />}
    </Modal>
  );
}
