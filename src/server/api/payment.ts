// Handlers: buying quota online. Orders are the payments room's, balances the ledger's.
import type { Language } from "#contract/language.ts";
import type { Order, PayMethod, paymentApi } from "#contract/payment.ts";
import { paymentProvider } from "#contract/payment-provider.ts";
import { mayInTeam } from "#contract/team-words.ts";
import type { Actor } from "#server/accounts/actors.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { LIMITS } from "#server/limits/table.ts";
import { say } from "#server/locale/sentences.ts";
import { saleOf } from "#server/money/order-books.ts";
import { openInstance } from "#server/payments/instances.ts";
import { askForPage, createOrder, endOrder, quotaGoods, refOf } from "#server/payments/orders.ts";
import { countOrders, findOrder, listOrders, type OrderRow } from "#server/store/orders.ts";
import { listInstances } from "#server/store/payment-instances.ts";
import { findMembership } from "#server/store/teams.ts";
import { debtOf } from "#server/store/users.ts";
import type { Handlers } from "./call.ts";
import { accountOf } from "./token-reach.ts";

export const payment: Handlers<{ payment: typeof paymentApi }>["payment"] = {
  async shop(ctx, { actor, language }) {
    const plans = [...ctx.options.get("TopUpPlans")];
    return { plans, methods: await methodsOf(ctx, language), debt: await debtOf(ctx.db, actor.id) };
  },

  async orders(ctx, { actor, query, language }) {
    const filter = { userId: (await payeeOf(ctx, actor, query.team_id)).userId };
    const labels = await labelsOf(ctx, language);
    const rows = await listOrders(ctx.db, filter, { page: query.p, size: query.size });
    return { data: rows.map((row) => presentOrder(row, labels)), total: await countOrders(ctx.db, filter) };
  },

  async create(ctx, { actor, body, address, language }) {
    await ctx.limits.count([{ limit: LIMITS.payCreate, subject: String(actor.id) }], address);
    const { userId } = await payeeOf(ctx, actor, body.team_id);
    if (body.team_id !== 0 && body.gift_code !== "") throw faults.refused("团队充值不能使用礼品码");
    const goods = await quotaGoods(ctx, { ...body, userId });
    const order = await createOrder(ctx, { ...body, userId, address }, goods);
    return { ...presentOrder(order, await labelsOf(ctx, language)), team_id: body.team_id };
  },

  async order(ctx, { actor, params, language }) {
    const { order, team_id } = await reachOrder(ctx, actor, params.no);
    if (isWaiting(order) && actor.viewer === undefined) await askForPage(ctx, order);
    const { order: asked } = await reachOrder(ctx, actor, params.no);
    return { ...presentOrder(asked, await labelsOf(ctx, language)), team_id };
  },

  async cancel(ctx, { actor, params, address, language }) {
    const { order, team_id } = await reachOrder(ctx, actor, params.no);
    await ctx.limits.count([{ limit: LIMITS.payCreate, subject: String(actor.id) }], address);
    if (isWaiting(order) && !(await endOrder(ctx, order)))
      throw faults.refused("支付平台暂时没有确认，订单尚未取消，请稍后再试");
    const { order: ended } = await reachOrder(ctx, actor, params.no);
    return { ...presentOrder(ended, await labelsOf(ctx, language)), team_id };
  },
};

/** The ways to pay that are open, called in a language. */
export async function methodsOf(ctx: Context, language: Language): Promise<PayMethod[]> {
  const instances = (await listInstances(ctx.db)).flatMap((row) => openInstance(ctx, row) ?? []);
  return instances
    .filter(({ isEnabled }) => isEnabled)
    .flatMap(({ id, provider, methods, currency, feeBp, rate }) =>
      methods.map((method) => ({
        instance_id: id,
        method,
        label: say(labelOf(provider, method), language),
        currency,
        fee_bp: feeBp,
        rate,
        renews: paymentProvider(provider).renewing?.includes(method) ?? false,
      })),
    );
}

/** Not known to be paid: a closed one may have been paid in the last second. */
export function isWaiting({ status }: Pick<OrderRow, "status">): boolean {
  return status === "created" || status === "pending" || status === "closed";
}

/** The account that gets what is bought: one's own, or the wallet of a team that one may pay into. */
function payeeOf(ctx: Context, actor: Actor, team: number) {
  return accountOf(ctx, actor, { team, right: "deposit" });
}

/** An order of one's own, or of a team that one may pay for. Another's is as unknown as none. */
async function reachOrder(
  { db }: Context,
  actor: Actor,
  orderNo: string,
): Promise<{ order: OrderRow; team_id: number }> {
  const order = await findOrder(db, orderNo);
  if (order?.user_id === actor.id) return { order, team_id: 0 };
  const team = order && (await findMembership(db, actor.id, { wallet: order.user_id }));
  if (!team || !mayInTeam(team.role, "deposit")) throw faults.notFound("找不到该订单");
  return { order, team_id: team.id };
}

/** What the way to pay of an order is called. */
export type Labels = (order: Pick<OrderRow, "instance_id" | "method">) => string;

/** The names of all ways to pay in a language; that of an account that is gone is the provider's own word. */
export async function labelsOf({ db }: Pick<Context, "db">, language: Language): Promise<Labels> {
  const providers = new Map((await listInstances(db)).map((row) => [row.id, row.provider]));
  return ({ instance_id, method }) => {
    // The column holds names of providers only.
    const provider = providers.get(instance_id) as Parameters<typeof labelOf>[0] | undefined;
    return provider === undefined ? method : say(labelOf(provider, method), language);
  };
}

function labelOf(provider: Parameters<typeof paymentProvider>[0], method: string): string {
  return paymentProvider(provider).methods[method] ?? method;
}

/** An order as its user sees it: where to pay only while it can be paid. */
export function presentOrder(row: OrderRow, labels: Labels): Order {
  const isOpen = row.status === "created" || row.status === "pending";
  const { qr, url } = isOpen ? refOf(row) : { qr: "", url: "" };
  return {
    id: row.id,
    order_no: row.order_no,
    method: row.method,
    label: labels(row),
    plan: saleOf(row.plan_sale)?.terms.name ?? "",
    quota: row.quota,
    currency: row.currency,
    amount_minor: row.amount_minor,
    fee_minor: row.fee_minor,
    status: row.status,
    is_in_review: row.review !== "",
    refunded_minor: row.refunded_minor,
    paid_minor: row.paid_minor,
    created_at: row.created_at,
    expires_at: row.expires_at,
    credited_at: row.credited_at,
    qr,
    url,
    team_id: 0,
  };
}
