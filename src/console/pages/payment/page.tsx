// Payments for administrators: all orders, what waits for a person, and the merchant accounts.
import { useQuery } from "@tanstack/react-query";
import { Tabs } from "antd";
import { useSearchParams } from "react-router";
import { query } from "#console/base/call.ts";
import { wide } from "#console/base/language.ts";
import { isRoot, useUser } from "#console/base/session.ts";
import { Callout } from "#console/ui/callout.tsx";
import { Page } from "#console/ui/page.tsx";
import { AddLink } from "#console/ui/row-actions.tsx";
import { paymentAdminApi } from "#contract/payment-admin.ts";
import { Events } from "./events.tsx";
import { Instances } from "./instances.tsx";
import { Invoices } from "./invoices.tsx";
import { Orders } from "./orders.tsx";
import { Payouts } from "./payouts.tsx";

const TABS = [
  { key: "orders", label: "订单", children: <Orders name="payment-order" isInReview={false} /> },
  { key: "review", label: "待处理", children: <Orders name="payment-review" isInReview /> },
  { key: "events", label: "异常通知", children: <Events /> },
  { key: "payouts", label: "提现", children: <Payouts /> },
  { key: "invoices", label: "发票", children: <Invoices /> },
  { key: "instances", label: "支付渠道", children: <Instances /> },
];

/** One is enough: it is the same clock. */
function ClockFault() {
  const { data } = useQuery({ ...query(paymentAdminApi.instances, {}), meta: { silent: true } });
  const fault = data?.find(({ clock_fault }) => clock_fault !== "")?.clock_fault;
  return fault === undefined ? null : (
    <Callout tone="bad">{`${fault}。支付平台会拒绝请求，请校准服务器时间。`}</Callout>
  );
}

export function PaymentPage() {
  const [params, setParams] = useSearchParams();
  const asked = params.get("tab");
  const active = TABS.some(({ key }) => key === asked) ? asked : "orders";
  return (
    <Page
      title="支付管理"
      lead="用户在线充值的订单。金额不符、重复付款等情况会留在“待处理”，由您决定如何入账或退款。"
      extra={isRoot(useUser()) ? <AddLink to="/payment/add" text="添加支付渠道" /> : null}
    >
      <ClockFault />
      <Tabs
        activeKey={active ?? "orders"}
        items={TABS}
        // All fit on a phone, in Chinese.
        tabBarGutter={wide(24, 16)}
        destroyOnHidden
        onChange={(tab) =>
          // Each tab has filters of its own.
          setParams(new URLSearchParams(tab === "orders" ? {} : { tab }), {
            replace: true,
          })
        }
      />
    </Page>
  );
}
