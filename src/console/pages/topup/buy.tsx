// Buying quota online: a plan, a way to pay, and on to the order's page.
import { useQueryClient } from "@tanstack/react-query";
import { Button, Input, Radio } from "antd";
import { useState } from "react";
import { useNavigate } from "react-router";
import { invalidate, useCall } from "#console/base/call.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { Callout } from "#console/ui/callout.tsx";
import { Section } from "#console/ui/section.tsx";
import { moneyText } from "#contract/money.ts";
import { type PayMethod, paymentApi } from "#contract/payment.ts";
import { formatQuota } from "#contract/quota.ts";
import type { TopUpPlan } from "#contract/topup-plans.ts";
import { usePayWays } from "./pay-ways.tsx";
import { discountText } from "./plan-cards.tsx";

export interface BuyProps {
  readonly plans: readonly TopUpPlan[];
  readonly methods: readonly PayMethod[];
  /** Quota that the next payment pays first; 0 = none. */
  readonly debt: number;
  /** The team whose wallet gets it; 0 = one's own. */
  readonly team: number;
}

function PlanChoice({
  plans,
  chosen,
  onChoose,
}: {
  plans: BuyProps["plans"];
  chosen: number;
  onChoose: (dollars: number) => void;
}) {
  return (
    <Radio.Group
      className="tg-buy-plans"
      value={chosen}
      onChange={(event) => onChoose(Number(event.target.value))}
      aria-label="充值金额"
    >
      {plans.map((plan) => (
        <Radio key={plan.dollars} value={plan.dollars} className="tg-buy-plan tg-card">
          <span className="tg-plan-head">
            <strong>${plan.dollars}</strong>
            <span className="tg-plan-off">{discountText(plan)}</span>
          </span>
          <span className="tg-plan-price">{plan.yuan} 元</span>
        </Radio>
      ))}
    </Radio.Group>
  );
}

export function Buy({ plans, methods, debt, team }: BuyProps) {
  const [dollars, setDollars] = useState(plans[0]?.dollars ?? 0);
  const { method, choice } = usePayWays(methods);
  const [gift, setGift] = useState("");
  const client = useQueryClient();
  const navigate = useNavigate();
  const display = useQuotaDisplay();
  const create = useCall(paymentApi.create, {
    onSuccess: (order) => {
      void invalidate(client, [paymentApi.orders]);
      void navigate(`/topup/order/${order.order_no}`);
    },
  });
  const submit = () => {
    if (method === undefined) return;
    const way = { instance_id: method.instance_id, method: method.method };
    const body = { dollars, ...way, gift_code: gift.trim(), team_id: team };
    create.mutate({ body });
  };
  return (
    <Section title="在线充值" className="tg-buy">
      {debt > 0 ? (
        <Callout tone="info">
          此前的退款或拒付还有 {formatQuota(debt, display)} 未收回，充值后先抵扣。
        </Callout>
      ) : null}
      <PlanChoice plans={plans} chosen={dollars} onChoose={setDollars} />
      <div className="tg-buy-row">{choice}</div>
      <div className="tg-buy-row tg-buy-end">
        {team === 0 ? (
          <Input
            className="tg-buy-gift"
            value={gift}
            maxLength={64}
            autoComplete="off"
            placeholder="礼品码（可选）"
            aria-label="礼品码"
            onChange={(event) => setGift(event.target.value)}
          />
        ) : null}
        <Button type="primary" loading={create.isPending} disabled={dollars === 0} onClick={submit}>
          立即支付
        </Button>
      </div>
    </Section>
  );
}

/** Price as the order has it, with its fee. */
export function priceText({
  amount_minor,
  fee_minor,
  currency,
}: {
  amount_minor: number;
  fee_minor: number;
  currency: string;
}): string {
  const fee = fee_minor === 0 ? "" : `（含手续费 ${moneyText(fee_minor, currency)}）`;
  return moneyText(amount_minor, currency) + fee;
}
