// The request that a channel would send for an example, made by the server with the code that sends; the key is not shown.
import { Button, type FormInstance, Input, Modal, Select } from "antd";
import { useState } from "react";
import { useCall } from "#console/base/call.ts";
import { readPairs } from "#console/base/json.ts";
import { Callout } from "#console/ui/callout.tsx";
import { MappingField } from "#console/ui/mapping-field.tsx";
import { channelApi, type RewritePreview } from "#contract/channel.ts";
import { SAMPLES } from "./rewrite-samples.ts";
import { rewriteOf } from "./rewrite-values.ts";
import { type ChannelValues, proxyOf } from "./values.ts";

/** How far rules reach into each kind of request. */
const REACH: Readonly<Record<RewritePreview["reach"], string>> = {
  request: "规则可以改写请求体和请求头，也可以拒绝请求。",
  opening:
    "会话：规则改写建立连接的请求头，可以拒绝；客户端的消息里只改 session.update，且只由路径以 /session/ 开头的规则改。",
  control: "查询类请求：规则只改请求头，不改请求体，也不拒绝。",
};

const KINDS = [...SAMPLES].map(([value, { label }]) => ({ value, label }));

function bodyFor(chosen: string, model: string): string {
  return JSON.stringify(SAMPLES.get(chosen)?.bodyOf(model) ?? {}, null, 2);
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
  const { fired, refused, reach, method, url, headers, before, after } = found;
  const body = (text: string) => (text === "" ? "（没有 JSON 请求体）" : spread(text));
  return (
    <div className="tg-rewrite-shown">
      <p className="tg-muted">{REACH[reach]}</p>
      <p>{fired.length === 0 ? "没有规则生效，请求不变。" : `生效的规则：${fired.join("、")}`}</p>
      {refused === "" ? null : <Callout tone="warn">请求被规则拒绝：{refused}</Callout>}
      {found.raises_to > 0 ? (
        <Callout tone="info">规则可能把输出上限提高到 {found.raises_to}，预扣费按它计算。</Callout>
      ) : null}
      <h3>请求头</h3>
      <pre className="tg-code">
        {[`${method} ${url}`, ...headers.map(({ name, value }) => `${name}: ${value}`)].join("\n")}
        {found.signed_late ? "\n（凭证在发送时生成）" : ""}
      </pre>
      {refused === "" ? (
        <div className="tg-rewrite-bodies">
          <div>
            <h3>改写前</h3>
            <pre className="tg-code">{body(before)}</pre>
          </div>
          <div>
            <h3>改写后</h3>
            <pre className="tg-code">{body(after)}</pre>
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
  const [chosen, setChosen] = useState("chat");
  const [body, setBody] = useState(() => bodyFor("chat", model));
  const [headers, setHeaders] = useState("");
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
        rewrite: rewriteOf(values) ?? { v: 1, rules: [] },
        format: SAMPLES.get(chosen)?.format ?? "chat",
        body,
        headers: Object.fromEntries(readPairs(headers) ?? []),
      },
    });
  const choose = (next: string) => {
    setChosen(next);
    setBody(bodyFor(next, model));
    // What is shown belongs to another kind of request.
    preview.reset();
  };
  return (
    <Modal open title="预览请求" width={860} footer={null} onCancel={onClose}>
      <p className="tg-muted">不会发送，不会保存；密钥以 *** 代替。已保存的渠道使用已保存的地址。</p>
      <div className="tg-form-inline tg-rewrite-buttons">
        <Select
          aria-label="客户端的请求"
          className="tg-rewrite-kind"
          value={chosen}
          options={KINDS}
          listHeight={460}
          onChange={choose}
        />
        <Button type="primary" loading={preview.isPending} onClick={ask}>
          预览
        </Button>
      </div>
      <Input.TextArea
        className="tg-code"
        aria-label="示例请求"
        spellCheck={false}
        value={body}
        autoSize={{ minRows: 4, maxRows: 14 }}
        onChange={(event) => setBody(event.target.value)}
      />
      <div className="tg-rewrite-client">
        <h3>客户端的请求头</h3>
        <MappingField
          from="名称"
          to="值"
          example={'{\n  "user-agent": "codex"\n}'}
          value={headers}
          onChange={setHeaders}
        />
      </div>
      {preview.data === undefined ? null : <Shown found={preview.data} />}
    </Modal>
  );
}
