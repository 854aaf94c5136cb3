// A quota to type, with its worth in dollars beside it while typing.
import { InputNumber } from "antd";
import { useQuotaDisplay } from "#console/base/status.ts";
import { quotaHint } from "#contract/quota.ts";

export interface QuotaFieldProps {
  readonly id?: string;
  /** Given by Form.Item: quota units. */
  readonly value?: number | null;
  readonly onChange?: (value: number | null) => void;
  readonly disabled?: boolean;
}

export function QuotaField({ id, value = null, onChange, disabled = false }: QuotaFieldProps) {
  const display = useQuotaDisplay();
  const hint = disabled || value === null ? "" : quotaHint(value, display);
  return (
    <span className="tg-quota-field">
      <InputNumber<number>
        {...(id === undefined ? {} : { id })}
        value={value}
        disabled={disabled}
        min={0}
        precision={0}
        step={100_000}
        onChange={(next) => onChange?.(next)}
      />
      <span className="tg-number tg-muted">{hint}</span>
    </span>
  );
}
