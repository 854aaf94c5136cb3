// Handlers: merchant accounts, all orders, and acts on them. Each act stands in the audit log before it happens (requirements Y40).

import type { Language } from "#contract/language.ts";
import { minorOf } from "#contract/money.ts";
import type {
  AdminOrder,
  Instance as InstanceView,
  paymentAdminApi,
  Refund,
} from "#contract/payment-admin.ts";
import { type PaymentProviderName, paymentProvider } from "#contract/payment-provider.ts";
import { UserStatus } from "#contract/user.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { say } from "#server/locale/sentences.ts";
import { clockFaults } from "#server/payments/clock-watch.ts";
import { changeOrder } from "#server/payments/evidence.ts";
import { columnsOf, lackOf, openInstance, secretsSet, settingsOf } from "#server/payments/instances.ts";
import {
  askSecond,
  creditVoucher,
  judgeVoucher,
  needsSecond,
  waitingVoucher,
} from "#server/payments/manual.ts";
import { askOrder, endByHand } from "#server/payments/orders.ts";
import { creditOrphan, isOrphan } from "#server/payments/orphans.ts";
import { probeInstance } from "#server/payments/probe.ts";
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
import { teamsOfWallet } from "#server/store/teams.ts";
import { findUserById } from "#server/store/users.ts";
import { type Act, type ActCall, audit } from "./audit-log.ts";
import type { Handlers } from "./call.ts";
import { madeOf, totalBeside } from "./list-query.ts";
import { sortedPage } from "./page.ts";
import { isWaiting, type Labels, labelsOf, presentOrder } from "./payment.ts";
import { renewalOfOrder } from "./plan-renewals.ts";
import { subject } from "./user-admin.ts";

export const paymentAdmin: Handlers<{ paymentAdmin: typeof paymentAdminApi }>["paymentAdmin"] = {
  async instances(ctx, { language }) {
    const faultOf = await clockFaults(ctx.db);
    return (await listInstances(ctx.db)).map((row) => ({
      ...presentInstance(ctx, row),
      clock_fault: say(faultOf(row.id), language),
    }));
  },

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
    // It would be off, and refuse what providers tell of orders that are open.
    const lack = openInstance(ctx, before) && lackOf(ctx, { ...before, ...columns });
    if (lack !== undefined) throw faults.refused(`${lack}。要停用该渠道，请关闭“启用”`);
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

  async probeInstance(ctx, call) {
    const row = await getInstance(ctx, call.params.id);
    await audit(ctx, ctx.db, call, { action: "payment.instance.probe", target: row.id });
    return probeInstance(ctx, row);
  },

  async list(ctx, { query, language }) {
    const filter = {
      userId: query.user_id,
      instanceId: query.instance_id,
      status: query.status,
      isInReview: query.review,
      keyword: query.keyword,
      ...madeOf(query),
    };
    const labels = await labelsOf(ctx, language);
    const rows = await listOrders(ctx.db, filter, sortedPage(query));
    const data = rows.map((row) => presentAdmin(row, labels));
    return { data, ...(await totalBeside(query, () => countOrders(ctx.db, filter))) };
  },

  async detail(ctx, { params: { no }, language }) {
    const renewal = await renewalOfOrder(ctx, await getOrder(ctx, no));
    const events = (await listEvents(ctx.db, no)).map(presentEvent);
    return { ...(await presentRefunds(ctx, no, language)), events, renewal };
  },

  async orphans(ctx, { query }) {
    const data = (await listOpenEvents(ctx.db, { page: query.p, size: query.size })).map(presentEvent);
    return { data, total: await countOpenEvents(ctx.db) };
  },

  async settleEvent(ctx, call) {
    const event = await findEvent(ctx.db, call.params.id);
    if (!event) throw faults.notFound("找不到该通知");
    if (waitingVoucher(event)) throw faults.refused("补单须由另一位超级管理员批准或拒绝");
    await ctx.db.transaction().execute(async (tx) => {
      await settleEvents(tx, { id: event.id });
      const detail = { order_no: event.order_no, verdict: event.verdict, reason: call.body.reason };
      await audit(ctx, tx, call, { action: "payment.event.settle", target: event.id, detail });
    });
    return null;
  },

  async creditEvent(ctx, call) {
    const { actor, body, params } = call;
    const event = await findEvent(ctx.db, params.id);
    if (!event) throw faults.notFound("找不到该通知");
    const { user_id: userId, reason } = body;
    const user = subject(actor, await findUserById(ctx.db, userId));
    if (user.status === UserStatus.deleted) throw faults.notFound("找不到该用户");
    const detail = { order_no: event.order_no, facts: event.facts, user_id: userId, reason };
    await audit(ctx, ctx.db, call, { action: "payment.event.credit", target: event.id, detail });
    const order = await creditOrphan(ctx, event, { userId, actorId: actor.id, reason });
    // The poll and the daily list may have told of it too.
    await settleEvents(ctx.db, event.order_no === "" ? { id: event.id } : { orderNo: event.order_no });
    return present(ctx, order.order_no, call.language);
  },

  async ask(ctx, call) {
    const order = await getOrder(ctx, call.params.no);
    await auditOrder(ctx, call, order, { action: "payment.ask" });
    const asked = isWaiting(order) ? await askOrder(ctx, order, { kind: "admin" }) : "paid";
    if (asked === "throttled") throw faults.refused("刚刚查询过，请 5 秒后再试");
    if (asked === "unclear" || asked === "odd" || asked === "off")
      throw faults.refused("支付平台没有给出明确的结果，请稍后再试");
    return present(ctx, order.order_no, call.language);
  },

  async close(ctx, call) {
    const { actor, body, params } = call;
    const order = await getOrder(ctx, params.no);
    if (order.status === "closed" || !isWaiting(order)) throw faults.refused("该订单已经结束");
    await auditOrder(ctx, call, order, { action: "payment.close", detail: body });
    const isOver = await endByHand(ctx, order, { actor_id: actor.id, ...body });
    if (!isOver) throw faults.refused("支付平台暂时没有确认，订单尚未关闭，请稍后再试");
    return present(ctx, order.order_no, call.language);
  },

  async decide(ctx, call) {
    const { actor, body } = call;
    const order = await getOrder(ctx, call.params.no);
    const { as, reason } = body;
    const detail = { as, reason, review: order.review };
    if (order.review === "") throw faults.refused("该订单没有待处理的事项");
    await auditOrder(ctx, call, order, { action: "payment.decide", detail });
    if (as === "settled") {
      await checkSettled(ctx, order);
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
    return present(ctx, order.order_no, call.language);
  },

  async manual(ctx, call) {
    const { actor, body, params } = call;
    const order = await getOrder(ctx, params.no);
    const voucher = { ...body, user_id: order.user_id, actor_id: actor.id };
    const { id, name, rate } = presentInstance(ctx, await getInstance(ctx, order.instance_id));
    const needs_second = await needsSecond(ctx, { amount: body.amount, rate });
    const detail = { ...body, user_id: order.user_id, needs_second };
    await auditOrder(ctx, call, order, { action: "payment.manual", detail });
    if (needs_second) await askSecond(ctx, order, { voucher, instance: { id, name } });
    else await creditVoucher(ctx, order, { voucher });
    return present(ctx, order.order_no, call.language);
  },

  async judgeManual(ctx, call) {
    const { actor, body, params } = call;
    const event = await findEvent(ctx.db, params.id);
    const voucher = event && waitingVoucher(event);
    if (!voucher) throw faults.notFound("没有等待批准的补单");
    if (voucher.actor_id === actor.id)
      throw faults.denied("须由另一位超级管理员批准或拒绝", `order ${event.order_no}`);
    const order = await getOrder(ctx, event.order_no);
    const { is_approved: isApproved, reason } = body;
    const detail = { is_approved: isApproved, reason, voucher };
    await auditOrder(ctx, call, order, { action: "payment.manual.judge", detail });
    await judgeVoucher(ctx, { event, voucher, order }, { isApproved, actorId: actor.id, reason });
    return present(ctx, order.order_no, call.language);
  },

  async refund(ctx, call) {
    const { actor, body } = call;
    const order = await getOrder(ctx, call.params.no);
    const { amount, reason } = body;
    await auditOrder(ctx, call, order, { action: "payment.refund", detail: { amount, reason } });
    const amountMinor = amount === null ? null : (minorOf(amount) ?? 0);
    await refundOrder(ctx, order, { amountMinor, actorId: actor.id, reason });
    return presentRefunds(ctx, order.order_no, call.language);
  },

  async settleRefund(ctx, call) {
    const { body } = call;
    const order = await getOrder(ctx, call.params.no);
    const refund = await findRefund(ctx.db, body.refund_no);
    if (refund?.order_no !== order.order_no || refund.state !== "unknown")
      throw faults.refused("只有结果不明的退款需要登记");
    const { refund_no: refundNo, is_done: isDone, reason } = body;
    const detail = { refund_no: refundNo, is_done: isDone, reason };
    await auditOrder(ctx, call, order, { action: "payment.refund.settle", detail });
    await endRefund(ctx, order, { refundNo, isDone, providerId: "" });
    return presentRefunds(ctx, order.order_no, call.language);
  },
};

/** A payment that was never credited is dealt with when all of its money is back. Throws: AppError. */
async function checkSettled({ db }: Context, order: OrderRow): Promise<void> {
  if (order.status !== "paid") return;
  if (order.refunded_minor + order.disputed_minor < order.paid_minor)
    throw faults.refused("这笔付款尚未入账也未退款，请先入账或退款");
  const isUnderWay = (await listRefunds(db, order.order_no)).some(({ state }) => UNDER_WAY.includes(state));
  if (isUnderWay) throw faults.refused("这笔付款的退款还没有结果，请等到退款完成");
}

/** States of refunds that may fail yet. */
const UNDER_WAY = ["held", "asked", "unknown"];

/** Logs an act on an order; one that is for a team's wallet stands in the team's own list too. */
async function auditOrder(
  ctx: Context,
  call: ActCall,
  order: OrderRow,
  act: Pick<Act, "action" | "detail">,
): Promise<void> {
  const teams = await teamsOfWallet(ctx.db, order.user_id);
  await audit(ctx, ctx.db, call, { ...act, target: order.order_no, teams });
}

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
  const site = ctx.options.get("ServerAddress");
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
    notify_url: site === "" ? "" : `${site}/api/payment/notify/${row.slug}`,
    unclear: row.unclear,
    refused_notices: row.refused_notices,
    refused_at: row.refused_at,
    clock_fault: "",
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

async function presentRefunds(ctx: Context, orderNo: string, language: Language) {
  return { order: await present(ctx, orderNo, language), refunds: await refundsOf(ctx, orderNo) };
}

async function present(ctx: Context, orderNo: string, language: Language): Promise<AdminOrder> {
  return presentAdmin(await getOrder(ctx, orderNo), await labelsOf(ctx, language));
}

function presentEvent(row: EventRow) {
  const { id, instance_id, order_no, kind, verdict, facts, created_at } = row;
  const is_open = row.is_open === 1;
  const asked_by = waitingVoucher(row)?.actor_id ?? 0;
  return {
    ...{ id, instance_id, order_no, kind, verdict, is_open, is_orphan: isOrphan(row), asked_by },
    ...{ facts, created_at },
  };
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
