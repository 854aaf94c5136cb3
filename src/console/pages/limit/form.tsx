// Makes or edits a limit of a user, a group or everybody. Whose it is does not change.
import { useQuery } from "@tanstack/react-query";
import { AutoComplete, Form, Select } from "antd";
import { formQuery, query, useCall } from "#console/base/call.ts";
import { toast } from "#console/base/toast.ts";
import { required } from "#console/ui/fields.ts";
import { FormPage } from "#console/ui/form-page.tsx";
import { useToList } from "#console/ui/form-way.ts";
import { ResourceForm } from "#console/ui/resource-form.tsx";
import { Section } from "#console/ui/section.tsx";
import { TextField } from "#console/ui/text-field.tsx";
import { type Limit, limitApi } from "#contract/limit.ts";
import { statusApi } from "#contract/status.ts";
import { LimitFields } from "./fields.tsx";
import { draftOf, type LimitValues, subjectDraftOf, valuesOf } from "./values.ts";
import { SUBJECT_LABELS, subjectText } from "./words.ts";

const SUBJECTS = ["user", "member", "group", "all"] as const;

function Subject() {
  const subject = Form.useWatch<LimitValues["subject"]>("subject") ?? "user";
  const groups = useQuery({ ...query(statusApi.groups, {}), staleTime: 60_000 });
  return (
    <Section title="限制谁">
      <div className="tg-form-row">
        <Form.Item name="subject" label="对象">
          <Select options={SUBJECTS.map((value) => ({ value, label: SUBJECT_LABELS[value] }))} />
        </Form.Item>
        {subject === "user" ? (
          <TextField
            name="username"
            label="用户名"
            extra="登录用的名称，在用户列表中查看。"
            rules={[{ required: true, message: "请填写用户名" }]}
          />
        ) : null}
        {subject === "group" || subject === "member" ? (
          <Form.Item
            name="subject_name"
            label="分组"
            rules={[required, { required: true, message: "请选择分组" }]}
          >
            <AutoComplete options={(groups.data ?? []).map((value) => ({ value }))} />
          </Form.Item>
        ) : null}
      </div>
    </Section>
  );
}

function LimitForm({ row }: { readonly row: Limit | undefined }) {
  const toList = useToList("/limit");
  const options = {
    invalidates: [limitApi.list, limitApi.self],
    onSuccess: () => toast.success("限额已保存！"),
  };
  const create = useCall(limitApi.create, options);
  const update = useCall(limitApi.update, options);
  const submit = (values: LimitValues) =>
    row === undefined
      ? create.mutateAsync({ body: subjectDraftOf(values) })
      : update.mutateAsync({ body: { ...draftOf(values), id: row.id } });
  return (
    <ResourceForm<LimitValues>
      initial={valuesOf(row)}
      kept={["subject", "username", "subject_name", "kind", "amount", "time_window", "mode", "model_pattern"]}
      onSubmit={submit}
      onDone={toList}
      onCancel={toList}
    >
      {() => (
        <>
          {row === undefined ? <Subject /> : null}
          <LimitFields {...(row === undefined ? {} : { lead: `${subjectText(row)}的限额。` })} />
        </>
      )}
    </ResourceForm>
  );
}

/** The limit that the address names. */
function theOne(id: number) {
  const asked = formQuery(limitApi.list, { query: { p: 0, size: 1, subject: "", subject_id: "", id } });
  return {
    ...asked,
    queryFn: async (context: Parameters<typeof asked.queryFn>[0]) => {
      const [row] = (await asked.queryFn(context)).data;
      if (row === undefined) throw new Error("找不到该限额");
      return row;
    },
  };
}

export function LimitFormPage() {
  return <FormPage<Limit> load={theOne}>{(row) => <LimitForm row={row} />}</FormPage>;
}
