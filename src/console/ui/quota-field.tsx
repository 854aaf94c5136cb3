// A quota to type, with its worth in dollars beside it while typing, and usual amounts to click: no user has to multiply by
// 500,000. A value out of bounds is reported by the rule of the form, not changed: a debt stays one when the field only gets and loses
// the focus.
import { Button, Form } from "antd";
import type { ReactNode } from "react";
import { useQuotaDisplay } from "#console/base/status.ts";
import { quotaHint } from "#contract/quota.ts";
import { NumberInput } from "./number-input.tsx";

export interface QuotaFieldProps {
  readonly id?: string;
  /** Given by Form.Item: quota units. */
  readonly value?: number | null;
  readonly onChange?: (value: number | null) => void;
  /** Given by Form.Item, which checks then. */
  readonly onBlur?: () => void;
  readonly disabled?: boolean;
  /** What an empty field means. */
  readonly placeholder?: string;
  /** What a click on a usual amount does: takes the place of what is there, or comes on top. Absent = no amounts to click. */
  readonly amounts?: "set" | "add";
  /** Stands beside the field. */
  readonly children?: ReactNode;
}

const DOLLARS = [1, 5, 10, 50, 100] as const;

interface AmountsProps {
  readonly isAdded: boolean;
  readonly isDisabled: boolean;
  readonly onPick: (dollars: number) => void;
}

function Amounts({ isAdded, isDisabled, onPick }: AmountsProps) {
  return (
    <fieldset className="tg-form-inline tg-form-under tg-amounts" aria-label="常用金额">
      {DOLLARS.map((dollars) => (
        <Button key={dollars} size="small" disabled={isDisabled} onClick={() => onPick(dollars)}>
          {isAdded ? `+$${dollars}` : `$${dollars}`}
        </Button>
      ))}
    </fieldset>
  );
}

export function QuotaField(props: QuotaFieldProps) {
  const { id, value = null, onChange, onBlur, disabled = false, placeholder = "", amounts, children } = props;
  const display = useQuotaDisplay();
  const form = Form.useFormInstance();
  const pick = (dollars: number) => {
    onChange?.((amounts === "add" ? (value ?? 0) : 0) + Math.round(dollars * display.quotaPerUnit));
    // The field does not lose the focus, so the message about its old value would stay. What is wrong now stands beneath it.
    form.validateFields([id]).catch(() => undefined);
  };
  const hint = disabled || value === null ? "" : quotaHint(value, display);
  return (
    <>
      <span className="tg-quota-field">
        <NumberInput
          {...(id === undefined ? {} : { id })}
          value={value}
          disabled={disabled}
          placeholder={placeholder}
          precision={0}
          step={100_000}
          onChange={(next) => onChange?.(next)}
          onBlur={() => onBlur?.()}
        />
        <span className="tg-number tg-muted">{hint}</span>
        {children}
      </span>
      {amounts === undefined || !display.inCurrency ? null : (
        <Amounts isAdded={amounts === "add"} isDisabled={disabled} onPick={pick} />
      )}
    </>
  );
}
