// A whole number edited in place: saved on Enter and on leaving. Empty input is ignored, values below `min` become `min` (requirements B5).
import { useState } from "react";
import { NumberInput } from "./number-input.tsx";
import { Tooltip } from "./tooltip.tsx";

export interface NumberCellProps {
  readonly value: number;
  readonly label: string;
  readonly hint: string;
  readonly min?: number;
  readonly onSave: (value: number) => void;
}

/** What a typed number means: undefined = ignore it. */
export function acceptNumber(typed: number | null, present: number, min?: number): number | undefined {
  if (typed === null || !Number.isFinite(typed)) return undefined;
  const value = Math.max(Math.trunc(typed), min ?? Number.MIN_SAFE_INTEGER);
  return value === present ? undefined : value;
}

export function NumberCell({ value, label, hint, min, onSave }: NumberCellProps) {
  const [draft, setDraft] = useState<number | null>();
  const save = () => {
    const accepted = draft === undefined ? undefined : acceptNumber(draft, value, min);
    setDraft(undefined);
    if (accepted !== undefined) onSave(accepted);
  };
  return (
    <Tooltip title={hint}>
      <NumberInput
        size="small"
        aria-label={label}
        value={draft === undefined ? value : draft}
        style={{ width: "100%" }}
        onChange={setDraft}
        onBlur={save}
        onPressEnter={save}
      />
    </Tooltip>
  );
}
