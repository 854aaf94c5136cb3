// Whom a login provider lets in, and what its claims give.
import { useQuery } from "@tanstack/react-query";
import { Form, Input, Select, Switch } from "antd";
import { query } from "#console/base/call.ts";
import { Section } from "#console/ui/section.tsx";
import type { ProviderKind } from "#contract/login-provider.ts";
import { staffApi } from "#contract/staff.ts";
import { faultyLine } from "./rules.ts";
import { CHAT_WORDS } from "./words.ts";

const ruleLines = {
  validator: (_: unknown, text: string) => {
    const line = faultyLine(text);
    return line === undefined
      ? Promise.resolve()
      : Promise.reject(
          new Error(`第 ${line} 行有误，应为：字段 = 值 → 分组，或 → #团队编号 角色，或 → @权限集编号`),
        );
  },
};

/** What an address of mail may open; addresses in chats are typed in by administrators and open nothing. */
function MailFields() {
  return (
    <>
      <Form.Item
        name="mail_domains"
        label="单位的邮箱域名"
        extra="只有这些域名的已验证邮箱会被采信，须完全一致，子域名要另外填写。"
      >
        <Select
          mode="tags"
          open={false}
          suffixIcon={null}
          tokenSeparators={[",", " "]}
          placeholder="example.com"
        />
      </Form.Item>
      <Form.Item
        name="links_by_mail"
        label="按邮箱自动关联"
        valuePropName="checked"
        extra="普通账号的邮箱与上述已验证邮箱相同时直接登录该账号。管理员和开启两步验证的账号除外。"
      >
        <Switch />
      </Form.Item>
      <Form.Item
        name="is_only_way"
        label="仅允许由此登录"
        valuePropName="checked"
        extra="邮箱属于上述域名、且已绑定的账号不能再用密码或其他方式登录；超级管理员除外，停用本服务后恢复。"
      >
        <Switch />
      </Form.Item>
      <Form.Item
        name="trusts_mfa"
        label="采信对方的两步验证"
        valuePropName="checked"
        extra="对方声明做过两步验证（amr 含 mfa）时，这里不再要求。"
      >
        <Switch />
      </Form.Item>
    </>
  );
}

export function AccountFields() {
  const kind: ProviderKind = Form.useWatch("kind") ?? "oidc";
  const isChat = CHAT_WORDS[kind] !== undefined;
  return (
    <Section title="账号" lead="谁可以由此登录；邮箱本身不能打开任何已有账号。">
      <Form.Item name="sign_up" label="新用户">
        <Select
          options={[
            { value: "open", label: "开放注册时可以注册" },
            {
              value: "domain",
              label: isChat ? "关闭注册时，本企业的人仍可注册" : "关闭注册时，下列域名的邮箱仍可注册",
            },
            { value: "never", label: "不注册，只能登录已绑定的账号" },
          ]}
        />
      </Form.Item>
      {isChat ? null : <MailFields />}
      <Form.Item
        name="rules"
        label="分组、团队与权限规则"
        rules={[ruleLines]}
        extra="每行一条：字段 = 值 → 分组，或 → #团队编号 角色（manager、finance、member、viewer），或 → @权限集编号。分组与权限集取第一条符合的，每个团队也是；字段不存在时不改变，只收回由此给出的。"
      >
        <Input.TextArea
          rows={4}
          spellCheck={false}
          placeholder={"groups = vip-users → vip\ngroups = developers → #3 member"}
        />
      </Form.Item>
      <StaffFields />
    </Section>
  );
}

/** The operator's consent to administrators, and the numbers that the rules name sets by. */
function StaffFields() {
  const isOn: boolean = Form.useWatch("grants_staff") ?? false;
  const sets = useQuery({ ...query(staffApi.list, {}), enabled: isOn });
  const numbers = (sets.data ?? []).map(({ id, name }) => `@${id} ${name}`).join("、");
  return (
    <Form.Item
      name="grants_staff"
      label="可以授予管理员权限"
      valuePropName="checked"
      extra={
        isOn && numbers !== ""
          ? `符合规则的账号成为管理员，只有该权限集的权限：${numbers}。`
          : "开启后，规则可以让账号成为有指定权限集的管理员；关闭后，由此成为管理员的账号下次登录时恢复为普通用户。"
      }
    >
      <Switch />
    </Form.Item>
  );
}
