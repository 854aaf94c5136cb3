// Makes or edits a set of permissions; `?from=` begins with what another one holds.
import { useQuery } from "@tanstack/react-query";
import { useSearchParams } from "react-router";
import { formQuery, query, useCall } from "#console/base/call.ts";
import { toast } from "#console/base/toast.ts";
import { rule } from "#console/ui/fields.ts";
import { FormPage, oneOf } from "#console/ui/form-page.tsx";
import { useToList } from "#console/ui/form-way.ts";
import { PermissionFields } from "#console/ui/permission-fields.tsx";
import { ResourceForm } from "#console/ui/resource-form.tsx";
import { Section } from "#console/ui/section.tsx";
import { FormState } from "#console/ui/table-states.tsx";
import { TextField } from "#console/ui/text-field.tsx";
import { GRANTABLE } from "#contract/permission.ts";
import { type StaffSet, StaffSetDraft, staffApi } from "#contract/staff.ts";

function valuesOf(row: StaffSet | undefined): StaffSetDraft {
  const held = row?.permissions ?? [];
  return { name: row?.name ?? "", permissions: GRANTABLE.filter((name) => held.includes(name)) };
}

function StaffSetForm({
  row,
  from,
}: {
  readonly row: StaffSet | undefined;
  readonly from?: StaffSet | undefined;
}) {
  const toList = useToList("/staff");
  const after = { invalidates: [staffApi.list], onSuccess: () => toast.success("权限集已保存！") };
  const create = useCall(staffApi.create, after);
  const update = useCall(staffApi.update, after);
  const submit = (body: StaffSetDraft) =>
    row === undefined ? create.mutateAsync({ body }) : update.mutateAsync({ params: { id: row.id }, body });
  const copied = from === undefined ? undefined : { ...from, name: `${from.name} 副本` };
  return (
    <ResourceForm<StaffSetDraft>
      initial={valuesOf(row ?? copied)}
      onSubmit={submit}
      onDone={toList}
      onCancel={toList}
    >
      {() => (
        <>
          <Section title="名称">
            <TextField name="name" label="名称" rules={[rule(StaffSetDraft.shape.name)]} maxLength={40} />
          </Section>
          <Section
            title="权限"
            lead="逐项勾选；以后新增的权限不会自动进入。密钥导出、角色、支付渠道、价格发布、登录服务与通知只属于超级管理员。"
          >
            <PermissionFields names={GRANTABLE} rules={[rule(StaffSetDraft.shape.permissions)]} />
          </Section>
        </>
      )}
    </ResourceForm>
  );
}

/** The form of a new set, once what it begins with is known. */
function NewStaffSet() {
  const [params] = useSearchParams();
  const from = Number(params.get("from") ?? "0");
  const { data, error, refetch } = useQuery({ ...query(staffApi.list, {}), enabled: from > 0 });
  if (from > 0 && data === undefined) return <FormState error={error} onRetry={() => void refetch()} />;
  return <StaffSetForm row={undefined} from={data?.find(({ id }) => id === from)} />;
}

export function StaffSetFormPage() {
  return (
    <FormPage<StaffSet> load={oneOf(formQuery(staffApi.list, {}), "找不到该权限集")}>
      {(row) => (row === undefined ? <NewStaffSet /> : <StaffSetForm row={row} />)}
    </FormPage>
  );
}
