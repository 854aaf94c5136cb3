// A period of a plan: how long it runs, and how much of it and of each of its windows is used.
import { useCall } from "#console/base/call.ts";
import { formatTime } from "#console/base/format.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { LinkButton, PlainButton } from "#console/ui/plain-button.tsx";
import { StatusTag, type Tone } from "#console/ui/status-tag.tsx";
import { minorText } from "#contract/money.ts";
import { type PlanDowngrade, type PlanPeriod, planApi } from "#contract/plan.ts";
import { PLAN_WINDOW_LABELS } from "#contract/plan-terms.ts";
import { formatQuota } from "#contract/quota.ts";

const STATES: Readonly<Record<PlanPeriod["state"], { readonly label: string; readonly tone: Tone }>> = {
  running: { label: "生效中", tone: "good" },
  coming: { label: "待生效", tone: "info" },
  over: { label: "已到期", tone: "idle" },
  stopped: { label: "已终止", tone: "idle" },
};

interface UsageProps {
  readonly label: string;
  readonly used: number;
  readonly quota: number;
  readonly until: string;
}

function Usage({ label, used, quota, until }: UsageProps) {
  const display = useQuotaDisplay();
  const left = Math.max(0, quota - used);
  const share = quota === 0 ? 0 : Math.min(1, used / quota);
  const tone = left === 0 ? "tg-sub-out" : share >= 0.8 ? "tg-sub-near" : "";
  return (
    <div className="tg-sub-usage">
      <div className="tg-sub-usage-head">
        <strong>{label}</strong>
        <span className="tg-number">
          剩余 {formatQuota(left, display)} / {formatQuota(quota, display)}
        </span>
      </div>
      <div className="tg-balance-bar tg-sub-bar" aria-hidden="true">
        <span className={tone} style={{ width: `${share * 100}%` }} />
      </div>
      <span className="tg-muted">{until}</span>
    </div>
  );
}

/** The cheaper plan that follows, as it was chosen. */
function Following({ next }: { readonly next: PlanDowngrade }) {
  const { period_id, name, price_minor } = next;
  const change = useCall(planApi.change, { invalidates: [planApi.shop] });
  return (
    <p className="tg-sub-following">
      到期后改用“{name}”，¥{minorText(price_minor)}。
      <PlainButton
        kind="text"
        isBusy={change.isPending}
        onClick={() => change.mutate({ params: { id: period_id }, body: { plan_id: 0, version_id: 0 } })}
      >
        撤回
      </PlainButton>
    </p>
  );
}

interface PeriodCardProps {
  readonly period: PlanPeriod;
  readonly next: PlanDowngrade | undefined;
}

export function PeriodCard({ period, next }: PeriodCardProps) {
  const { name, state, starts_at, ends_at, quota, used, windows, overflow, lent_group, order_no } = period;
  return (
    <section className="tg-card tg-section tg-sub-card" aria-label={`套餐 ${name}`}>
      <div className="tg-order-head">
        <h2>{name}</h2>
        <StatusTag {...STATES[state]} />
      </div>
      <Usage
        label="本周期"
        used={used}
        quota={quota}
        until={state === "coming" ? `${formatTime(starts_at)} 起生效` : `${formatTime(ends_at)} 到期`}
      />
      {windows.map(({ kind, quota: most, used: spent, resets_at }) => (
        <Usage
          key={kind}
          label={PLAN_WINDOW_LABELS[kind]}
          used={spent}
          quota={most}
          until={resets_at === 0 ? "首次调用后计时" : `${formatTime(resets_at)} 重置`}
        />
      ))}
      <p className="tg-muted">
        {overflow ? "用完后从余额扣费。" : "用完后请求会被拒绝，直到重置，不从余额扣费。"}
        {lent_group === "" ? "" : `有效期内使用分组 ${lent_group}。`}
      </p>
      {next === undefined ? null : <Following next={next} />}
      <div className="tg-order-acts">
        <LinkButton to={`/topup/order/${order_no}`}>查看订单</LinkButton>
      </div>
    </section>
  );
}

export function PeriodLine({ period }: { readonly period: PlanPeriod }) {
  const display = useQuotaDisplay();
  const { name, state, starts_at, ends_at, quota, used } = period;
  return (
    <li className="tg-order-line">
      <span className="tg-order-state">
        <StatusTag {...STATES[state]} />
      </span>
      <span className="tg-order-money">{name}</span>
      <span className="tg-muted">
        已用 {formatQuota(used, display)} / {formatQuota(quota, display)}
      </span>
      <span className="tg-muted">
        {formatTime(starts_at)} 至 {formatTime(ends_at)}
      </span>
    </li>
  );
}
