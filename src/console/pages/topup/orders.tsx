// The user's latest orders; those that wait for a payment can be gone on with.
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { query } from "#console/base/call.ts";
import { formatTime } from "#console/base/format.ts";
import { Section } from "#console/ui/section.tsx";
import { StatusTag } from "#console/ui/status-tag.tsx";
import { moneyText } from "#contract/money.ts";
import { type Order, paymentApi } from "#contract/payment.ts";
import { isOpen, orderWords } from "./order-state.ts";

function OrderLine({ order }: { readonly order: Order }) {
  const { label, tone } = orderWords(order);
  return (
    <li>
      <Link to={`/topup/order/${order.order_no}`} className="tg-order-line">
        <span className="tg-order-state">
          <StatusTag label={label} tone={tone} />
        </span>
        <span className="tg-order-money">{moneyText(order.amount_minor, order.currency)}</span>
        <span className="tg-muted tg-order-way">{order.label}</span>
        <time className="tg-muted">{formatTime(order.created_at)}</time>
        <span className="tg-order-go">{isOpen(order) ? "继续支付" : "查看"}</span>
      </Link>
    </li>
  );
}

/** Of a team's wallet; 0 = one's own. */
export function useRecentOrders(team: number) {
  return useQuery({
    ...query(paymentApi.orders, { query: { p: 0, size: 5, team_id: team } }),
    meta: { silent: true },
  });
}

export function RecentOrders({ orders }: { readonly orders: readonly Order[] }) {
  if (orders.length === 0) return null;
  return (
    <Section title="最近的订单" className="tg-orders">
      <ul>
        {orders.map((order) => (
          <OrderLine key={order.id} order={order} />
        ))}
      </ul>
    </Section>
  );
}
