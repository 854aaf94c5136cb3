// What a rule does: its operations in their order.
import { Form, type FormInstance, Select } from "antd";
import { faultlessPart, RuleFieldItem } from "./rewrite-field.tsx";
import { type ActionRow, NEW_ACTION, storedIn } from "./rewrite-rows.ts";
import { OPERATIONS, operationOf, type RuleField, TARGETS } from "./rewrite-tables.ts";
import { AddRow, RowButtons } from "./row-buttons.tsx";
import type { ChannelValues } from "./values.ts";

const CHOICES = Object.entries(TARGETS).map(([target, label]) => ({
  label,
  options: Object.entries(OPERATIONS)
    .filter(([, operation]) => operation.target === target)
    .map(([value, operation]) => ({ value, label: operation.label })),
}));

/** Whether a field is for what was chosen in another one; what is there is shown in any case. */
function isShown(row: ActionRow, member: string, field: RuleField): boolean {
  const stored = storedIn(row, field, member);
  if (field.only === undefined || (stored !== undefined && stored !== "")) return true;
  const chosen = Object.values(row.choice ?? {}).map(String);
  return field.only.some((value) => chosen.includes(JSON.stringify(value)));
}

interface ActionFieldsProps {
  readonly form: FormInstance<ChannelValues>;
  readonly rule: number;
  readonly at: number;
}

function ActionFields({ form, rule, at }: ActionFieldsProps) {
  const row: ActionRow | undefined = Form.useWatch(["rules", rule, "do", at], { form, preserve: true });
  if (row === undefined) return null;
  return Object.entries(operationOf(row.op)?.fields ?? {})
    .filter(([member, field]) => isShown(row, member, field))
    .map(([member, field]) => (
      <RuleFieldItem
        key={`${field.kind} ${member}`}
        form={form}
        row={[rule, "do", at]}
        at={at}
        field={field}
        member={member}
      />
    ));
}

export interface RuleActionsProps {
  readonly form: FormInstance<ChannelValues>;
  /** The rule's place among the others. */
  readonly rule: number;
  readonly title: string;
}

export function RuleActions({ form, rule, title }: RuleActionsProps) {
  return (
    <fieldset className="tg-rewrite-part">
      <legend>操作</legend>
      <Form.List name={[rule, "do"]} rules={[faultlessPart(form, [rule, "do"])]}>
        {(fields, { add, move, remove }, { errors }) => (
          <>
            {fields.map(({ key, name: at }) => (
              <div key={key} className="tg-rewrite-row">
                <div className="tg-rewrite-row-fields">
                  <Form.Item name={[at, "op"]} label={`操作 ${at + 1}`}>
                    <Select options={CHOICES} listHeight={400} />
                  </Form.Item>
                  <ActionFields form={form} rule={rule} at={at} />
                </div>
                <RowButtons
                  title={`${title}的操作 ${at + 1}`}
                  at={at}
                  count={fields.length}
                  onMove={(target) => move(at, target)}
                  onRemove={fields.length > 1 ? () => remove(at) : undefined}
                />
              </div>
            ))}
            <Form.ErrorList errors={errors} />
            <AddRow text="添加操作" label={`给${title}添加操作`} onAdd={() => add(NEW_ACTION)} />
          </>
        )}
      </Form.List>
    </fieldset>
  );
}
