// A genuine payment that names no order of ours, given to a user by an administrator: an order is made for it, and the payment is brought to
// that as any other, so that its number at the provider counts once (requirements Y15, Y21).
import { minorOf } from "#contract/money.ts";
import { dayOf } from "#contract/month.ts";
import { faults } from "#server/errors.ts";
import { orderTailOf } from "#server/secrets.ts";
import {
  type EventRow,
  findOrder,
  findOrderByTrade,
  insertOrderOnce,
  type OrderRow,
} from "#server/store/orders.ts";
import { getUser } from "#server/store/users.ts";
import { payCommission } from "./commission.ts";
import { changeOrder } from "./evidence.ts";
import { priceOf } from "./order-price.ts";
import { draftOf, type Goods, instanceOf, type OrderTools, quotaGoods } from "./orders.ts";
import { type Instance, isOwnOrder } from "./provider.ts";
import { bookEarly } from "./reversals.ts";

interface Orphan {
  readonly tradeNo: string;
  readonly amountMinor: number;
}

export interface Gift {
  readonly userId: number;
  readonly actorId: number;
  readonly reason: string;
}

/** Whether a notice is of a payment that waits for its order; others are of refunds, or of orders that are known. */
export function isOrphan({
  verdict,
  is_open,
  facts,
}: Pick<EventRow, "verdict" | "is_open" | "facts">): boolean {
  return is_open === 1 && verdict === "unknown_order" && factsOf(facts)["source"] === undefined;
}

function factsOf(text: string): Readonly<Record<string, unknown>> {
  // Written by bringOddity alone.
  return JSON.parse(text) as Readonly<Record<string, unknown>>;
}

/** What a notice says of a payment. Throws: AppError when it is about something else, or was dealt with. */
function orphanOf(event: EventRow, { currency: own }: Instance): Orphan {
  if (!isOrphan(event)) throw faults.refused("这条通知不是等待处理的付款");
  const { trade_no: tradeNo, amount_minor: amountMinor, currency } = factsOf(event.facts);
  if (typeof tradeNo !== "string" || tradeNo === "" || typeof amountMinor !== "number" || amountMinor <= 0)
    throw faults.refused("这条通知没有可用的交易号或金额");
  if (currency !== own) throw faults.refused("这笔付款的币种与支付渠道不符");
  return { tradeNo, amountMinor };
}

/** What a sum buys: the plan of that very price, else a part of the plan with the fewest dollars for its price. Throws: AppError. */
async function goodsFor(
  tools: OrderTools,
  { instance, amountMinor, userId }: { instance: Instance; amountMinor: number; userId: number },
): Promise<{ readonly goods: Goods; readonly feeMinor: number }> {
  const offers = tools.options
    .get("TopUpPlans")
    .map(({ dollars, yuan }) => ({ dollars, ...priceOf(minorOf(yuan) ?? 0, instance) }));
  const worst = offers.toSorted((a, b) => a.dollars * b.amount - b.dollars * a.amount)[0];
  const offer = offers.find(({ amount }) => amount === amountMinor) ?? worst;
  if (!offer) throw faults.refused("没有充值套餐，无法换算额度");
  const whole = await quotaGoods(tools, { dollars: offer.dollars, gift_code: "", team_id: 0, userId });
  const part = (total: number) => Number((BigInt(total) * BigInt(amountMinor)) / BigInt(offer.amount));
  const quota = part(whole.quota);
  if (quota <= 0 || !Number.isSafeInteger(quota)) throw faults.refused("这笔付款的金额无法换算成额度");
  const yuanMinor = part(whole.yuanMinor);
  const user = await getUser(tools.db, userId);
  const goods = {
    ...whole,
    quota,
    yuanMinor,
    commission_micro: payCommission(tools, user, { quota, yuanMinor }),
  };
  return { goods, feeMinor: part(offer.fee) };
}

/** The number that the provider knows the payment by, where it is free and one of ours; so later notices and refunds find the order. */
async function numberFor(tools: OrderTools, event: EventRow, tradeNo: string): Promise<string> {
  const { order_no: named, instance_id } = event;
  const isFree =
    isOwnOrder(named) && ((await findOrder(tools.db, named))?.instance_id ?? instance_id) === instance_id;
  const day = dayOf(event.created_at).replaceAll("-", "");
  return isFree ? named : `TG${day}${orderTailOf(`orphan/${instance_id}/${tradeNo}`)}`;
}

/** Credits an orphan to a user, once. Returns its order. Throws: AppError with the reason. */
export async function creditOrphan(tools: OrderTools, event: EventRow, gift: Gift): Promise<OrderRow> {
  const { db } = tools;
  const { userId, actorId, reason } = gift;
  const instance = await instanceOf(tools, event.instance_id);
  if (!instance) throw faults.refused("该支付渠道缺少密钥");
  const { tradeNo, amountMinor } = orphanOf(event, instance);
  const used = "这笔付款已经入账";
  if ((await findOrderByTrade(db, instance.id, tradeNo)) !== undefined) throw faults.refused(used);
  const { goods, feeMinor } = await goodsFor(tools, { instance, amountMinor, userId });
  const [method = ""] = instance.methods;
  const wish = { userId, instance_id: instance.id, method, address: "" };
  const orderNo = await numberFor(tools, event, tradeNo);
  await insertOrderOnce(db, {
    ...draftOf(tools, { wish, goods, instance }),
    order_no: orderNo,
    amount_minor: amountMinor,
    fee_minor: feeMinor,
    // Nothing is left to ask: it is paid.
    next_check: 0,
  });
  const order = await findOrder(db, orderNo);
  // Another administrator was faster, for another user.
  if (order?.user_id !== userId || order.amount_minor !== amountMinor) throw faults.refused(used);
  const { outcome } = await changeOrder(tools, order, {
    act: {
      verb: "prove",
      proof: { tradeNo, amountMinor, currency: instance.currency, paidSec: event.created_at },
    },
    origin: { kind: "admin", key: `orphan/${tradeNo}`, body: "" },
    facts: { trade_no: tradeNo, amount_minor: amountMinor, reason, actor_id: actorId },
  });
  if (outcome !== "credited" && outcome !== "review") throw faults.refused(used);
  await bookEarly(tools, instance, { orderNo, heardAs: event.order_no });
  return (await findOrder(db, orderNo)) ?? order;
}
