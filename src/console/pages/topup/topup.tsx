// The top-up page: what is left, a code to redeem, what codes cost, and what to know about it.
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "react-router";
import { formatCount } from "#console/base/format.ts";
import { selfQuery } from "#console/base/session.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { Page } from "#console/ui/page.tsx";
import { QuotaText } from "#console/ui/quota-text.tsx";
import { ErrorState } from "#console/ui/table-states.tsx";
import { formatQuota } from "#contract/quota.ts";
import type { User } from "#contract/user.ts";
import { PlanCards } from "./plan-cards.tsx";
import { RedeemForm } from "./redeem-form.tsx";
import "./topup.css";

/** How much of everything there ever was is left, as a sentence. */
function leftText(total: number, left: number): string {
  return total === 0 ? "还没有额度，使用兑换码即可开始。" : `还剩总额度的 ${(left * 100).toFixed(1)}%`;
}

/** As high without a user as with one, so that nothing below moves when the balance comes. */
function BalanceFigures({ user }: { readonly user: User | undefined }) {
  const display = useQuotaDisplay();
  const quota = Math.max(0, user?.quota ?? 0);
  const total = quota + (user?.used_quota ?? 0);
  const left = total === 0 ? 0 : quota / total;
  const known = (show: (user: User) => ReactNode) =>
    user === undefined ? <span className="tg-bone" /> : show(user);
  return (
    <>
      <div className="tg-balance-figure">{known((of) => formatQuota(of.quota, display))}</div>
      <div className="tg-balance-bar" aria-hidden="true">
        <span style={{ width: `${left * 100}%` }} />
      </div>
      <p className="tg-muted">{known(() => leftText(total, left))}</p>
      <dl className="tg-balance-facts">
        <div>
          <dt>剩余额度</dt>
          <dd>{known((of) => `${formatCount(of.quota)} 点`)}</dd>
        </div>
        <div>
          <dt>已用额度</dt>
          <dd>
            {known((of) => (
              <QuotaText quota={of.used_quota} />
            ))}
          </dd>
        </div>
        <div>
          <dt>请求次数</dt>
          <dd>{known((of) => formatCount(of.request_count))}</dd>
        </div>
      </dl>
    </>
  );
}

function Balance() {
  const { data: user, error, refetch } = useQuery(selfQuery);
  return (
    <section className="tg-card tg-section tg-topup-balance" aria-labelledby="tg-balance-title">
      <h2 id="tg-balance-title">我的余额</h2>
      {user === undefined && error !== null ? (
        <ErrorState error={error} onRetry={() => void refetch()} />
      ) : (
        <BalanceFigures user={user} />
      )}
    </section>
  );
}

function AboutTopUp() {
  return (
    <section className="tg-card tg-section tg-topup-about">
      <h2>充值说明</h2>
      <ul>
        <li>购买后会收到兑换码。在上方填写即可到账，一个兑换码只能使用一次。</li>
        <li>额度按实际用量扣减，有效期为 9 个月，自充值之日起计算。</li>
        <li>兑换码售出后不支持退款，购买前请确认用量。价格可能随上游调整而变化。</li>
        <li>
          充值时填写好友的礼品码，双方各得 5% 的额外额度，详见<Link to="/partnerplan">推广计划</Link>。
        </li>
        <li>
          每一笔充值都记录在<Link to="/log?type=1">充值日志</Link>中。使用本服务即表示同意
          <Link to="/terms">服务条款</Link>。
        </li>
      </ul>
    </section>
  );
}

export function TopUpPage() {
  return (
    <Page title="充值额度">
      <div className="tg-topup">
        <Balance />
        <section className="tg-card tg-section" aria-labelledby="tg-redeem-title">
          <h2 id="tg-redeem-title">使用兑换码</h2>
          <p>额度会立即到账。</p>
          <RedeemForm />
        </section>
      </div>
      <PlanCards />
      <AboutTopUp />
    </Page>
  );
}
