// antd's field for numbers, which also reads what Chinese keyboards type, alone and as a cell that is edited in place.
import { InputNumber, type InputNumberProps } from "antd";
import { useState } from "react";
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

/** A typed number in plain digits. */
export function plainDigits(typed: string): string {
  return typed
    .normalize("NFKC")
    .replaceAll("。", ".")
    .replace(/[^\w.-]+/g, "");
}

/** The field reads texts as well, whatever its type says, and has to while there is nothing yet, or only a sign. */
const parse = (typed = "") => plainDigits(typed) as unknown as number;

export function NumberInput(props: Omit<InputNumberProps<number>, "parser">) {
  return <InputNumber<number> {...props} parser={parse} />;
}
