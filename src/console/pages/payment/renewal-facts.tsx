// The subscription at the provider that an order began or that made it, for administrators.
import { Link } from "react-router";
import { formatTime } from "#console/base/format.ts";
import { wide } from "#console/base/language.ts";
import { Facts } from "#console/ui/facts.tsx";
import { Section } from "#console/ui/section.tsx";
import { moneyText } from "#contract/money.ts";
import type { PlanRenewal } from "#contract/plan.ts";

function stateText({ state, renews, is_told }: PlanRenewal): string {
  if (state === "ended") return "已结束";
  const told = is_told ? "" : "（尚未得到支付平台确认）";
  if (!renews) return `已取消，到期后不再扣款${told}`;
  return `${state === "failed" ? "扣款失败，支付平台会再试" : "已开启"}${told}`;
}

export function RenewalFacts({
  renewal,
}: {
  readonly renewal: PlanRenewal & { readonly provider_id: string };
}) {
  const { name, state, renews, next_at, currency, amount_minor, order_no, last_order_no, provider_id } =
    renewal;
  return (
    <Section title="自动续费">
      <Facts
        labelWidth={wide(100, 150)}
        facts={[
          ["状态", stateText(renewal)],
          ["套餐", name],
          state !== "ended" && [renews ? "下次扣款" : "用到", formatTime(next_at)],
          state !== "ended" && renews && ["扣款金额", moneyText(amount_minor, currency)],
          ["平台订阅号", <code key="subscription">{provider_id}</code>],
          [
            "首个订单",
            <Link key="first" to={`/payment/order/${order_no}`}>
              {order_no}
            </Link>,
          ],
          last_order_no !== order_no && [
            "最近订单",
            <Link key="last" to={`/payment/order/${last_order_no}`}>
              {last_order_no}
            </Link>,
          ],
        ]}
      />
    </Section>
  );
}
