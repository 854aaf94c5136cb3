// What codes cost, as cards that lead to the shop where one is set.
import { ShoppingCartOutlined } from "@ant-design/icons";
import { Link } from "react-router";
import { isAdmin, useUser } from "#console/base/session.ts";
import { useStatus } from "#console/base/status.ts";
import { Callout } from "#console/ui/callout.tsx";
import { DEFAULT_PLANS, type TopUpPlan, TopUpPlans } from "#contract/topup-plans.ts";

/** What is sold while the server has not said otherwise, and by other servers of the family. */
export const PLANS: readonly TopUpPlan[] = TopUpPlans.decode(DEFAULT_PLANS);

/** The discount as shops write it: yuan per dollar in tenths, `6折` or `5折`. */
export function discountText({ dollars, yuan }: TopUpPlan): string {
  return `${Math.round((Number(yuan) / dollars) * 100) / 10}折`;
}

/** Only addresses a link may have; what the status says is untrusted here (requirements H06). */
function shopLink(link: string | undefined): string | undefined {
  return link !== undefined && /^(https?:\/\/|\/(?![/\\]))/.test(link) ? link : undefined;
}

function PlanCard({ plan, shop }: { readonly plan: TopUpPlan; readonly shop: string | undefined }) {
  const body = (
    <>
      <span className="tg-plan-head">
        <strong>${plan.dollars}</strong>
        <span className="tg-plan-off">{discountText(plan)}</span>
      </span>
      <span className="tg-plan-price">{plan.yuan} 元</span>
      {shop === undefined ? null : (
        <span className="tg-plan-buy">
          <ShoppingCartOutlined aria-hidden="true" /> 购买
        </span>
      )}
    </>
  );
  if (shop === undefined) return <div className="tg-plan tg-card">{body}</div>;
  return (
    <a
      className="tg-plan tg-card"
      href={shop}
      target="_blank"
      rel="noopener noreferrer"
      aria-label={`购买 $${plan.dollars}，${plan.yuan} 元，${discountText(plan)}`}
    >
      {body}
    </a>
  );
}

/** Why the cards lead nowhere: to administrators, where to mend that. */
function NoShop() {
  if (!isAdmin(useUser()))
    return <Callout tone="info">管理员尚未设置充值链接，如需购买兑换码，请联系管理员。</Callout>;
  return (
    <Callout tone="info">
      尚未设置充值链接，用户在这里无法购买。请在<Link to="/setting?tab=operation">运营设置</Link>
      中填写“充值链接”。
    </Callout>
  );
}

export function PlanCards({ plans }: { readonly plans: readonly TopUpPlan[] }) {
  const status = useStatus();
  const shop = shopLink(status?.top_up_link);
  return (
    <section aria-labelledby="tg-plans">
      <h2 id="tg-plans" className="tg-topup-title">
        选购额度
      </h2>
      {shop === undefined && status !== undefined ? <NoShop /> : null}
      <ul className="tg-plans">
        {plans.map((plan) => (
          <li key={plan.dollars}>
            <PlanCard plan={plan} shop={shop} />
          </li>
        ))}
      </ul>
    </section>
  );
}
