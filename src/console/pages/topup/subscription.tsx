// Subscription plans: what the user has and what is left of it, and what can be bought.
import { useQuery } from "@tanstack/react-query";
import { query } from "#console/base/call.ts";
import { Callout } from "#console/ui/callout.tsx";
import { Page } from "#console/ui/page.tsx";
import { Section } from "#console/ui/section.tsx";
import { ErrorState } from "#console/ui/table-states.tsx";
import { type PlanDowngrade, type PlanPeriod, planApi } from "#contract/plan.ts";
import { PeriodCard, PeriodLine } from "./period-card.tsx";
import { PlanOffers } from "./plan-offers.tsx";
import { Renewals } from "./renewals.tsx";
import "./topup.css";
import "./subscription.css";

function isLive({ state }: PlanPeriod): boolean {
  return state === "running" || state === "coming";
}

interface MineProps {
  readonly periods: readonly PlanPeriod[];
  readonly downgrades: readonly PlanDowngrade[];
}

function Mine({ periods, downgrades }: MineProps) {
  const live = periods.filter(isLive).sort((a, b) => a.starts_at - b.starts_at);
  const past = periods.filter((period) => !isLive(period));
  return (
    <>
      {live.length === 0 ? (
        <Callout tone="info">您还没有生效的套餐，调用按余额计费。</Callout>
      ) : (
        <ul className="tg-sub-list">
          {live.map((period) => (
            <li key={period.id}>
              <PeriodCard
                period={period}
                next={downgrades.find(({ period_id, is_chosen }) => is_chosen && period_id === period.id)}
              />
            </li>
          ))}
        </ul>
      )}
      {past.length === 0 ? null : (
        <Section title="往期套餐">
          <ul className="tg-sub-past">
            {past.map((period) => (
              <PeriodLine key={period.id} period={period} />
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}

export function SubscriptionPage() {
  const { data, error, refetch } = useQuery({ ...query(planApi.shop, {}), meta: { silent: true } });
  return (
    <Page
      title="订阅套餐"
      lead="套餐在有效期内先于余额支付调用，最早到期的先用。续费接在当前周期之后，不会损失时间。"
    >
      {data === undefined ? (
        error === null ? (
          <div className="tg-shop-pending" />
        ) : (
          <ErrorState error={error} onRetry={() => void refetch()} />
        )
      ) : (
        <>
          <Mine {...data} />
          <Renewals renewals={data.renewals} />
          <PlanOffers {...data} />
        </>
      )}
    </Page>
  );
}
