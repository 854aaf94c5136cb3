// When a rule applies: conditions that must all hold, and groups of which one must.
import { DeleteOutlined } from "@ant-design/icons";
import { Button, Form, type FormInstance, Select } from "antd";
import { conditionFault, conditionsAt, type Place } from "./rewrite-faults.ts";
import { faultlessPart, RuleFieldItem } from "./rewrite-field.tsx";
import { NEW_CONDITION } from "./rewrite-rows.ts";
import { CONDITIONS, conditionOf } from "./rewrite-tables.ts";
import { AddRow } from "./row-buttons.tsx";
import type { ChannelValues } from "./values.ts";

const KINDS = Object.entries(CONDITIONS).map(([value, { label }]) => ({ value, label }));

interface ConditionFieldsProps {
  readonly form: FormInstance<ChannelValues>;
  /** The list of conditions among the rules. */
  readonly list: Place;
  readonly at: number;
}

function ConditionFields({ form, list, at }: ConditionFieldsProps) {
  // The form has no values before its fields are there.
  const isOf = ({ rules = [] }: Partial<ChannelValues>) => conditionsAt(rules, list)[at]?.is;
  const is = Form.useWatch(isOf, form) ?? "";
  const condition = conditionOf(is);
  if (condition === undefined) return null;
  const place = { form, row: [...list, at], at };
  const more = () => conditionFault(conditionsAt(form.getFieldValue("rules"), list), at);
  return (
    <>
      {condition.shape === "one" ? null : (
        <RuleFieldItem key={`${is}name`} {...place} field={condition.name} member="name" more={more} />
      )}
      {condition.shape === "list" ? null : (
        <RuleFieldItem
          key={`${is}value`}
          {...place}
          field={condition.value}
          member="value"
          {...(condition.shape === "one" && { more })}
        />
      )}
    </>
  );
}

interface ConditionListProps {
  readonly form: FormInstance<ChannelValues>;
  readonly list: Place;
  /** The same from the list around it. */
  readonly name: (string | number)[];
  /** What a condition is of, for those who hear it. */
  readonly title: string;
}

function ConditionList({ form, list, name, title }: ConditionListProps) {
  return (
    <Form.List name={name}>
      {(fields, { add, remove }) => (
        <>
          {fields.map(({ key, name: at }) => (
            <div key={key} className="tg-rewrite-row">
              <div className="tg-rewrite-row-fields">
                <Form.Item name={[at, "is"]} label="条件">
                  <Select options={KINDS} listHeight={320} />
                </Form.Item>
                <ConditionFields form={form} list={list} at={at} />
              </div>
              <Button
                type="text"
                className="tg-rewrite-row-end"
                icon={<DeleteOutlined aria-hidden="true" />}
                aria-label={`删除${title}的条件 ${at + 1}`}
                onClick={() => remove(at)}
              />
            </div>
          ))}
          <AddRow text="添加条件" label={`给${title}添加条件`} onAdd={() => add(NEW_CONDITION)} />
        </>
      )}
    </Form.List>
  );
}

export interface RuleConditionsProps {
  readonly form: FormInstance<ChannelValues>;
  /** The rule's place among the others. */
  readonly at: number;
  readonly title: string;
}

export function RuleConditions({ form, at, title }: RuleConditionsProps) {
  const groups = faultlessPart(form, [at, "any"]);
  return (
    <fieldset className="tg-rewrite-part">
      <legend>何时生效</legend>
      <p className="tg-muted">须全部符合；没有条件时对所有请求生效。</p>
      <ConditionList form={form} list={[at, "when"]} name={[at, "when"]} title={title} />
      <Form.List name={[at, "any"]} rules={[groups]}>
        {(fields, { add, remove }, { errors }) => (
          <>
            {fields.map(({ key, name }) => (
              <div key={key} className="tg-rewrite-group">
                <div className="tg-rewrite-head">
                  <span>{`条件组 ${name + 1}（任意一组符合即可）`}</span>
                  <Button
                    type="text"
                    icon={<DeleteOutlined aria-hidden="true" />}
                    aria-label={`删除${title}的条件组 ${name + 1}`}
                    onClick={() => remove(name)}
                  />
                </div>
                <ConditionList
                  form={form}
                  list={[at, "any", name, "when"]}
                  name={[name, "when"]}
                  title={`${title}条件组 ${name + 1}`}
                />
              </div>
            ))}
            <Form.ErrorList errors={errors} />
            <AddRow
              text="添加条件组"
              label={`给${title}添加条件组`}
              onAdd={() => add({ when: [NEW_CONDITION] })}
            />
          </>
        )}
      </Form.List>
    </fieldset>
  );
}
