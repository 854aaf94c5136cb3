// The fields of a user as administrators edit it: account, rights and money, bindings.
import { useQuery } from "@tanstack/react-query";
import { Checkbox, Form, Input, Select } from "antd";
import { query } from "#console/base/call.ts";
import { Callout } from "#console/ui/callout.tsx";
import { rule, unlessKept } from "#console/ui/fields.ts";
import { QuotaField } from "#console/ui/quota-field.tsx";
import { Section } from "#console/ui/section.tsx";
import { TextField } from "#console/ui/text-field.tsx";
import { QuotaText } from "#console/ui/value-text.tsx";
import { statusApi } from "#contract/status.ts";
import { Role, type User } from "#contract/user.ts";
import type { EditedUser } from "#contract/user-admin.ts";
import {
  CommissionRule,
  DisplayNameRule,
  groupsOf,
  PasswordRule,
  QuotaRule,
  UsernameRule,
} from "./values.ts";

export function AccountFields({ user, isSelf }: { readonly user: User; readonly isSelf: boolean }) {
  return (
    <Section title="账户" lead={`用户 #${user.id}，用户名用于登录。`}>
      <div className="tg-form-row">
        <TextField
          name="username"
          label="用户名"
          rules={[unlessKept(user.username, rule(UsernameRule))]}
          maxLength={Math.max(12, user.username.length)}
        />
        <TextField
          name="display_name"
          label="显示名称"
          rules={[unlessKept(user.display_name, rule(DisplayNameRule))]}
          maxLength={Math.max(20, user.display_name.length)}
        />
      </div>
      <TextField
        name="password"
        label="密码"
        extra={isSelf ? "修改自己的密码请前往个人设置。" : "留空表示不修改。修改后，该用户的登录会全部失效。"}
        rules={[unlessKept("", rule(PasswordRule))]}
        isSecret
        autoComplete="new-password"
        disabled={isSelf}
        placeholder="不修改"
      />
    </Section>
  );
}

const ROLE_OPTIONS = [
  { value: Role.user, label: "普通用户" },
  { value: Role.admin, label: "管理员" },
];

function GroupField({ user }: { readonly user: User }) {
  const groups = useQuery({ ...query(statusApi.groups, {}), staleTime: 60_000 });
  const names = [...new Set([...(groups.data ?? []), ...groupsOf(user.group)])];
  return (
    <Form.Item name="group" label="分组" extra="决定可用的渠道和价格倍率；分组在运营设置的分组倍率中维护。">
      <Select
        showSearch
        loading={groups.isPending}
        options={names.map((name) => ({ value: name, label: name }))}
        placeholder="请选择分组"
      />
    </Form.Item>
  );
}

export interface RightsFieldsProps {
  readonly user: EditedUser;
  /** Only super administrators change roles, and never that of one of themselves. */
  readonly mayChangeRole: boolean;
  readonly mayChangeGroup: boolean;
  readonly mayChangeMoney: boolean;
}

export function RightsFields({ user, mayChangeRole, mayChangeGroup, mayChangeMoney }: RightsFieldsProps) {
  if (!mayChangeGroup && !mayChangeMoney) return null;
  return (
    <Section title="权限与额度" lead="修改会写入该用户的日志，备注用来说明原因。">
      <div className="tg-form-row">
        {mayChangeGroup ? <GroupField user={user} /> : null}
        {mayChangeRole ? (
          <Form.Item name="role" label="用户角色" extra="修改后，该用户的登录与系统访问令牌会失效。">
            <Select options={ROLE_OPTIONS} />
          </Form.Item>
        ) : null}
      </div>
      {mayChangeMoney ? <MoneyFields user={user} /> : null}
    </Section>
  );
}

function MoneyFields({ user }: { readonly user: EditedUser }) {
  return (
    <>
      {user.debt_quota > 0 ? (
        <Form.Item>
          <Callout tone="warn">
            该用户有退款或拒付留下的欠额 <QuotaText quota={user.debt_quota} />
            ，增加的额度会先抵扣它。
          </Callout>
        </Form.Item>
      ) : null}
      <Form.Item
        name="quota"
        label="剩余额度"
        extra="提交的是与打开时的差额，期间产生的消费不会被覆盖。"
        rules={[unlessKept(user.quota, rule(QuotaRule))]}
      >
        <QuotaField amounts="add" />
      </Form.Item>
      <TextField
        name="commission"
        label="邀请返现余额"
        rules={[rule(CommissionRule)]}
        prefix="¥"
        inputMode="decimal"
        style={{ width: 200 }}
      />
      <TextField name="remark" label="备注" maxLength={200} placeholder="例如：线下充值、提现已支付" />
    </>
  );
}

const BINDINGS = [
  { name: "github_id", label: "已绑定的 GitHub 账户", account: "GitHub 账户" },
  { name: "wechat_id", label: "已绑定的微信账户", account: "微信账户" },
  { name: "email", label: "已绑定的邮箱账户", account: "邮箱账户" },
] as const;

/** The user's own bindings: an administrator can read and remove them, not set them. */
export function BindingFields({ user }: { readonly user: User }) {
  const bound = BINDINGS.filter(({ name }) => user[name] !== "");
  return (
    <Section title="绑定" lead="只读，需要用户本人在个人设置中绑定；管理员只能解除。">
      <div className="tg-form-row">
        {BINDINGS.map(({ name, label }) => (
          <Form.Item key={name} label={label} htmlFor={`bound-${name}`}>
            <Input id={`bound-${name}`} value={user[name]} placeholder="未绑定" readOnly variant="filled" />
          </Form.Item>
        ))}
      </div>
      {bound.length === 0 ? null : (
        <Form.Item name="cleared" label="解除绑定">
          <Checkbox.Group options={bound.map(({ name, account }) => ({ value: name, label: account }))} />
        </Form.Item>
      )}
    </Section>
  );
}
