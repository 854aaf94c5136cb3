// By which proxy a channel is reached, and whether its connections are used again.
import { Checkbox, Form, Input, Select } from "antd";
import { TextField } from "#console/ui/text-field.tsx";
import { isProxyKind, pastedProxy } from "./values.ts";

const KINDS = [
  { value: "", label: "跟随全局设置" },
  { value: "direct", label: "直连（不使用代理）" },
  { value: "http", label: "HTTP" },
  { value: "https", label: "HTTPS" },
  { value: "socks5", label: "SOCKS5（本机解析域名）" },
  { value: "socks5h", label: "SOCKS5H（代理解析域名）" },
];

const BY_PROXY = "域名由代理解析，代理所在网络里的地址也能被访问到。";

/** Who resolves names, which decides what can be reached. */
const HINTS: Readonly<Record<string, string>> = {
  "": "使用系统设置里的出站代理；那里没有设置时直连。",
  direct: "即使系统设置了出站代理，此渠道也不使用。",
  http: BY_PROXY,
  https: `与代理之间使用 TLS。${BY_PROXY}`,
  socks5: "域名由本机解析，代理只收到 IP。",
  socks5h: BY_PROXY,
};

const REUSE = [
  { value: "auto", label: "自动" },
  { value: "never", label: "从不" },
];

const LATER = "加密保存，保存后不再显示。";

/** Credentials go in and never come out. */
function LoginFields({ hasLogin }: { readonly hasLogin: boolean }) {
  const isOpen = Form.useWatch("proxy_open") === true;
  const hint = hasLogin ? "已设置，留空表示不修改" : "没有可不填";
  return (
    <>
      <div className="tg-form-row">
        <TextField
          name="proxy_user"
          label="代理用户名"
          extra={hasLogin ? "更换代理地址后须重新填写。" : LATER}
          className="tg-code"
          autoComplete="off"
          spellCheck={false}
          disabled={isOpen}
          placeholder={hint}
        />
        <Form.Item name="proxy_password" label="代理密码">
          <Input.Password
            className="tg-code"
            autoComplete="new-password"
            disabled={isOpen}
            placeholder={hint}
          />
        </Form.Item>
      </div>
      {hasLogin ? (
        <Form.Item name="proxy_open" valuePropName="checked">
          <Checkbox>清除已保存的代理凭证</Checkbox>
        </Form.Item>
      ) : null}
    </>
  );
}

export function ProxyFields({ hasLogin }: { readonly hasLogin: boolean }) {
  const form = Form.useFormInstance();
  const kind: unknown = Form.useWatch("proxy_kind");
  const known = typeof kind === "string" ? kind : "";
  return (
    <>
      <div className="tg-form-row">
        <Form.Item name="proxy_kind" label="出站代理" extra={HINTS[known]}>
          <Select options={KINDS} />
        </Form.Item>
        <Form.Item
          name="reuse"
          label="连接复用"
          extra="来路不明的中转商选“从不”更安全，每次调用会慢一次握手。"
        >
          <Select options={REUSE} />
        </Form.Item>
      </div>
      {isProxyKind(known) ? (
        <>
          <TextField
            name="proxy_address"
            label="代理地址"
            extra="主机:端口，也可以粘贴完整的地址。内网或本机的代理须在环境变量 EGRESS_PROXY_ALLOW 中放行。"
            rules={[{ required: true, whitespace: true, message: "请填写代理地址" }]}
            className="tg-code"
            spellCheck={false}
            maxLength={300}
            onBlur={({ target }) => form.setFieldsValue(pastedProxy(target.value))}
            placeholder="proxy.example.com:8080"
          />
          <LoginFields hasLogin={hasLogin} />
        </>
      ) : null}
    </>
  );
}
