// A value of JSON as a field: its type, and what is typed of it.
import { Input, Select } from "antd";
import { NumberInput } from "#console/ui/number-input.tsx";
import type { TypedValue } from "./rewrite-rows.ts";

const TYPES: readonly { readonly value: TypedValue["type"]; readonly label: string }[] = [
  { value: "text", label: "文本" },
  { value: "number", label: "数字" },
  { value: "boolean", label: "布尔" },
  { value: "json", label: "JSON" },
];

const BOOLEANS = ["true", "false"].map((value) => ({ value, label: value }));

/** What stays of a text when it becomes another type. */
function retyped(type: TypedValue["type"], text: string): TypedValue {
  if (type === "boolean") return { type, text: text === "false" ? "false" : "true" };
  const isNumber = text.trim() !== "" && Number.isFinite(Number(text));
  return { type, text: type === "number" && !isNumber ? "" : text };
}

export interface TypedFieldProps {
  /** The next three are given by Form.Item. */
  readonly id?: string;
  readonly value?: TypedValue;
  readonly onChange?: (value: TypedValue) => void;
  readonly onBlur?: () => void;
}

export function TypedField({ id = "", value, onChange, onBlur }: TypedFieldProps) {
  const { type, text } = value ?? { type: "text", text: "" };
  const put = (next: string) => onChange?.({ type, text: next });
  return (
    <div className="tg-typed">
      <Select
        aria-label="值的类型"
        value={type}
        options={[...TYPES]}
        onChange={(next) => onChange?.(retyped(next, text))}
      />
      {type === "number" ? (
        <NumberInput
          id={id}
          style={{ width: "100%" }}
          value={text === "" ? null : Number(text)}
          onChange={(next) => put(next === null ? "" : String(next))}
          onBlur={onBlur}
        />
      ) : null}
      {type === "boolean" ? <Select id={id} value={text} options={BOOLEANS} onChange={put} /> : null}
      {type === "text" || type === "json" ? (
        <Input.TextArea
          id={id}
          className={type === "json" ? "tg-code" : ""}
          spellCheck={false}
          autoSize={{ minRows: 1, maxRows: 8 }}
          value={text}
          placeholder={type === "json" ? '{ "type": "enabled" }' : ""}
          onChange={(event) => put(event.target.value)}
          onBlur={onBlur}
        />
      ) : null}
    </div>
  );
}
