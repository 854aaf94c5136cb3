// One order for administrators: facts, history, refunds, and the acts that are open now. Each act asks for a reason.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Button, Form, Input, Timeline } from "antd";
import { useState } from "react";
import { useParams } from "react-router";
import { invalidate, query, useCall } from "#console/base/call.ts";
import { formatTime } from "#console/base/format.ts";
import { wide } from "#console/base/language.ts";
import { isRoot, useMay, useUser } from "#console/base/session.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { toast } from "#console/base/toast.ts";
import { Callout } from "#console/ui/callout.tsx";
import { Facts } from "#console/ui/facts.tsx";
import { required, rule } from "#console/ui/fields.ts";
import { FormDialog } from "#console/ui/form-dialog.tsx";
import { Page } from "#console/ui/page.tsx";
import { Section } from "#console/ui/section.tsx";
import { StatusTag } from "#console/ui/status-tag.tsx";
import { ErrorState } from "#console/ui/table-states.tsx";
import { TextField } from "#console/ui/text-field.tsx";
import { minorText, moneyText } from "#contract/money.ts";
import { type AdminOrder, type PaymentEvent, paymentAdminApi, type Refund } from "#contract/payment-admin.ts";
import { formatQuota } from "#contract/quota.ts";
import { RenewalFacts } from "./renewal-facts.tsx";
import { useSecond } from "./second-dialog.tsx";
import { UnclearRefund } from "./unclear-refund.tsx";
import { factsText, kindText, refundText, sourceText, stateOf, stepText, verdictText } from "./words.ts";
import "./payment.css";

type Act = "paid" | "ordered" | "settled" | "manual" | "refund" | "left" | "close";

interface Given {
  readonly reason: string;
  readonly amount?: string;
  readonly trade_no?: string;
}

const fields = paymentAdminApi.manual.body.shape;

const TITLES: Readonly<Record<Act, string>> = {
  paid: "按实付金额入账",
  ordered: "按订单金额入账",
  settled: "标记为已处理",
  manual: "人工补单",
  refund: "退款",
  left: "退余额尚够的部分",
  close: "关闭订单",
};

/** The acts that make sense for an order now. */
function actsOf(
  { status, review, paid_minor, refunded_minor, disputed_minor }: AdminOrder,
  isSuper: boolean,
): Act[] {
  const rest = paid_minor - refunded_minor - disputed_minor;
  const isOpen = status === "created" || status === "pending";
  const canRefund = rest > 0 && (status === "credited" || status === "paid");
  return [
    // One of which money went back is not credited as well.
    ...(status === "paid" && rest === paid_minor ? (["paid", "ordered"] as const) : []),
    ...(canRefund ? (["refund"] as const) : []),
    ...(canRefund && status === "credited" ? (["left"] as const) : []),
    ...(review !== "" && (status !== "paid" || rest === 0) ? (["settled"] as const) : []),
    ...(isSuper && (isOpen || status === "closed") ? (["manual"] as const) : []),
    ...(isOpen ? (["close"] as const) : []),
  ];
}

function useActs(order: AdminOrder, onDone: () => void) {
  const client = useQueryClient();
  const refresh = () => {
    void invalidate(client, [paymentAdminApi.detail, paymentAdminApi.list, paymentAdminApi.orphans]);
    onDone();
  };
  const done = (text?: string) => {
    toast.success(text);
    refresh();
  };
  const onSuccess = () => done();
  const decide = useCall(paymentAdminApi.decide, { onSuccess });
  const manual = useCall(paymentAdminApi.manual, {
    onSuccess: ({ status }) => done(status === "credited" ? undefined : "已提交，等待另一位超级管理员批准"),
  });
  const refund = useCall(paymentAdminApi.refund, {
    onSuccess: ({ refunds }) => {
      const state = refunds.at(-1)?.state;
      if (state === "failed") toast.warning("支付平台没有接受这笔退款，收回的额度已退还");
      else toast.success(state === "done" ? undefined : "退款已提交，等待支付平台给出结果");
      refresh();
    },
  });
  const close = useCall(paymentAdminApi.close, {
    onSuccess: ({ status }) => done(status === "closed" ? undefined : "平台已收到付款，订单没有关闭"),
  });
  const params = { no: order.order_no };
  const run = (act: Act, { reason, amount = "", trade_no = "" }: Given) => {
    if (act === "manual") manual.mutate({ params, body: { trade_no, amount, reason } });
    else if (act === "close") close.mutate({ params, body: { reason } });
    else if (act === "refund") refund.mutate({ params, body: { amount, reason } });
    else if (act === "left") refund.mutate({ params, body: { amount: null, reason } });
    else decide.mutate({ params, body: { as: act, reason } });
  };
  return { run, isPending: [decide, manual, refund, close].some((call) => call.isPending) };
}

function ActDialog({
  act,
  order,
  onClose,
}: {
  readonly act: Act;
  readonly order: AdminOrder;
  readonly onClose: () => void;
}) {
  const { run, isPending } = useActs(order, onClose);
  const rest = order.paid_minor - order.refunded_minor - order.disputed_minor;
  const amount = minorText(act === "manual" ? order.amount_minor : rest);
  return (
    <FormDialog<Given>
      title={TITLES[act]}
      width={520}
      okText="确认"
      isBusy={isPending}
      initialValues={{ amount, reason: "", trade_no: "" }}
      onFinish={(given) => run(act, given)}
      onClose={onClose}
    >
      {act === "manual" ? (
        <TextField
          name="trade_no"
          label="平台交易号"
          rules={[required, rule(fields.trade_no)]}
          maxLength={64}
        />
      ) : null}
      {act === "manual" || act === "refund" ? (
        <TextField
          name="amount"
          label={act === "manual" ? "实收金额" : "退款金额"}
          suffix={order.currency}
          rules={[required, rule(fields.amount)]}
        />
      ) : null}
      <Form.Item name="reason" label="原因" extra="记入操作审计。" rules={[required, rule(fields.reason)]}>
        <Input maxLength={200} autoComplete="off" />
      </Form.Item>
    </FormDialog>
  );
}

function Acts({ order }: { readonly order: AdminOrder }) {
  const [act, choose] = useState<Act>();
  const client = useQueryClient();
  const isSuper = isRoot(useUser());
  const ask = useCall(paymentAdminApi.ask, {
    onSuccess: () => {
      toast.success("已向支付平台查询");
      void invalidate(client, [paymentAdminApi.detail, paymentAdminApi.list]);
    },
  });
  return (
    <div className="tg-payment-acts">
      <Button
        loading={ask.isPending}
        onClick={() => ask.mutate({ params: { no: order.order_no }, body: {} })}
      >
        查单入账
      </Button>
      {actsOf(order, isSuper).map((one) => (
        <Button key={one} danger={one === "refund" || one === "left"} onClick={() => choose(one)}>
          {TITLES[one]}
        </Button>
      ))}
      {act === undefined ? null : <ActDialog act={act} order={order} onClose={() => choose(undefined)} />}
    </div>
  );
}

function History({ events }: { readonly events: readonly PaymentEvent[] }) {
  if (events.length === 0) return <p className="tg-muted">还没有收到支付平台的消息。</p>;
  return (
    <Timeline
      items={events.map((event) => ({
        key: event.id,
        color: event.is_open ? "red" : "gray",
        children: (
          <>
            <strong>{stepText(event)}</strong>
            <div className="tg-muted">
              {formatTime(event.created_at)} · {kindText(event.kind)}
            </div>
            <div className="tg-muted">{factsText(event.facts)}</div>
          </>
        ),
      }))}
    />
  );
}

function Refunds({ refunds, order }: { readonly refunds: readonly Refund[]; readonly order: AdminOrder }) {
  const { currency, order_no } = order;
  const display = useQuotaDisplay();
  return (
    <Section title="退款与拒付">
      <Facts
        facts={refunds.map((one) => [
          `${sourceText(one.source)} ${formatTime(one.created_at)}`,
          `${moneyText(one.amount_minor, currency)}，收回 ${formatQuota(one.quota, display)}，${refundText(one.state)}${one.reason === "" ? "" : `（${one.reason}）`}`,
        ])}
      />
      {refunds
        .filter(({ state }) => state === "unknown")
        .map((one) => (
          <UnclearRefund key={one.id} orderNo={order_no} refund={one} currency={currency} />
        ))}
    </Section>
  );
}

/** A payment vouched for that waits for another super administrator, who finds the buttons here. */
function Awaited({ event }: { readonly event: PaymentEvent }) {
  const { actionsOf, dialog } = useSecond();
  const actions = actionsOf(event);
  return (
    <Callout tone="info">
      <strong>{verdictText(event.verdict)}</strong>
      <div>{factsText(event.facts)}</div>
      {actions.length === 0 ? null : (
        <div className="tg-payment-acts">
          {actions.map(({ key, label, icon, isDanger = false, onClick }) => (
            <Button key={key} icon={icon} danger={isDanger} onClick={onClick}>
              {label}
            </Button>
          ))}
        </div>
      )}
      {dialog}
    </Callout>
  );
}

export function PaymentOrderPage() {
  const { no = "" } = useParams();
  const mayAdjust = useMay("money.adjust");
  const display = useQuotaDisplay();
  const { data, error, refetch } = useQuery({
    ...query(paymentAdminApi.detail, { params: { no } }),
    meta: { silent: true },
  });
  if (data === undefined)
    return (
      <Page title="订单详情">
        {error === null ? null : <ErrorState error={error} onRetry={() => void refetch()} />}
      </Page>
    );
  const { order, events, refunds, renewal } = data;
  const state = stateOf(order);
  const awaited = events.find(({ asked_by }) => asked_by !== 0);
  return (
    <Page title="订单详情" lead={<code>{order.order_no}</code>} width="form">
      {state.hint === "" ? null : <Callout tone="info">待处理：{state.hint}</Callout>}
      {awaited ? <Awaited event={awaited} /> : null}
      <Section title="订单信息">
        <Facts
          labelWidth={wide(100, 150)}
          facts={[
            ["状态", <StatusTag key="state" tone={state.tone} label={state.label} />],
            ["用户", `#${order.user_id}`],
            ["订单金额", moneyText(order.amount_minor, order.currency)],
            order.paid_minor > 0 && ["实付金额", moneyText(order.paid_minor, order.currency)],
            ["订单额度", formatQuota(order.quota, display)],
            order.credited_quota > 0 && ["入账额度", formatQuota(order.credited_quota, display)],
            ["支付方式", order.label],
            order.trade_no !== "" && ["平台交易号", <code key="trade">{order.trade_no}</code>],
            ["创建时间", formatTime(order.created_at)],
          ]}
        />
        {mayAdjust ? <Acts order={order} /> : null}
      </Section>
      {renewal === null ? null : <RenewalFacts renewal={renewal} />}
      {refunds.length === 0 ? null : <Refunds refunds={refunds} order={order} />}
      <Section title="经过">
        <History events={events} />
      </Section>
    </Page>
  );
}
