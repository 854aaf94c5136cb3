// A field of an operation or of a condition, of the kind that its table says.
import { Checkbox, Form, type FormInstance, type FormRule, Input, Select } from "antd";
import type { ReactElement } from "react";
import { NumberInput } from "#console/ui/number-input.tsx";
import { fieldFault, type Place, partFault } from "./rewrite-faults.ts";
import type { FieldKind, RuleField } from "./rewrite-tables.ts";
import { TypedField } from "./rewrite-typed.tsx";
import type { ChannelValues } from "./values.ts";

/** A rule of a field: it must have no fault where it stands. */
export function faultless(
  form: FormInstance<ChannelValues>,
  place: Place,
  more: () => string | undefined = () => undefined,
): FormRule {
  return {
    validator: async (_field, value: unknown) => {
      const fault = more() ?? fieldFault(form.getFieldValue("rules"), place, value);
      if (fault !== undefined) throw new Error(fault);
    },
  };
}

/** A rule of a list: its rows fit together. Returns what antd asks of lists. */
export function faultlessPart(form: FormInstance<ChannelValues>, place: Place) {
  return {
    validator: async () => {
      const fault = partFault(form.getFieldValue("rules"), place);
      if (fault !== undefined) throw new Error(fault);
    },
  };
}

const CONTROLS: Readonly<Record<FieldKind, (field: RuleField) => ReactElement>> = {
  path: coded,
  header: coded,
  text: ({ placeholder = "" }) => <Input autoComplete="off" placeholder={placeholder} />,
  area: () => <Input.TextArea className="tg-rewrite-area" autoSize={{ minRows: 2, maxRows: 12 }} />,
  number: () => <NumberInput style={{ width: "100%" }} />,
  json: () => <TypedField />,
  flag: ({ label }) => <Checkbox>{label}</Checkbox>,
  choice: ({ choices = [] }) => (
    <Select options={choices.map(({ value, label }) => ({ value: JSON.stringify(value), label }))} />
  ),
  list: ({ choices, placeholder = "" }) =>
    choices === undefined ? (
      <Select mode="tags" open={false} suffixIcon={null} placeholder={placeholder} />
    ) : (
      <Select
        mode="multiple"
        showSearch={{ optionFilterProp: "label" }}
        options={choices.map(({ value, label }) => ({ value: String(value), label }))}
      />
    ),
};

function coded({ placeholder = "" }: RuleField) {
  return <Input className="tg-code" autoComplete="off" spellCheck={false} placeholder={placeholder} />;
}

export interface RuleFieldItemProps {
  readonly form: FormInstance<ChannelValues>;
  /** The row among the rules, and its number in the list that it is in. */
  readonly row: Place;
  readonly at: number;
  readonly field: RuleField;
  readonly member: string;
  /** What else may be wrong with it. */
  readonly more?: () => string | undefined;
}

export function RuleFieldItem({ form, row, at, field, member, more }: RuleFieldItemProps) {
  const { kind, label } = field;
  const isFlag = kind === "flag";
  return (
    <Form.Item
      name={[at, kind, member]}
      label={isFlag ? undefined : label}
      valuePropName={isFlag ? "checked" : "value"}
      rules={[faultless(form, [...row, kind, member], more)]}
    >
      {CONTROLS[kind](field)}
    </Form.Item>
  );
}
