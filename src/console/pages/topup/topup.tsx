// The top-up page: what is left, a code to redeem, what codes cost, and what to know about it.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Button, Form, Input } from "antd";
import type { ReactNode } from "react";
import { Link } from "react-router";
import { invalidate, query, useCall } from "#console/base/call.ts";
import { ApiFault, handleFault } from "#console/base/faults.ts";
import { formatCount } from "#console/base/format.ts";
import { selfQuery } from "#console/base/session.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { toast } from "#console/base/toast.ts";
import { Page } from "#console/ui/page.tsx";
import { usePartnerTerms } from "#console/ui/partner-terms.ts";
import { LinkButton } from "#console/ui/plain-button.tsx";
import { Section } from "#console/ui/section.tsx";
import { ErrorState } from "#console/ui/table-states.tsx";
import { pathIn, useTeam } from "#console/ui/team-context.ts";
import { TextField } from "#console/ui/text-field.tsx";
import { QuotaText } from "#console/ui/value-text.tsx";
import { partnerApi } from "#contract/partner.ts";
import { paymentApi } from "#contract/payment.ts";
import { formatQuota } from "#contract/quota.ts";
import { teamApi } from "#contract/team.ts";
import { type User, userApi } from "#contract/user.ts";
import { Buy } from "./buy.tsx";
import { RecentOrders, useRecentOrders } from "./orders.tsx";
import { PLANS, PlanCards } from "./plan-cards.tsx";
import "./topup.css";

interface Codes {
  readonly key?: string;
  readonly gift_code?: string;
}

/** The server's own words where it answered; one sentence for everything else (requirements B8). */
function tell(error: Error): void {
  const hasAnswer = error instanceof ApiFault && error.kind !== "network" && error.kind !== "unreadable";
  if (hasAnswer) handleFault(error);
  else toast.error("请求失败");
}

function RedeemForm({ team }: { readonly team: number }) {
  const [form] = Form.useForm<Codes>();
  const client = useQueryClient();
  const display = useQuotaDisplay();
  const { gift_percent: gift } = usePartnerTerms();
  const done = (amount: number, bonus: number) => {
    const extra = bonus > 0 ? `，其中赠送 ${formatQuota(bonus, display)}` : "";
    toast.success(`充值成功！到账 ${formatQuota(amount, display)}${extra}`);
    form.resetFields();
    void invalidate(client, [userApi.self, partnerApi.info, teamApi.get]);
  };
  const own = useCall(partnerApi.topUp, { silent: true, onSuccess: ({ data, bonus }) => done(data, bonus) });
  const ofTeam = useCall(teamApi.topUp, { silent: true, onSuccess: (amount) => done(amount, 0) });
  const isPending = own.isPending || ofTeam.isPending;
  const submit = ({ key = "", gift_code = "" }: Codes) =>
    team === 0
      ? own.mutate({ body: { key: key.trim(), gift_code: gift_code.trim() } }, { onError: tell })
      : ofTeam.mutate({ params: { id: team }, body: { key: key.trim() } }, { onError: tell });
  return (
    <Form form={form} layout="vertical" requiredMark={false} onFinish={submit}>
      <Form.Item
        name="key"
        label="兑换码"
        validateTrigger="onSubmit"
        rules={[{ required: true, whitespace: true, message: "请输入兑换码！" }]}
      >
        <Input
          className="tg-code"
          maxLength={128}
          autoComplete="off"
          spellCheck={false}
          placeholder="购买后收到的兑换码"
        />
      </Form.Item>
      {team === 0 ? (
        <TextField
          name="gift_code"
          label="礼品码（可选）"
          extra={gift > 0 && `填写好友的礼品码，双方各得充值额度 ${gift}% 的额外额度。`}
          className="tg-code"
          maxLength={64}
          spellCheck={false}
          placeholder="没有可以不填"
        />
      ) : null}
      <Button type="primary" htmlType="submit" loading={isPending} block>
        {isPending ? "兑换中..." : "兑换"}
      </Button>
    </Form>
  );
}

/** How much of everything there ever was is left, as a sentence. */
function leftText(total: number, left: number): string {
  return total === 0
    ? "还没有额度，充值或使用兑换码后即可开始。"
    : `还剩总额度的 ${(left * 100).toFixed(1)}%`;
}

type Figures = Pick<User, "quota" | "used_quota" | "request_count">;

/** As high without a user as with one, so that nothing below moves when the balance comes. */
function BalanceFigures({ user }: { readonly user: Figures | undefined }) {
  const display = useQuotaDisplay();
  const quota = Math.max(0, user?.quota ?? 0);
  const total = quota + (user?.used_quota ?? 0);
  const left = total === 0 ? 0 : quota / total;
  const known = (show: (user: Figures) => ReactNode) =>
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

function BalanceCard({
  title,
  user,
  error,
  onRetry,
}: {
  readonly title: string;
  readonly user: Figures | undefined;
  readonly error: Error | null;
  readonly onRetry: () => void;
}) {
  return (
    <section className="tg-card tg-section tg-topup-balance" aria-labelledby="tg-balance-title">
      <h2 id="tg-balance-title">{title}</h2>
      {user === undefined && error !== null ? (
        <ErrorState error={error} onRetry={onRetry} />
      ) : (
        <BalanceFigures user={user} />
      )}
    </section>
  );
}

function Balance() {
  const { data: user, error, refetch } = useQuery(selfQuery);
  return <BalanceCard title="我的余额" user={user} error={error} onRetry={() => void refetch()} />;
}

/** What is in a team's wallet, for who may pay into it. */
function Wallet({ team }: { readonly team: number }) {
  const { data, error, refetch } = useQuery(query(teamApi.get, { params: { id: team } }));
  const { quota, used_quota, request_count } = data ?? { quota: null, used_quota: null, request_count: null };
  const user =
    quota === null || used_quota === null || request_count === null
      ? undefined
      : { quota, used_quota, request_count };
  return <BalanceCard title="团队钱包" user={user} error={error} onRetry={() => void refetch()} />;
}

/** What is told of a person's own top-ups, and of a team's: gift codes and commissions have no part in those (requirements O10). */
function AboutTopUp({ isOnline, team }: { readonly isOnline: boolean; readonly team: number }) {
  const { gift_percent: gift } = usePartnerTerms();
  return (
    <Section title="充值说明" className="tg-topup-about">
      <ul>
        {isOnline ? <li>在线支付的，付款后自动到账，离开页面也不影响。</li> : null}
        <li>购买后会收到兑换码。在上方填写即可到账，一个兑换码只能使用一次。</li>
        <li>额度按实际用量扣减，有效期为 9 个月，自充值之日起计算。</li>
        <li>兑换码售出后不支持退款，购买前请确认用量。价格可能随上游调整而变化。</li>
        {team === 0 ? (
          <>
            {gift > 0 ? (
              <li>
                充值时填写好友的礼品码，双方各得 {gift}% 的额外额度，详见
                <Link to="/partnerplan">推广计划</Link>。
              </li>
            ) : null}
            <li>
              每一笔充值都记录在<Link to="/log?type=1">充值日志</Link>中。使用本服务即表示同意
              <Link to="/terms">服务条款</Link>。
            </li>
          </>
        ) : (
          <>
            <li>额度进入团队钱包，供团队的所有令牌使用，不会增加您个人的余额。</li>
            <li>礼品码和推广佣金只用于个人充值。</li>
            <li>
              每一笔充值都记录在<Link to={pathIn(team, "/log")}>团队明细</Link>中。使用本服务即表示同意
              <Link to="/terms">服务条款</Link>。
            </li>
          </>
        )}
      </ul>
    </Section>
  );
}

/** Where there is a way to pay, plans are bought here; else the cards lead to the shop of codes. */
function Shop({ team }: { readonly team: number }) {
  const shop = useQuery({ ...query(paymentApi.shop, {}), meta: { silent: true } });
  const orders = useRecentOrders(team);
  // Together, and the foot of the page stays below the screen, so that nothing moves while it comes.
  if (shop.isPending || orders.isPending) return <div className="tg-shop-pending" />;
  const isOnline = shop.data !== undefined && shop.data.methods.length > 0;
  return (
    <>
      {isOnline ? (
        <Buy {...shop.data} debt={team === 0 ? shop.data.debt : 0} team={team} />
      ) : (
        <PlanCards plans={shop.data?.plans ?? PLANS} />
      )}
      <RecentOrders orders={orders.data?.data ?? []} />
      <AboutTopUp isOnline={isOnline} team={team} />
    </>
  );
}

export function TopUpPage() {
  const team = useTeam();
  return (
    <Page {...(team !== 0 && { extra: <LinkButton to={`/team/${team}`}>返回团队</LinkButton> })}>
      <div className="tg-topup">
        {team === 0 ? <Balance /> : <Wallet team={team} />}
        <section className="tg-card tg-section" aria-labelledby="tg-redeem-title">
          <h2 id="tg-redeem-title">使用兑换码</h2>
          <p>额度会立即到账。</p>
          <RedeemForm key={team} team={team} />
        </section>
      </div>
      <Shop key={team} team={team} />
    </Page>
  );
}
