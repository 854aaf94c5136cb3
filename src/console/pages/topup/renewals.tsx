// Plans that the provider renews by itself: when it charges next, and how much; cancelled and taken back here; the card is changed at the provider.
import { Button } from "antd";
import { useCall } from "#console/base/call.ts";
import { formatTime } from "#console/base/format.ts";
import { ConfirmButton } from "#console/ui/confirm-button.tsx";
import { Section } from "#console/ui/section.tsx";
import { StatusTag, type Tone } from "#console/ui/status-tag.tsx";
import { moneyText } from "#contract/money.ts";
import { type PlanRenewal, planApi } from "#contract/plan.ts";

function tagOf({ state, renews }: PlanRenewal): { readonly label: string; readonly tone: Tone } {
  if (state === "failed") return { label: "扣款失败", tone: "bad" };
  return renews ? { label: "已开启", tone: "good" } : { label: "已取消", tone: "idle" };
}

/** What happens next, in a sentence. */
function Next({ renewal }: { readonly renewal: PlanRenewal }) {
  const { state, renews, next_at, currency, amount_minor } = renewal;
  const time = <time className="tg-number">{formatTime(next_at)}</time>;
  if (!renews) return <>已付的周期用到 {time}，之后不再扣款。</>;
  if (state === "failed") return <>最近一次扣款没有成功，支付平台会再试，请检查银行卡。</>;
  return (
    <>
      {time} 扣款 <strong>{moneyText(amount_minor, currency)}</strong>
    </>
  );
}

function Line({ renewal }: { readonly renewal: PlanRenewal }) {
  const { id, name, renews, is_told } = renewal;
  const decide = useCall(planApi.renew, { invalidates: [planApi.shop] });
  const card = useCall(planApi.card, { onSuccess: ({ url }) => window.location.assign(url) });
  const send = (wish: boolean) => decide.mutate({ params: { id }, body: { renews: wish } });
  return (
    <li className="tg-sub-renewal">
      <StatusTag {...tagOf(renewal)} />
      <strong className="tg-sub-renewal-name">{name}</strong>
      <span className="tg-sub-renewal-next">
        <Next renewal={renewal} />
      </span>
      <Button loading={card.isPending} onClick={() => card.mutate({ params: { id }, body: {} })}>
        更换银行卡
      </Button>
      {is_told ? null : <span className="tg-muted">正在通知支付平台。</span>}
      {renews ? (
        <ConfirmButton
          question="取消后，已付的周期照常用到期，之后不再扣款。"
          confirmText="取消自动续费"
          loading={decide.isPending}
          onConfirm={() => send(false)}
        >
          取消自动续费
        </ConfirmButton>
      ) : (
        <Button loading={decide.isPending} onClick={() => send(true)}>
          恢复自动续费
        </Button>
      )}
    </li>
  );
}

export function Renewals({ renewals }: { readonly renewals: readonly PlanRenewal[] }) {
  if (renewals.length === 0) return null;
  return (
    <Section title="自动续费">
      <p className="tg-muted">
        套餐改价不影响已开启的自动续费，仍按开启时的价格扣款；升级或改用其他套餐后按新套餐的价格。
      </p>
      <ul className="tg-sub-past">
        {renewals.map((renewal) => (
          <Line key={renewal.id} renewal={renewal} />
        ))}
      </ul>
    </Section>
  );
}
