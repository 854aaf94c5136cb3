// The plans for sale: bought anew, continued, or changed to from a plan that runs.
import { useQueryClient } from "@tanstack/react-query";
import { Button, Checkbox } from "antd";
import { useState } from "react";
import { useNavigate } from "react-router";
import { invalidate, useCall } from "#console/base/call.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { Callout } from "#console/ui/callout.tsx";
import { ConfirmButton } from "#console/ui/confirm-button.tsx";
import { lengthText } from "#console/ui/plan-words.ts";
import { Section } from "#console/ui/section.tsx";
import { minorText } from "#contract/money.ts";
import { type PayMethod, paymentApi } from "#contract/payment.ts";
import {
  type Plan,
  type PlanDowngrade,
  type PlanPeriod,
  type PlanRenewal,
  type PlanUpgrade,
  planApi,
} from "#contract/plan.ts";
import { canRenew, PLAN_WINDOW_LABELS } from "#contract/plan-terms.ts";
import { formatQuota } from "#contract/quota.ts";
import { usePayWays } from "./pay-ways.tsx";

export interface OffersProps {
  readonly plans: readonly Plan[];
  readonly methods: readonly PayMethod[];
  readonly periods: readonly PlanPeriod[];
  readonly upgrades: readonly PlanUpgrade[];
  readonly downgrades: readonly PlanDowngrade[];
  readonly renewals: readonly PlanRenewal[];
}

function Promises({ plan }: { readonly plan: Plan }) {
  const display = useQuotaDisplay();
  const { windows, models, groups, lent_group, overflow, purchase_limit } = plan;
  return (
    <ul className="tg-sub-promises">
      <li>额度 {formatQuota(plan.quota, display)}</li>
      {windows.map(({ kind, quota }) => (
        <li key={kind}>
          {PLAN_WINDOW_LABELS[kind]}最多 {formatQuota(quota, display)}
        </li>
      ))}
      <li>{models.length === 0 ? "适用于所有模型" : `适用模型：${models.join("、")}`}</li>
      {groups.length === 0 ? null : <li>适用分组：{groups.join("、")}</li>}
      {lent_group === "" ? null : <li>有效期内使用分组 {lent_group}</li>}
      <li>{overflow ? "用完后从余额扣费" : "用完后不从余额扣费"}</li>
      {purchase_limit === 0 ? null : <li>每人最多购买 {purchase_limit} 次</li>}
    </ul>
  );
}

interface OfferProps {
  readonly plan: Plan;
  /** What its button says, and whether it can be pressed. */
  readonly buying: Buying;
  readonly upgrades: readonly PlanUpgrade[];
  readonly downgrades: readonly PlanDowngrade[];
  readonly canPay: boolean;
  readonly onBuy: (how: How) => void;
}

/** The period that is changed, 0 = a new one; and whether the running one ends for it. */
interface How {
  readonly upgradeOf: number;
  readonly beginsNow: boolean;
}

interface Buying {
  readonly text: string;
  readonly isOff: boolean;
  /** The running period can end for the new one. */
  readonly canBegin?: boolean;
}

/** What buying a plan anew comes to. */
function buyingOf(
  plan: Plan,
  { periods, renewals, renews }: Pick<OffersProps, "periods" | "renewals"> & { readonly renews: boolean },
): Buying {
  if (isUsedUp(plan, periods)) return { text: "已达购买次数", isOff: true };
  if (renews && renewals.some((one) => one.renews && one.plan_id === plan.id))
    return { text: "已开启自动续费", isOff: true };
  if (renews && !canRenew(plan)) return { text: "该套餐不支持自动续费", isOff: true };
  if (renews) return { text: "购买并自动续费", isOff: false };
  const mine = periods.filter(({ plan_id }) => plan_id === plan.id);
  const isRunning = mine.some(({ state }) => state === "running");
  const isComing = mine.some(({ state }) => state === "coming");
  const isRenewed = renewals.some((one) => one.renews && one.plan_id === plan.id);
  return {
    text: isRunning || isComing ? "续费" : "购买",
    isOff: false,
    canBegin: isRunning && !isComing && !isRenewed,
  };
}

/** The plan follows when a period ends, or no more. */
function Follow({ downgrade }: { readonly downgrade: PlanDowngrade }) {
  const { period_id, plan_id, version_id, is_chosen } = downgrade;
  const change = useCall(planApi.change, { invalidates: [planApi.shop] });
  const body = is_chosen ? { plan_id: 0, version_id: 0 } : { plan_id, version_id };
  return (
    <Button loading={change.isPending} onClick={() => change.mutate({ params: { id: period_id }, body })}>
      {is_chosen ? "撤回到期后改用" : "到期后改用"}
    </Button>
  );
}

function Offer({ plan, buying, upgrades, downgrades, canPay, onBuy }: OfferProps) {
  const display = useQuotaDisplay();
  return (
    <section className="tg-card tg-sub-offer" aria-label={plan.name}>
      <h3>{plan.name}</h3>
      <p className="tg-sub-price">
        <strong>¥{plan.price}</strong> / {lengthText(plan)}
      </p>
      {plan.about === "" ? null : <p className="tg-muted">{plan.about}</p>}
      <Promises plan={plan} />
      <div className="tg-sub-acts">
        {upgrades.map(({ period_id, price_minor, quota }) => (
          <Button
            key={period_id}
            type="primary"
            disabled={!canPay}
            onClick={() => onBuy({ upgradeOf: period_id, beginsNow: false })}
          >
            升级（补 ¥{minorText(price_minor)}，加 {formatQuota(quota, display)}）
          </Button>
        ))}
        <Button
          type={upgrades.length === 0 ? "primary" : "default"}
          disabled={!canPay || buying.isOff}
          onClick={() => onBuy({ upgradeOf: 0, beginsNow: false })}
        >
          {buying.text}
        </Button>
        {buying.canBegin ? (
          <ConfirmButton
            question="付款后当前周期立即结束，余下的时间和额度作废。"
            confirmText="去付款"
            disabled={!canPay}
            onConfirm={() => onBuy({ upgradeOf: 0, beginsNow: true })}
          >
            立即开始下一周期
          </ConfirmButton>
        ) : null}
        {downgrades.map((downgrade) => (
          <Follow key={downgrade.period_id} downgrade={downgrade} />
        ))}
      </div>
    </section>
  );
}

function isUsedUp({ id, purchase_limit }: Plan, periods: readonly PlanPeriod[]): boolean {
  return purchase_limit > 0 && periods.filter(({ plan_id }) => plan_id === id).length >= purchase_limit;
}

export function PlanOffers({ plans, methods, periods, upgrades, downgrades, renewals }: OffersProps) {
  const { method, choice } = usePayWays(methods);
  const [wantsRenewal, setWantsRenewal] = useState(false);
  const client = useQueryClient();
  const navigate = useNavigate();
  const order = useCall(planApi.order, {
    onSuccess: ({ order_no }) => {
      void invalidate(client, [paymentApi.orders, planApi.shop]);
      void navigate(`/topup/order/${order_no}`);
    },
  });
  const buy = (plan: Plan, { upgradeOf: upgrade_of, beginsNow }: How) => {
    if (method === undefined) return;
    const { instance_id, method: name } = method;
    const { id: plan_id, version_id } = plan;
    const body = { plan_id, version_id, upgrade_of, instance_id, method: name };
    order.mutate({ body: { ...body, begins_now: beginsNow, renews: renews && upgrade_of === 0 } });
  };
  const renews = wantsRenewal && method?.renews === true;
  if (plans.length === 0) return <Callout tone="info">目前没有在售的套餐。</Callout>;
  return (
    <Section title="在售套餐" className="tg-sub-shop">
      {method === undefined ? <Callout tone="info">管理员尚未开通在线支付，暂时无法购买。</Callout> : choice}
      {method?.renews === true ? (
        <Checkbox
          className="tg-sub-renew"
          checked={wantsRenewal}
          onChange={(event) => setWantsRenewal(event.target.checked)}
        >
          到期自动续费：每个周期结束时从这张卡扣款，可随时取消
        </Checkbox>
      ) : null}
      <ul className="tg-sub-offers">
        {plans.map((plan) => (
          <li key={plan.id}>
            <Offer
              plan={plan}
              buying={buyingOf(plan, { periods, renewals, renews })}
              downgrades={downgrades.filter(({ plan_id }) => plan_id === plan.id)}
              upgrades={upgrades.filter(({ plan_id }) => plan_id === plan.id)}
              canPay={method !== undefined && !order.isPending}
              onBuy={(how) => buy(plan, how)}
            />
          </li>
        ))}
      </ul>
    </Section>
  );
}
