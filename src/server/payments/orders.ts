// Orders: made before the provider is asked, asked about, closed. A provider that says nothing clear leaves everything open (requirements
// Y02, Y17, Y19).

import { setTimeout as sleep } from "node:timers/promises";
import { minorOf } from "#contract/money.ts";
import { dayOf } from "#contract/month.ts";
import type { NewOrder } from "#contract/payment.ts";
import { UserStatus } from "#contract/user.ts";
import { faults } from "#server/errors.ts";
import { saleOf } from "#server/money/order-books.ts";
import { giftOf } from "#server/money/rules-partner.ts";
import { randomOrderTail } from "#server/secrets.ts";
import {
  closeOrder,
  findOrder,
  insertEvent,
  insertOrder,
  listOpenOrders,
  listSales,
  type NewOrder as OrderInsert,
  type OrderRow,
  setPending,
  takeQuestion,
} from "#server/store/orders.ts";
import { findAffOwner } from "#server/store/partners.ts";
import { countUnclear, findInstance } from "#server/store/payment-instances.ts";
import { getUser } from "#server/store/users.ts";
import type { Tools } from "#server/tools.ts";
import { compareClocks } from "./clock-watch.ts";
import { boundColumns, payCommission } from "./commission.ts";
import type { EvidenceTools } from "./evidence.ts";
import { openInstance, providerOf } from "./instances.ts";
import { priceOf, worthOf } from "./order-price.ts";
import { paceOf } from "./pace.ts";
import { bringPayment } from "./proofs.ts";
import type { Asked, Instance, OrderFacts, PayRef, ProviderDeps } from "./provider.ts";

export type OrderTools = EvidenceTools &
  Pick<Tools, "egress" | "coord"> & {
    /** No user waits for the answer: it is asked at a pace that providers take. */
    readonly isPaced?: true;
  };

const EXPIRY_SEC = 30 * 60;
/** The provider is asked about an order whose page is not open after so many seconds, counted from its creation. */
const CHECKS_SEC = [15, 30, 60, 120, 300, 600, 1_800, 3_600] as const;
/** And about one that was closed: a code that was scanned in the last second still pays. */
const LATE_CHECKS_SEC = [300, 3_600, 86_400] as const;
/** However many clients and jobs look, a provider is asked about an order no more often. */
const ASK_EVERY_SEC = 5;
const MOST_OPEN = 5;
/** So long an order's page waits for a provider that is asked; what comes later is heard behind the answer. */
const PAGE_WAIT_MS = 250;
/** A provider that says nothing clear is asked by the minute for the first time, then more rarely, and then the order is closed all the same. */
const UNCLEAR_SEC = { often: 3_600, every: 1_800, most: 86_400 } as const;

/** When to ask next; 0 = never again. Pure. */
export function nextCheck(
  order: Pick<OrderRow, "status" | "created_at" | "expires_at" | "closed_at" | "checks">,
  nowSec: number,
): number {
  if (order.status === "paid" || order.status === "credited") return 0;
  if (order.status === "closed") {
    const at = LATE_CHECKS_SEC.map((sec) => order.closed_at + sec).find((sec) => sec > nowSec);
    return at ?? 0;
  }
  const planned = CHECKS_SEC.map((sec) => order.created_at + sec).find((sec) => sec > nowSec);
  // Just before the end, at the end, and from then on until the provider has spoken.
  const again = nowSec < order.expires_at + UNCLEAR_SEC.often ? 60 : UNCLEAR_SEC.every;
  const ends = [order.expires_at - 5, order.expires_at, nowSec + again].filter((sec) => sec > nowSec);
  return Math.min(...(planned === undefined ? [] : [planned]), ...ends.slice(0, 1));
}

/** `TG`, the day in Beijing, 16 characters: 26 that every provider takes. */
export function newOrderNo(nowSec: number): string {
  return `TG${dayOf(nowSec).replaceAll("-", "")}${randomOrderTail()}`;
}

export function depsOf(tools: OrderTools, instance: Instance, orderNo: string): ProviderDeps {
  const { egress, clock, options } = tools;
  const site = options.get("ServerAddress");
  const pace = paceOf(tools.coord);
  return {
    egress,
    turn: tools.isPaced ? () => pace.turn(instance.id) : async () => pace.count(instance.id),
    nowSec: clock.seconds(),
    heardDate: (date) => compareClocks(tools, instance, date),
    notifyUrl: `${site}/api/payment/notify/${instance.slug}`,
    returnUrl: `${site}/api/payment/return/${orderNo}`,
  };
}

export function refOf(order: Pick<OrderRow, "provider_ref">): PayRef {
  // Written by setPending alone.
  return order.provider_ref === ""
    ? { qr: "", url: "", session: "" }
    : (JSON.parse(order.provider_ref) as PayRef);
}

export function factsOf(order: OrderRow, clientAddress = ""): OrderFacts {
  return {
    orderNo: order.order_no,
    method: order.method,
    amountMinor: order.amount_minor,
    paidMinor: order.paid_minor,
    currency: order.currency,
    expiresSec: order.expires_at,
    clientAddress,
    session: refOf(order).session,
    tradeNo: order.trade_no,
    ...recurringOf(order),
  };
}

/** What the provider has to know of a plan that it is to renew. */
function recurringOf({ plan_sale, user_id }: OrderRow): Pick<OrderFacts, "recurring"> {
  const sale = saleOf(plan_sale);
  if (!sale?.renews) return {};
  const { terms, version_id } = sale;
  return { recurring: { unit: terms.unit, count: terms.count, userId: user_id, versionId: version_id } };
}

export async function instanceOf(tools: OrderTools, id: number): Promise<Instance | undefined> {
  const row = await findInstance(tools.db, id);
  return row && openInstance(tools, row);
}

/** Who pays, how, and from where. */
export interface Wish extends Pick<NewOrder, "instance_id" | "method"> {
  readonly userId: number;
  readonly address: string;
}

/** What an order sells; frozen in it (requirements Y03). */
export interface Goods
  extends Pick<
    OrderInsert,
    "quota" | "giver_id" | "inviter_id" | "gift_quota" | "commission_micro" | "plan_sale"
  > {
  readonly yuanMinor: number;
  /** What the same order is recognized by. */
  readonly product: Readonly<Record<string, unknown>>;
}

/** Makes an order, or finds the one that waits for the same. Throws: AppError with the reason. */
export async function createOrder(tools: OrderTools, wish: Wish, goods: Goods): Promise<OrderRow> {
  if (tools.options.get("ServerAddress") === "")
    throw faults.refused("管理员尚未设置服务器地址，暂时无法在线支付");
  const instance = await instanceOf(tools, wish.instance_id);
  if (!instance?.isEnabled || !instance.methods.includes(wish.method))
    throw faults.refused("该支付方式不可用，请换一种");
  const draft = draftOf(tools, { wish, goods, instance });
  // One at a time per user, so that the bound on open orders holds.
  const made = await tools.coord.lock(`pay:${wish.userId}`, () => insertOrFind(tools, draft));
  if (!made) throw faults.refused("操作过于频繁，请稍后再试");
  return made.isNew ? askForPlace(tools, { order: made.order, instance, address: wish.address }) : made.order;
}

/** Quota for the wallet. Throws: AppError with the reason. */
export async function quotaGoods(
  tools: OrderTools,
  wish: Pick<NewOrder, "dollars" | "gift_code" | "team_id"> & { readonly userId: number },
): Promise<Goods> {
  const { db, options } = tools;
  const plan = options.get("TopUpPlans").find(({ dollars }) => dollars === wish.dollars);
  if (!plan) throw faults.refused("该套餐已下架，请刷新页面");
  const quotaPerUnit = options.get("QuotaPerUnit");
  const quota = Math.floor(plan.dollars * quotaPerUnit);
  if (!Number.isSafeInteger(quota) || quota <= 0) throw faults.refused("该套餐的额度有误，请联系管理员");
  // A wallet has no inviter.
  const user = wish.team_id === 0 ? await getUser(db, wish.userId) : undefined;
  const giver = await findAffOwner(db, wish.gift_code);
  if (wish.gift_code !== "" && giver?.status !== UserStatus.enabled) throw faults.refused("礼品码无效");
  if (giver?.id === wish.userId) throw faults.refused("不能使用自己的礼品码");
  const yuanMinor = minorOf(plan.yuan) ?? 0;
  return {
    yuanMinor,
    product: { dollars: plan.dollars, yuan: plan.yuan, quotaPerUnit },
    quota,
    giver_id: giver?.id ?? 0,
    inviter_id: user?.inviter_id ?? 0,
    gift_quota: giver ? Number(giftOf(BigInt(quota), options.get("GiftPercent"))) : 0,
    commission_micro: user === undefined ? 0 : payCommission(tools, user, { quota, yuanMinor }),
    plan_sale: "",
  };
}

/** Everything an order freezes (requirements Y03). */
export function draftOf(
  tools: OrderTools,
  { wish, goods, instance }: { wish: Wish; goods: Goods; instance: Instance },
): OrderInsert {
  const { yuanMinor, product, ...frozen } = goods;
  const price = priceOf(yuanMinor, instance);
  const nowSec = tools.clock.seconds();
  const { currency, id, feeBp, costBp, rate } = instance;
  return {
    ...frozen,
    ...boundColumns(tools),
    ...worthOf(price, instance),
    order_no: newOrderNo(nowSec),
    user_id: wish.userId,
    instance_id: id,
    method: wish.method,
    product: JSON.stringify({ ...product, feeBp, costBp, rate }),
    currency,
    amount_minor: price.amount,
    fee_minor: price.fee,
    status: "created",
    created_at: nowSec,
    expires_at: nowSec + EXPIRY_SEC,
    next_check: nowSec + CHECKS_SEC[0],
  };
}

async function insertOrFind(
  { db }: OrderTools,
  draft: OrderInsert,
): Promise<{ order: OrderRow; isNew: boolean }> {
  const open = await listOpenOrders(db, draft.user_id);
  const same = open.find(
    (order) =>
      order.product === draft.product &&
      order.instance_id === draft.instance_id &&
      order.method === draft.method &&
      order.giver_id === draft.giver_id &&
      order.expires_at > draft.created_at + 60,
  );
  if (same) return { order: same, isNew: false };
  // One that ended waits for the provider's word alone.
  const payable = open.filter(({ expires_at }) => expires_at > draft.created_at);
  if (payable.length >= MOST_OPEN) throw faults.refused(`最多有 ${MOST_OPEN} 个未付订单，请先付款或取消`);
  await checkPurchases(db, draft);
  await insertOrder(db, draft);
  return { order: await getOrder(db, draft.order_no), isNew: true };
}

/** Open orders count as well, or all of them could be paid. Throws: AppError when the user may buy the plan no more. */
async function checkPurchases(
  db: Tools["db"],
  { plan_sale = "", user_id, created_at }: OrderInsert,
): Promise<void> {
  const sale = saleOf(plan_sale);
  if (sale?.most === undefined) return;
  const sold = (await listSales(db, user_id, created_at)).filter(
    (text) => saleOf(text)?.plan_id === sale.plan_id,
  );
  if (sold.length >= sale.most)
    throw faults.refused(`该套餐每人最多购买 ${sale.most} 次，未付款的订单也计算在内`);
}

async function getOrder(db: Tools["db"], orderNo: string): Promise<OrderRow> {
  const row = await findOrder(db, orderNo);
  if (!row) throw faults.notFound("找不到该订单");
  return row;
}

/** Asks the provider where to pay. What it does not say is found out by asking again; the row stands already. */
async function askForPlace(
  tools: OrderTools,
  { order, instance, address }: { order: OrderRow; instance: Instance; address: string },
): Promise<OrderRow> {
  const { db, clock } = tools;
  const deps = depsOf(tools, instance, order.order_no);
  const made = await providerOf(instance).create(instance, factsOf(order, address), deps);
  await countUnclear(db, instance.id, made.kind !== "unclear");
  if (made.kind === "ready") {
    const { qr, url, session } = made;
    await setPending(db, order.order_no, JSON.stringify({ qr, url, session }));
  }
  if (made.kind === "refused") {
    await closeOrder(db, order.order_no, {
      nowSec: clock.seconds(),
      nextCheck: clock.seconds() + LATE_CHECKS_SEC[0],
    });
    tools.events.backgroundFailed({
      task: "payment order",
      error: new Error(`${instance.provider}: ${made.problem}`),
    });
    throw faults.refused("支付平台没有接受这个订单，请换一种支付方式或联系管理员");
  }
  return getOrder(db, order.order_no);
}

/** Asks the provider about an order and credits what it says was paid. `throttled` = it was asked a moment ago. */
export async function askOrder(
  tools: OrderTools,
  order: OrderRow,
  { kind, isUrgent = false }: { kind: "poll" | "admin"; isUrgent?: boolean },
): Promise<Asked["kind"] | "throttled" | "off"> {
  const { db, clock } = tools;
  const question = { nowSec: clock.seconds(), everySec: isUrgent ? 0 : ASK_EVERY_SEC };
  if (!(await takeQuestion(db, order.order_no, question))) return "throttled";
  const instance = await instanceOf(tools, order.instance_id);
  if (!instance) return "off";
  const deps = depsOf(tools, instance, order.order_no);
  const asked = await providerOf(instance).ask(instance, factsOf(order), deps);
  await countUnclear(db, instance.id, asked.kind !== "unclear" && asked.kind !== "odd");
  if (asked.kind === "paid") {
    const { payment } = asked;
    const key = `${payment.tradeNo}/${payment.amountMinor}`;
    await bringPayment(tools, instance, { payment, origin: { kind, key, body: "" } });
  }
  return asked.kind;
}

/**
 * Asks about an order whose page is looked at. Returns when the provider has spoken, or a moment later: a slow one holds up no page, and its
 * word counts all the same.
 */
export async function askForPage(tools: OrderTools, order: OrderRow): Promise<void> {
  const asked = askOrder(tools, order, { kind: "poll" }).catch((error: unknown) =>
    tools.events.backgroundFailed({ task: "payment question", error }),
  );
  await Promise.race([asked, sleep(PAGE_WAIT_MS, undefined, { ref: false })]);
}

/**
 * Ends an order: asks, closes it at the provider, asks again; only then it is closed here (requirements Y19), or when a provider that was asked
 * has said nothing clear for a day after its end. While its account is off the provider cannot be asked, and it stays open. Returns whether it is closed,
 * or was paid.
 */
export async function endOrder(tools: OrderTools, order: OrderRow): Promise<boolean> {
  const end = await endAtProvider(tools, order);
  if (end === "paid") return true;
  const nowSec = tools.clock.seconds();
  const isGivenUp = end === "unclear" && nowSec >= order.expires_at + UNCLEAR_SEC.most;
  if (end !== "over" && !isGivenUp) return false;
  return closeOrder(tools.db, order.order_no, { nowSec, nextCheck: nowSec + LATE_CHECKS_SEC[0] });
}

/** The same on an administrator's word: who closed it, and why, stands in its history. */
export async function endByHand(
  tools: OrderTools,
  order: OrderRow,
  why: { readonly actor_id: number; readonly reason: string },
): Promise<boolean> {
  if (!(await endOrder(tools, order))) return false;
  if ((await findOrder(tools.db, order.order_no))?.status === "closed")
    await insertEvent(tools.db, {
      instance_id: order.instance_id,
      kind: "admin",
      event_key: `admin/${order.order_no}/close`,
      order_no: order.order_no,
      verdict: "closed",
      is_open: 0,
      facts: JSON.stringify(why),
      body_sealed: "",
      created_at: tools.clock.seconds(),
    });
  return true;
}

/** `over` = it cannot be paid there any more; `off` = the provider could not be asked. */
async function endAtProvider(
  tools: OrderTools,
  order: OrderRow,
): Promise<"paid" | "over" | "unclear" | "off"> {
  const ask = () => askOrder(tools, order, { kind: "poll", isUrgent: true });
  const first = await ask();
  if (first === "paid") return "paid";
  if (first === "gone") return "over";
  const instance = await instanceOf(tools, order.instance_id);
  if (!instance) return "off";
  const deps = depsOf(tools, instance, order.order_no);
  if ((await providerOf(instance).close(instance, factsOf(order), deps)) === "unclear") return "unclear";
  const second = await ask();
  if (second === "open" || second === "gone") return "over";
  return second === "paid" || second === "off" ? second : "unclear";
}
