// The choice of a way to pay, for quota and for plans alike.
import { Radio } from "antd";
import { type ReactNode, useState } from "react";
import type { PayMethod } from "#contract/payment.ts";
import { wayTexts } from "./way-texts.ts";
import "./topup.css";

/** One way of one merchant account: several may be called alike. */
function keyOf({ instance_id, method }: PayMethod): string {
  return `${instance_id} ${method}`;
}

/** The way that is chosen, at first the first one, and the buttons to choose by. No method = there is no way to pay. */
export function usePayWays(methods: readonly PayMethod[]): {
  readonly method: PayMethod | undefined;
  readonly choice: ReactNode;
} {
  const [way, setWay] = useState(() => (methods[0] ? keyOf(methods[0]) : ""));
  const method = methods.find((one) => keyOf(one) === way) ?? methods[0];
  const texts = wayTexts(methods);
  const choice = (
    <Radio.Group
      value={method && keyOf(method)}
      onChange={(event) => setWay(String(event.target.value))}
      optionType="button"
      className="tg-pay-ways"
      aria-label="支付方式"
      options={methods.map((one, at) => ({ value: keyOf(one), label: texts[at] }))}
    />
  );
  return { method, choice };
}
