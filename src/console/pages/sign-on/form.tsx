// Makes or edits a login provider, tests it, and deletes it. The secret is never shown, and stays when left empty.
import { Button, Form, Input, Select, Switch } from "antd";
import { useState } from "react";
import { formQuery, useCall } from "#console/base/call.ts";
import { useServerAddress } from "#console/base/status.ts";
import { toast } from "#console/base/toast.ts";
import { Callout } from "#console/ui/callout.tsx";
import { closing } from "#console/ui/closing.ts";
import { CopyField } from "#console/ui/copy-button.tsx";
import { filled } from "#console/ui/fields.ts";
import { FormPage, oneOf } from "#console/ui/form-page.tsx";
import { useToList } from "#console/ui/form-way.ts";
import { PlainDialog } from "#console/ui/plain-dialog.tsx";
import { ResourceForm } from "#console/ui/resource-form.tsx";
import { Section } from "#console/ui/section.tsx";
import { TextField } from "#console/ui/text-field.tsx";
import {
  type LoginProvider,
  loginProviderApi,
  PROVIDER_KINDS,
  type ProviderDraft,
} from "#contract/login-provider.ts";
import { AccountFields } from "./account-fields.tsx";
import { rulesOf, rulesText } from "./rules.ts";
import { CHAT_WORDS, type ChatWords, KIND_NAMES } from "./words.ts";
import "./sign-on.css";

interface Values extends Omit<ProviderDraft, "rules"> {
  kind: LoginProvider["kind"];
  slug: string;
  /** A line for each: path, `=`, value, `→`, group. */
  rules: string;
}

const NEW: Values = {
  kind: "oidc",
  slug: "",
  name: "",
  is_enabled: true,
  sort: 0,
  client_id: "",
  secret: "",
  auth_style: "body",
  scopes: "openid profile email",
  issuer: "",
  authorize_url: "",
  token_url: "",
  userinfo_url: "",
  id_path: "sub",
  name_path: "name",
  mail_path: "email",
  verified_path: "email_verified",
  tenants: [],
  agent_id: "",
  mail_domains: [],
  sign_up: "open",
  links_by_mail: false,
  is_only_way: false,
  trusts_mfa: false,
  grants_staff: false,
  rules: "",
};

function valuesOf(row: LoginProvider | undefined): Values {
  if (row === undefined) return NEW;
  const { id: _id, has_secret: _has, redirect_url: _url, identities: _count, rules, ...rest } = row;
  return { ...rest, secret: "", rules: rulesText(rules) };
}

function Endpoints() {
  return (
    <>
      <TextField
        name="authorize_url"
        label="授权地址"
        rules={[filled]}
        placeholder="https://…/oauth/authorize"
      />
      <TextField name="token_url" label="令牌地址" rules={[filled]} placeholder="https://…/oauth/token" />
      <TextField name="userinfo_url" label="用户信息地址" rules={[filled]} placeholder="https://…/api/user" />
      <TextField
        name="id_path"
        label="用户标识字段"
        rules={[filled]}
        extra="唯一且不会变化的字段，例如 sub 或 data.id。"
      />
      <TextField name="name_path" label="显示名称字段" />
      <TextField name="mail_path" label="邮箱字段" />
      <TextField name="verified_path" label="邮箱已验证字段" extra="为 true 才视为已验证。" />
    </>
  );
}

interface KindProps {
  readonly kind: LoginProvider["kind"];
  readonly hasSecret: boolean;
}

/** What OpenID Connect and OAuth 2 need. */
function StandardFields({ kind, hasSecret }: KindProps) {
  return (
    <>
      {kind === "oidc" ? (
        <TextField
          name="issuer"
          label="签发者地址"
          rules={[filled]}
          placeholder="https://login.example.com/realms/company"
          extra="不含 /.well-known/openid-configuration。"
        />
      ) : (
        <Endpoints />
      )}
      <TextField name="client_id" label="客户端 ID" rules={[filled]} />
      <TextField
        name="secret"
        label="客户端密钥"
        isSecret
        autoComplete="new-password"
        placeholder={hasSecret ? "已设置" : ""}
        extra={hasSecret ? "已设置，留空表示不变。" : "公开客户端可以留空。"}
      />
      <Form.Item name="auth_style" label="密钥的传递方式">
        <Select
          options={[
            { value: "body", label: "请求内容（client_secret_post）" },
            { value: "basic", label: "请求头（client_secret_basic）" },
          ]}
        />
      </Form.Item>
      <TextField name="scopes" label="授权范围" />
    </>
  );
}

/** What an app of a chat needs: its company decides who may come. */
function ChatFields({ kind, words, hasSecret }: KindProps & { readonly words: ChatWords }) {
  return (
    <>
      <TextField name="client_id" label={words.id} rules={[filled]} />
      <TextField
        name="secret"
        label={words.secret}
        isSecret
        autoComplete="new-password"
        placeholder={hasSecret ? "已设置" : ""}
        rules={hasSecret ? [] : [filled]}
        extra={hasSecret ? "已设置，留空表示不变。" : undefined}
      />
      {words.tenant === undefined ? (
        <TextField
          name="agent_id"
          label="应用 ID（AgentId）"
          rules={[filled]}
          extra="还须在应用的“企业微信授权登录”里登记回调域名，并把本机的出口地址加入企业可信 IP。"
        />
      ) : (
        <Form.Item
          name="tenants"
          label="允许的企业"
          rules={[{ required: true, message: "请至少填写一个企业" }]}
          extra={`${words.tenant}；其他企业的人不能登录。${kind === "dingtalk" ? "应用还须有通讯录个人信息读权限。" : ""}`}
        >
          <Select mode="tags" open={false} suffixIcon={null} tokenSeparators={[",", " "]} />
        </Form.Item>
      )}
    </>
  );
}

function Service({ row }: { readonly row: LoginProvider | undefined }) {
  const kind: LoginProvider["kind"] = Form.useWatch("kind") ?? row?.kind ?? NEW.kind;
  const slug: string = Form.useWatch("slug") ?? row?.slug ?? "";
  const server = useServerAddress();
  const isNew = row === undefined;
  return (
    <Section
      title="服务"
      lead="协议与标识保存后不能修改。在对方平台登记下面的回调地址，取得客户端 ID 与密钥。"
    >
      <Form.Item name="kind" label="协议">
        <Select
          disabled={!isNew}
          options={PROVIDER_KINDS.map((value) => ({ value, label: KIND_NAMES[value] }))}
        />
      </Form.Item>
      <TextField name="name" label="名称" rules={[filled]} maxLength={20} placeholder="例如：公司账号" />
      <TextField
        name="slug"
        label="标识"
        rules={[filled]}
        maxLength={32}
        disabled={!isNew}
        placeholder="例如：company"
        extra="回调地址的结尾：小写字母、数字或连字符。"
      />
      {slug ? (
        <div className="tg-sign-on-address">
          <CopyField label="回调地址" copyLabel="复制回调地址" text={`${server}/oauth/${slug}`} />
          {kind === "oidc" ? (
            <CopyField
              label="注销通知地址（back-channel logout，可选）"
              copyLabel="复制注销通知地址"
              text={`${server}/api/oauth/${slug}/backchannel`}
            />
          ) : null}
        </div>
      ) : null}
      {CHAT_WORDS[kind] === undefined ? (
        <StandardFields kind={kind} hasSecret={row?.has_secret === true} />
      ) : (
        <ChatFields kind={kind} words={CHAT_WORDS[kind]} hasSecret={row?.has_secret === true} />
      )}
      <Form.Item name="is_enabled" label="启用" valuePropName="checked">
        <Switch />
      </Form.Item>
    </Section>
  );
}

function Test({ row }: { readonly row: LoginProvider }) {
  const test = useCall(loginProviderApi.test, {});
  return (
    <Section title="测试" lead="用已保存的设置连接登录服务，不会登录任何人。">
      {test.data === undefined ? null : (
        <Callout tone={test.data.is_ok ? "info" : "bad"}>
          {test.data.is_ok ? "连接正常" : `连接失败：${test.data.detail}`}
        </Callout>
      )}
      <div>
        <Button loading={test.isPending} onClick={() => test.mutate({ params: { id: row.id }, body: {} })}>
          测试连接
        </Button>
      </div>
    </Section>
  );
}

function Removal({ row, onDone }: { readonly row: LoginProvider; readonly onDone: () => void }) {
  const [isOpen, setOpen] = useState(false);
  const [typed, setTyped] = useState("");
  const remove = useCall(
    loginProviderApi.remove,
    closing([loginProviderApi.list], "登录服务已删除！", onDone),
  );
  return (
    <Section title="删除" lead="绑定的账号保留 30 天：用同样的标识和地址重新添加，绑定就会恢复。">
      <div>
        <Button danger onClick={() => setOpen(true)}>
          删除登录服务
        </Button>
      </div>
      {isOpen ? (
        <PlainDialog title={`删除 ${row.name}`} onClose={() => setOpen(false)}>
          <p>
            {row.identities} 个账号将不能再用它登录。请输入 <strong>{row.name}</strong> 以确认。
          </p>
          <Input aria-label="登录服务名称" value={typed} onChange={({ target }) => setTyped(target.value)} />
          <p>
            <Button
              danger
              type="primary"
              disabled={typed !== row.name}
              loading={remove.isPending}
              onClick={() => remove.mutate({ params: { id: row.id }, query: { name: typed } })}
            >
              确认删除
            </Button>
          </p>
        </PlainDialog>
      ) : null}
    </Section>
  );
}

function ProviderForm({ row }: { readonly row: LoginProvider | undefined }) {
  const toList = useToList("/login-provider");
  const options = {
    invalidates: [loginProviderApi.list],
    onSuccess: () => toast.success("登录服务已保存！"),
  };
  const create = useCall(loginProviderApi.create, options);
  const update = useCall(loginProviderApi.update, options);
  const submit = ({ kind, slug, rules, ...rest }: Values) => {
    const draft = { ...rest, rules: rulesOf(rules) };
    return row === undefined
      ? create.mutateAsync({ body: { ...draft, kind, slug } })
      : update.mutateAsync({ params: { id: row.id }, body: draft });
  };
  return (
    <div className="tg-sign-on">
      <ResourceForm<Values> initial={valuesOf(row)} onSubmit={submit} onDone={toList} onCancel={toList}>
        {() => (
          <>
            <Service row={row} />
            <AccountFields />
          </>
        )}
      </ResourceForm>
      {row === undefined ? null : (
        <>
          <Test row={row} />
          <Removal row={row} onDone={toList} />
        </>
      )}
    </div>
  );
}

export function LoginProviderFormPage() {
  return (
    <FormPage<LoginProvider> load={oneOf(formQuery(loginProviderApi.list, {}), "找不到该登录服务")}>
      {(row) => <ProviderForm row={row} />}
    </FormPage>
  );
}
