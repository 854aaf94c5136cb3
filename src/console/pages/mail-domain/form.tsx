// Makes or edits a domain of mail that leads into a group and a team.
import { useQuery } from "@tanstack/react-query";
import { Form, Select } from "antd";
import { useState } from "react";
import { formQuery, query, useCall } from "#console/base/call.ts";
import { toast } from "#console/base/toast.ts";
import { required, rule } from "#console/ui/fields.ts";
import { FormPage, oneOf } from "#console/ui/form-page.tsx";
import { useToList } from "#console/ui/form-way.ts";
import { ResourceForm } from "#console/ui/resource-form.tsx";
import { Section } from "#console/ui/section.tsx";
import { TextField } from "#console/ui/text-field.tsx";
import { MailDomainDraft, type MailDomainRow, mailDomainApi } from "#contract/mail-domain.ts";
import { statusApi } from "#contract/status.ts";
import { teamAdminApi } from "#contract/team.ts";
import { DOMAIN_ROLES } from "./words.ts";

const NEW: MailDomainDraft = { domain: "", group: "", team_id: 0, team_role: "member" };
const ROLES = Object.entries(DOMAIN_ROLES).map(([value, label]) => ({ value, label }));
const SHOWN = 20;

function TeamField({ row }: { readonly row: MailDomainRow | undefined }) {
  const [keyword, setKeyword] = useState("");
  const found = useQuery({
    ...query(teamAdminApi.all, { query: { p: 0, size: SHOWN, keyword } }),
    staleTime: 10_000,
  });
  const open = (found.data?.data ?? []).filter(({ closed_at }) => closed_at === 0);
  const options = new Map([
    [0, "不加入团队"],
    ...(row && row.team_id !== 0 ? [[row.team_id, row.team_name] as const] : []),
    ...open.map(({ id, name, owner_name }) => [id, `${name}（#${id}，${owner_name}）`] as const),
  ]);
  return (
    <Form.Item name="team_id" label="团队" extra="可按编号或名称开头搜索。">
      <Select
        showSearch={{ filterOption: false, onSearch: setKeyword }}
        loading={found.isFetching}
        options={[...options].map(([value, label]) => ({ value, label }))}
      />
    </Form.Item>
  );
}

function Fields({ row }: { readonly row: MailDomainRow | undefined }) {
  const groups = useQuery({ ...query(statusApi.groups, {}), staleTime: 60_000 });
  const hasTeam = (Form.useWatch("team_id") ?? row?.team_id ?? 0) !== 0;
  const names = [...new Set([...(groups.data ?? []), ...(row?.group ? [row.group] : [])])];
  return (
    <Section title="域名" lead="须完全一致：子域名要另外添加，公共邮箱的域名不能添加。">
      <TextField
        name="domain"
        label="邮箱域名"
        rules={[required, rule(MailDomainDraft.shape.domain)]}
        placeholder="example.com"
        extra="中文等域名请填写 xn-- 开头的形式。"
      />
      <Form.Item name="group" label="分组" extra="新账户所在的分组；已有账户只在仍属于 default 时改变。">
        <Select
          options={[
            { value: "", label: "不改变" },
            ...names.map((group) => ({ value: group, label: group })),
          ]}
        />
      </Form.Item>
      <TeamField row={row} />
      {hasTeam ? (
        <Form.Item name="team_role" label="团队中的角色">
          <Select options={ROLES} />
        </Form.Item>
      ) : null}
    </Section>
  );
}

function valuesOf(row: MailDomainRow | undefined): MailDomainDraft {
  if (row === undefined) return NEW;
  const { domain, group, team_id, team_role } = row;
  return { domain, group, team_id, team_role };
}

function MailDomainForm({ row }: { readonly row: MailDomainRow | undefined }) {
  const toList = useToList("/mail-domain");
  const after = { invalidates: [mailDomainApi.list], onSuccess: () => toast.success("邮箱域名已保存！") };
  const create = useCall(mailDomainApi.create, after);
  const update = useCall(mailDomainApi.update, after);
  const submit = (values: MailDomainDraft) => {
    const body = { ...valuesOf(row), ...values };
    return row === undefined
      ? create.mutateAsync({ body })
      : update.mutateAsync({ params: { id: row.id }, body });
  };
  return (
    <ResourceForm<MailDomainDraft>
      initial={valuesOf(row)}
      onSubmit={submit}
      onDone={toList}
      onCancel={toList}
    >
      {() => <Fields row={row} />}
    </ResourceForm>
  );
}

export function MailDomainFormPage() {
  return (
    <FormPage<MailDomainRow> load={oneOf(formQuery(mailDomainApi.list, {}), "找不到该邮箱域名")}>
      {(row) => <MailDomainForm row={row} />}
    </FormPage>
  );
}
