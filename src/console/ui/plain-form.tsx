// A form of native fields for guest pages: same look and rules as the console's forms without loading antd's form code.
import { EyeInvisibleOutlined, EyeOutlined } from "@ant-design/icons";
import { type FormEvent, type ReactNode, useId, useState } from "react";
import type { z } from "zod";
import { PlainButton } from "./plain-button.tsx";
import "./plain-form.css";

/** What binds one field to its form. */
export interface FieldBinding {
  readonly name: string;
  readonly value: string;
  readonly error: string | undefined;
  readonly onChange: (value: string) => void;
  readonly onBlur: () => void;
}

type Texts = Readonly<Record<string, string>>;

/** One field of a form, as a row of its table. */
export interface FieldRow<Name extends string> {
  readonly name: Name;
  readonly label: string;
  readonly hint?: string;
  readonly type?: "text" | "password" | "email";
  readonly autoComplete?: string;
}

export interface PlainFormProps<Values extends Texts> {
  /** An object schema whose fields are texts; its messages are shown under the fields. */
  readonly schema: z.ZodObject;
  readonly initial: Values;
  readonly onSubmit: (values: Values) => void;
  /** The first one gets the focus when the page opens. */
  readonly fields?: readonly FieldRow<keyof Values & string>[];
  /** What stands between the fields and the button. */
  readonly children?: (field: (name: keyof Values & string) => FieldBinding) => ReactNode;
  readonly submit: { readonly text: string; readonly isBusy: boolean; readonly isOff?: boolean };
}

/** First message per field; nothing for fields that are fine. */
function faultsOf(schema: z.ZodObject, values: Texts): Texts {
  const issues = schema.safeParse(values).error?.issues ?? [];
  return Object.fromEntries([...issues].reverse().map((issue) => [String(issue.path[0]), issue.message]));
}

/** Checks a field when it is left and all of them on submit; the first wrong one gets the focus. */
export function PlainForm<Values extends Texts>({
  schema,
  initial,
  onSubmit,
  fields = [],
  children,
  submit: button,
}: PlainFormProps<Values>) {
  const [values, setValues] = useState<Values>(initial);
  const [left, setLeft] = useState<readonly string[]>([]);
  const faults = faultsOf(schema, values);
  const field = (name: keyof Values & string): FieldBinding => ({
    name,
    value: values[name] ?? "",
    error: left.includes(name) ? faults[name] : undefined,
    onChange: (value) => setValues((current) => ({ ...current, [name]: value })),
    onBlur: () => setLeft((current) => (values[name] === "" ? current : [...current, name])),
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const wrong = Object.keys(values).find((name) => faults[name] !== undefined);
    setLeft(Object.keys(values));
    if (wrong === undefined) onSubmit(values);
    else event.currentTarget.querySelector<HTMLInputElement>(`[name="${wrong}"]`)?.focus();
  };
  return (
    <form className="tg-plain-form" noValidate onSubmit={submit}>
      {fields.map((row, at) => (
        <PlainField key={row.name} {...field(row.name)} {...row} isFirst={at === 0} />
      ))}
      {children?.(field)}
      <PlainButton
        kind="primary"
        type="submit"
        isLarge
        isBusy={button.isBusy}
        disabled={button.isOff === true}
      >
        {button.text}
      </PlainButton>
    </form>
  );
}

export interface PlainFieldProps extends FieldBinding, FieldRow<string> {
  /** Gets the focus when the page opens. */
  readonly isFirst?: boolean;
  readonly isReadOnly?: boolean;
  /** Stands inside the box, at its end: a button that belongs to this field. */
  readonly end?: ReactNode;
}

export function PlainField(props: PlainFieldProps) {
  const { name, label, hint, type = "text", value, error, onChange, onBlur } = props;
  const id = useId();
  const [isShown, setShown] = useState(false);
  const isSecret = type === "password";
  return (
    <div className="tg-plain-field">
      <label htmlFor={id}>{label}</label>
      <div className={error === undefined ? "tg-plain-box" : "tg-plain-box tg-plain-wrong"}>
        <input
          id={id}
          name={name}
          type={isSecret && isShown ? "text" : type}
          value={value}
          placeholder={hint}
          autoComplete={props.autoComplete}
          readOnly={props.isReadOnly === true}
          // biome-ignore lint/a11y/noAutofocus: the first field of a page that has nothing else to do
          autoFocus={props.isFirst}
          aria-invalid={error !== undefined}
          aria-describedby={error === undefined ? undefined : `${id}-error`}
          onChange={(event) => onChange(event.target.value)}
          onBlur={onBlur}
        />
        {isSecret ? (
          <button
            type="button"
            className="tg-plain-eye"
            aria-label={isShown ? "隐藏密码" : "显示密码"}
            onClick={() => setShown(!isShown)}
          >
            {isShown ? <EyeOutlined aria-hidden="true" /> : <EyeInvisibleOutlined aria-hidden="true" />}
          </button>
        ) : null}
        {props.end}
      </div>
      {error === undefined ? null : (
        <p id={`${id}-error`} role="alert">
          {error}
        </p>
      )}
    </div>
  );
}
