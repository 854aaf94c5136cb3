// The choice of a way to pay, for quota and for plans alike.
import { Radio } from "antd";
import { type ReactNode, useState } from "react";
import type { PayMethod } from "#contract/payment.ts";
import "./topup.css";

/** A name for each way to pay; where two are called alike, the currency tells them apart. */
function keyOf({ instance_id, method }: PayMethod): string {
  return `${instance_id} ${method}`;
}

function methodText({ label, currency, fee_bp }: PayMethod): string {
  const fee = fee_bp === 0 ? "" : `，手续费 ${fee_bp / 100}%`;
  return `${label}${currency === "CNY" ? "" : `（${currency}）`}${fee}`;
}

/** The way that is chosen, at first the first one, and the buttons to choose by. No method = there is no way to pay. */
export function usePayWays(methods: readonly PayMethod[]): {
  readonly method: PayMethod | undefined;
  readonly choice: ReactNode;
} {
  const [way, setWay] = useState(() => (methods[0] ? keyOf(methods[0]) : ""));
  const method = methods.find((one) => keyOf(one) === way) ?? methods[0];
  const choice = (
    <Radio.Group
      value={method && keyOf(method)}
      onChange={(event) => setWay(String(event.target.value))}
      optionType="button"
      className="tg-pay-ways"
      aria-label="支付方式"
      options={methods.map((one) => ({ value: keyOf(one), label: methodText(one) }))}
    />
  );
  return { method, choice };
}
