// antd's field for numbers, which also reads what Chinese keyboards type: full-width digits, signs and stops.
import { InputNumber, type InputNumberProps } from "antd";

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
