// Handlers: merchant accounts, all orders, and acts on them. Each act stands in the audit log before it happens (requirements Y40).

import { minorOf } from "#contract/money.ts";
import type {
  AdminOrder,
  Instance as InstanceView,
  paymentAdminApi,
  Refund,
} from "#contract/payment-admin.ts";
import { type PaymentProviderName, paymentProvider } from "#contract/payment-provider.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { changeOrder } from "#server/payments/evidence.ts";
import { columnsOf, openInstance, secretsSet, settingsOf } from "#server/payments/instances.ts";
import { askOrder } from "#server/payments/orders.ts";
import { endRefund, refundOrder } from "#server/payments/refunds.ts";
import { randomHex } from "#server/secrets.ts";
import { findRefund, listRefunds } from "#server/store/order-refunds.ts";
import {
  clearReview,
  countOpenEvents,
  countOrders,
  type EventRow,
  findEvent,
  findOrder,
  listEvents,
  listOpenEvents,
  listOrders,
  type OrderRow,
  settleEvents,
} from "#server/store/orders.ts";
import {
  findInstance,
  type InstanceRow,
  insertInstance,
  listInstances,
  updateInstance,
} from "#server/store/payment-instances.ts";
import { audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";
import { madeOf, totalBeside } from "./list-query.ts";
import { sortedPage } from "./page.ts";
import { isWaiting, type Labels, labelsOf, presentOrder } from "./payment.ts";
import { renewalOfOrder } from "./plan-renewals.ts";

export const paymentAdmin: Handlers<{ paymentAdmin: typeof paymentAdminApi }>["paymentAdmin"] = {
  instances: async (ctx) => (await listInstances(ctx.db)).map((row) => presentInstance(ctx, row)),

  async createInstance(ctx, call) {
    const { body } = call;
    checkDraft(ctx, body, { provider: body.provider, currency: body.currency });
    const { provider, merchant_id, currency } = body;
    const columns = columnsOf(ctx, body, { provider, before: undefined });
    const id = await ctx.db.transaction().execute(async (tx) => {
      const created_at = ctx.clock.seconds();
      const made = await insertInstance(tx, {
        slug: randomHex(32),
        provider,
        merchant_id,
        currency,
        created_at,
        ...columns,
      });
      await audit(ctx, tx, call, {
        action: "payment.instance.create",
        target: made,
        detail: { provider, merchant_id, name: body.name },
      });
      return made;
    });
    return presentInstance(ctx, await getInstance(ctx, id));
  },

  async updateInstance(ctx, call) {
    const { body, params } = call;
    const before = await getInstance(ctx, params.id);
    // The column holds names of providers only.
    const provider = before.provider as PaymentProviderName;
    checkDraft(ctx, body, { provider, currency: before.currency });
    const columns = columnsOf(ctx, body, { provider, before });
    await ctx.db.transaction().execute(async (tx) => {
      await updateInstance(tx, before.id, columns);
      const { name, is_enabled, methods, fee_bp, cost_bp, rate } = body;
      const secrets = Object.keys(body.fields).filter(
        (key) => isSecret(provider, key) && body.fields[key] !== "",
      );
      const detail = { name, is_enabled, methods, fee_bp, cost_bp, rate, secrets_changed: secrets };
      const act = { action: "payment.instance.update", target: before.id, detail } as const;
      await audit(ctx, tx, call, { ...act, before: presentInstance(ctx, before) });
    });
    return presentInstance(ctx, await getInstance(ctx, before.id));
  },

  async list(ctx, { query }) {
    const filter = {
      userId: query.user_id,
      instanceId: query.instance_id,
      status: query.status,
      isInReview: query.review,
      keyword: query.keyword,
      ...madeOf(query),
    };
    const labels = await labelsOf(ctx);
    const rows = await listOrders(ctx.db, filter, sortedPage(query));
    const data = rows.map((row) => presentAdmin(row, labels));
    return { data, ...(await totalBeside(query, () => countOrders(ctx.db, filter))) };
  },

  async detail(ctx, { params }) {
    const order = await present(ctx, params.no);
    const events = (await listEvents(ctx.db, params.no)).map(presentEvent);
    const row = await getOrder(ctx, params.no);
    return {
      order,
      events,
      refunds: await refundsOf(ctx, params.no),
      renewal: await renewalOfOrder(ctx, row),
    };
  },

  async orphans(ctx, { query }) {
    const data = (await listOpenEvents(ctx.db, { page: query.p, size: query.size })).map(presentEvent);
    return { data, total: await countOpenEvents(ctx.db) };
  },

  async settleEvent(ctx, call) {
    const event = await findEvent(ctx.db, call.params.id);
    if (!event) throw faults.notFound("找不到该通知");
    await ctx.db.transaction().execute(async (tx) => {
      await settleEvents(tx, { id: event.id });
      const detail = { order_no: event.order_no, verdict: event.verdict, reason: call.body.reason };
      await audit(ctx, tx, call, { action: "payment.event.settle", target: event.id, detail });
    });
    return null;
  },

  async ask(ctx, call) {
    const order = await getOrder(ctx, call.params.no);
    await audit(ctx, ctx.db, call, { action: "payment.ask", target: order.order_no });
    const asked = isWaiting(order) ? await askOrder(ctx, order, { kind: "admin" }) : "paid";
    if (asked === "throttled") throw faults.refused("刚刚查询过，请 5 秒后再试");
    if (asked === "unclear" || asked === "off")
      throw faults.refused("支付平台没有给出明确的结果，请稍后再试");
    return present(ctx, order.order_no);
  },

  async decide(ctx, call) {
    const { actor, body } = call;
    const order = await getOrder(ctx, call.params.no);
    const { as, reason } = body;
    const detail = { as, reason, review: order.review };
    if (order.review === "") throw faults.refused("该订单没有待处理的事项");
    await audit(ctx, ctx.db, call, { action: "payment.decide", target: order.order_no, detail });
    if (as === "settled") {
      if (order.status === "paid" && order.refunded_minor < order.paid_minor)
        throw faults.refused("这笔付款尚未入账也未退款，请先入账或退款");
      await clearReview(ctx.db, order.order_no);
    } else {
      const act = { verb: "decide", as, actorId: actor.id, reason } as const;
      const origin = { kind: "admin", key: `${order.order_no}/decide`, body: "" } as const;
      const { outcome } = await changeOrder(ctx, order, {
        act,
        origin,
        facts: { as, reason, actor_id: actor.id },
      });
      if (outcome !== "credited") throw faults.refused("该付款不能这样入账");
    }
    await settleEvents(ctx.db, { orderNo: order.order_no });
    return present(ctx, order.order_no);
  },

  async manual(ctx, call) {
    const { actor, body } = call;
    const order = await getOrder(ctx, call.params.no);
    const { trade_no: tradeNo, amount, reason } = body;
    const detail = { trade_no: tradeNo, amount, reason, user_id: order.user_id };
    await audit(ctx, ctx.db, call, { action: "payment.manual", target: order.order_no, detail });
    const proof = { tradeNo, amountMinor: minorOf(amount) ?? 0, currency: order.currency, paidSec: 0 };
    const act = { verb: "manual", proof, actorId: actor.id, reason } as const;
    const origin = { kind: "admin", key: `${order.order_no}/manual/${tradeNo}`, body: "" } as const;
    const { outcome } = await changeOrder(ctx, order, {
      act,
      origin,
      facts: { ...detail, actor_id: actor.id },
    });
    if (outcome === "trade_used") throw faults.refused("该平台交易号已用于另一个订单");
    if (outcome !== "credited") throw faults.refused("该订单不能补单");
    return present(ctx, order.order_no);
  },

  async refund(ctx, call) {
    const { actor, body } = call;
    const order = await getOrder(ctx, call.params.no);
    const { amount, reason } = body;
    await audit(ctx, ctx.db, call, {
      action: "payment.refund",
      target: order.order_no,
      detail: { amount, reason },
    });
    const amountMinor = amount === null ? null : (minorOf(amount) ?? 0);
    await refundOrder(ctx, order, { amountMinor, actorId: actor.id, reason });
    return { order: await present(ctx, order.order_no), refunds: await refundsOf(ctx, order.order_no) };
  },

  async settleRefund(ctx, call) {
    const { body } = call;
    const order = await getOrder(ctx, call.params.no);
    const refund = await findRefund(ctx.db, body.refund_no);
    if (refund?.order_no !== order.order_no || refund.state !== "unknown")
      throw faults.refused("只有结果不明的退款需要登记");
    const { refund_no: refundNo, is_done: isDone, reason } = body;
    const detail = { refund_no: refundNo, is_done: isDone, reason };
    await audit(ctx, ctx.db, call, { action: "payment.refund.settle", target: order.order_no, detail });
    await endRefund(ctx, order, { refundNo, isDone, providerId: "" });
    return { order: await present(ctx, order.order_no), refunds: await refundsOf(ctx, order.order_no) };
  },
};

function isSecret(provider: PaymentProviderName, key: string): boolean {
  return paymentProvider(provider).fields.some((field) => field.key === key && field.isSecret);
}

/** What a draft of an account must have; what it may still lack keeps it off. Throws: AppError. */
function checkDraft(
  { egress }: Context,
  { methods, fields }: { methods: readonly string[]; fields: Readonly<Record<string, string>> },
  { provider, currency }: { provider: PaymentProviderName; currency: string },
): void {
  const known = paymentProvider(provider);
  if (methods.some((method) => !Object.hasOwn(known.methods, method))) throw faults.invalid("支付方式有误");
  if (!known.takesCurrencies && currency !== "CNY") throw faults.refused("该平台只支持人民币");
  const address = fields["base_url"] ?? "";
  const judged = address === "" ? undefined : egress.judge(address);
  if (judged && "refusal" in judged) throw faults.refused(judged.refusal);
  if (judged && (judged.url.search !== "" || judged.url.hash !== ""))
    throw faults.refused("接口地址不能带参数");
}

async function getInstance({ db }: Context, id: number): Promise<InstanceRow> {
  const row = await findInstance(db, id);
  if (!row) throw faults.notFound("找不到该支付渠道");
  return row;
}

async function getOrder({ db }: Context, orderNo: string): Promise<OrderRow> {
  const row = await findOrder(db, orderNo);
  if (!row) throw faults.notFound("找不到该订单");
  return row;
}

function presentInstance(ctx: Context, row: InstanceRow): InstanceView {
  const { methods, fee_bp, cost_bp = 0, rate, fields } = settingsOf(row);
  return {
    id: row.id,
    // The column holds names of providers only.
    provider: row.provider as PaymentProviderName,
    name: row.name,
    merchant_id: row.merchant_id,
    currency: row.currency,
    is_enabled: row.enabled === 1,
    is_complete: openInstance(ctx, row) !== undefined,
    sort: row.sort,
    methods: [...methods],
    fee_bp,
    cost_bp,
    rate,
    fields: { ...fields },
    secrets_set: secretsSet(row),
    notify_url: `${ctx.options.get("ServerAddress")}/api/payment/notify/${row.slug}`,
    unclear: row.unclear,
  };
}

function presentAdmin(row: OrderRow, labels: Labels): AdminOrder {
  return {
    ...presentOrder(row, labels),
    user_id: row.user_id,
    instance_id: row.instance_id,
    trade_no: row.trade_no,
    review: row.review,
    credited_quota: row.credited_quota,
    disputed_minor: row.disputed_minor,
  };
}

async function present(ctx: Context, orderNo: string): Promise<AdminOrder> {
  return presentAdmin(await getOrder(ctx, orderNo), await labelsOf(ctx));
}

function presentEvent(row: EventRow) {
  const { id, instance_id, order_no, kind, verdict, facts, created_at } = row;
  return { id, instance_id, order_no, kind, verdict, is_open: row.is_open === 1, facts, created_at };
}

async function refundsOf({ db }: Context, orderNo: string): Promise<Refund[]> {
  const rows = await listRefunds(db, orderNo);
  return rows.map(({ id, refund_no, source, amount_minor, quota, gift, state, reason, created_at }) => ({
    id,
    refund_no,
    source,
    amount_minor,
    quota: quota + gift,
    state,
    reason,
    created_at,
  }));
}
