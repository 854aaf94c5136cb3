// A quota to type, with its worth in dollars beside it while typing.
import { useQuotaDisplay } from "#console/base/status.ts";
import { quotaHint } from "#contract/quota.ts";
import { NumberInput } from "./number-input.tsx";

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
      <NumberInput
        {...(id === undefined ? {} : { id })}
        value={value}
        disabled={disabled}
        precision={0}
        step={100_000}
        onChange={(next) => onChange?.(next)}
      />
      <span className="tg-number tg-muted">{hint}</span>
    </span>
  );
}
