// One order: what to pay and where, how long, and what became of it. It asks our server again and again while it waits.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Button, QRCode } from "antd";
import { useEffect, useState } from "react";
import { useParams } from "react-router";
import { invalidate, query, useCall } from "#console/base/call.ts";
import { formatTime } from "#console/base/format.ts";
import { wide } from "#console/base/language.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { ConfirmButton } from "#console/ui/confirm-button.tsx";
import { Facts } from "#console/ui/facts.tsx";
import { Page } from "#console/ui/page.tsx";
import { LinkButton } from "#console/ui/plain-button.tsx";
import { StatusTag } from "#console/ui/status-tag.tsx";
import { ErrorState } from "#console/ui/table-states.tsx";
import { pathIn } from "#console/ui/team-context.ts";
import { type Order, paymentApi } from "#contract/payment.ts";
import { planApi } from "#contract/plan.ts";
import { formatQuota } from "#contract/quota.ts";
import { userApi } from "#contract/user.ts";
import { priceText } from "./buy.tsx";
import { askDelayMs, isOpen, orderWords, scannerOf } from "./order-state.ts";
import "./topup.css";

/** Only addresses of the web and of wallets' own schemes that a provider answered; never a script. */
function payLink(url: string): string | undefined {
  return /^(https?|alipays?|weixin):\/\//.test(url) ? url : undefined;
}

function Countdown({ until }: { readonly until: number }) {
  const [nowSec, setNow] = useState(() => Date.now() / 1000);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now() / 1000), 1_000);
    return () => clearInterval(timer);
  }, []);
  const left = Math.max(0, Math.floor(until - nowSec));
  return (
    <span>
      请在 {Math.floor(left / 60)}:{String(left % 60).padStart(2, "0")} 内完成支付
    </span>
  );
}

function PayPlace({ order }: { readonly order: Order }) {
  const link = payLink(order.url);
  return (
    <div className="tg-pay-place">
      {order.qr === "" ? null : (
        <div className="tg-pay-code">
          <QRCode type="svg" value={order.qr} size={200} color="#000000" bgColor="#ffffff" bordered={false} />
          <p>请使用{scannerOf(order)}扫码付款</p>
        </div>
      )}
      {link === undefined ? null : (
        <Button type={order.qr === "" ? "primary" : "default"} href={link}>
          用{order.label}付款
        </Button>
      )}
      <Countdown until={order.expires_at} />
    </div>
  );
}

function OrderCard({ order, onAsk }: { readonly order: Order; readonly onAsk: () => void }) {
  const client = useQueryClient();
  const display = useQuotaDisplay();
  const { label, tone, says } = orderWords(order);
  const cancel = useCall(paymentApi.cancel, {
    onSuccess: () => void invalidate(client, [paymentApi.order, paymentApi.orders]),
  });
  const canWait = isOpen(order) || order.status === "closed";
  return (
    <section className="tg-card tg-section tg-order" aria-label="订单">
      <div className="tg-order-head" aria-live="polite">
        <span className="tg-order-price">{priceText(order)}</span>
        <StatusTag label={label} tone={tone} />
      </div>
      <p className="tg-muted">{says}</p>
      {isOpen(order) ? <PayPlace order={order} /> : null}
      <Facts
        labelWidth={wide(86, 110)}
        facts={[
          ["订单号", <code key="no">{order.order_no}</code>],
          order.plan === "" ? ["到账额度", formatQuota(order.quota, display)] : ["套餐", order.plan],
          ["支付方式", order.label],
          ["创建时间", formatTime(order.created_at)],
          order.credited_at > 0 && ["到账时间", formatTime(order.credited_at)],
        ]}
      />
      <div className="tg-order-acts">
        {canWait ? <Button onClick={onAsk}>我已付款</Button> : null}
        {isOpen(order) ? (
          <ConfirmButton
            question="取消这个订单？已经付款的不要取消。"
            confirmText="取消订单"
            danger
            loading={cancel.isPending}
            onConfirm={() => cancel.mutate({ params: { no: order.order_no }, body: {} })}
          >
            取消订单
          </ConfirmButton>
        ) : null}
        {order.plan === "" ? (
          <LinkButton to={pathIn(order.team_id, "/topup")}>返回充值页</LinkButton>
        ) : (
          <LinkButton to="/subscription">返回订阅页</LinkButton>
        )}
      </div>
    </section>
  );
}

export function OrderPage() {
  const { no = "" } = useParams();
  const client = useQueryClient();
  const [openedMs] = useState(() => Date.now());
  const { data, error, refetch } = useQuery({
    ...query(paymentApi.order, { params: { no } }),
    meta: { silent: true },
    // A hidden tab does not ask; it does when it is looked at again.
    refetchOnWindowFocus: "always",
    refetchInterval: ({ state }) =>
      state.data !== undefined && isOpen(state.data)
        ? askDelayMs({ openMs: Date.now() - openedMs, isFailing: state.status === "error" })
        : false,
  });
  const isCredited = data?.status === "credited";
  useEffect(() => {
    if (isCredited) void invalidate(client, [userApi.self, paymentApi.orders, paymentApi.shop, planApi.shop]);
  }, [isCredited, client]);
  return (
    <Page title={data === undefined || data.plan === "" ? "充值订单" : "套餐订单"} width="form">
      {data === undefined && error !== null ? (
        <ErrorState error={error} onRetry={() => void refetch()} />
      ) : data === undefined ? null : (
        <OrderCard order={data} onAsk={() => void refetch()} />
      )}
    </Page>
  );
}
