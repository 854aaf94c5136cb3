// Keeps what we know of a subscription and what the provider has of it together: asks on its notices and on a schedule, and tells it what a
// user has decided until it has confirmed that (requirements Z21, Z22).
import { UserStatus } from "#contract/user.ts";
import { DAY_SEC } from "#server/clock.ts";
import { faults } from "#server/errors.ts";
import { findOrder } from "#server/store/orders.ts";
import {
  findRenewal,
  findRenewalAt,
  type RenewalRow,
  setWish,
  updateRenewal,
} from "#server/store/plan-renewals.ts";
import { getUser } from "#server/store/users.ts";
import type { Origin } from "./evidence.ts";
import { providerOf } from "./instances.ts";
import { depsOf, instanceOf, type OrderTools } from "./orders.ts";
import { bringPayment } from "./proofs.ts";
import type { Instance, Payment, Subscription } from "./provider.ts";
import { nextCharge } from "./renewals.ts";

/** A provider makes an invoice when a period ends and takes the money an hour or so later; a refused card is tried for weeks. */
const CHECKS_SEC = [-3_600, 600, 4_500, 10_800, 43_200] as const;
/** A wish that the provider has not confirmed is told again after so long. */
const AGAIN_SEC = 60;

/** When a provider is asked about a subscription next: around the end of its period, and every day. Pure. Unit: seconds. */
export function nextLook({ next_at }: Pick<RenewalRow, "next_at">, nowSec: number): number {
  const planned = CHECKS_SEC.map((sec) => next_at + sec).filter((at) => at > nowSec);
  return Math.min(nowSec + DAY_SEC, ...planned);
}

/** Asks what is so of a subscription, and books what it has paid that we have not. `unclear` = it has to be asked again. */
export async function lookAtSubscription(
  tools: OrderTools,
  instance: Instance,
  { id, origin }: { readonly id: string; readonly origin: Pick<Origin, "kind" | "body"> },
): Promise<"done" | "unclear"> {
  const { db } = tools;
  const looked = await providerOf(instance).renewing?.look(instance, id, depsOf(tools, instance, ""));
  if (looked === undefined) return "done";
  if (looked.kind === "unclear") return "unclear";
  if (looked.kind === "gone") {
    await copy(tools, await findRenewalAt(db, instance.id, id), undefined);
    return "done";
  }
  const { subscription, payments } = looked;
  // First whether it has ended: what is paid afterwards waits for a person.
  await copy(tools, await findRenewalAt(db, instance.id, id), subscription);
  for (const payment of payments) await bring(tools, instance, { payment, origin });
  // The first payment makes it known.
  await copy(tools, await findRenewalAt(db, instance.id, id), subscription);
  return "done";
}

async function bring(
  tools: OrderTools,
  instance: Instance,
  { payment, origin }: { readonly payment: Payment; readonly origin: Pick<Origin, "kind" | "body"> },
): Promise<void> {
  const order = await findOrder(tools.db, payment.orderNo);
  const isKnown = order?.instance_id === instance.id && order.trade_no === payment.tradeNo;
  const renewal = await findRenewalAt(tools.db, instance.id, payment.invoice?.subscription ?? "");
  if (isKnown && renewal && renewal.next_at >= (payment.invoice?.endsAt ?? 0)) return;
  const key = `${payment.tradeNo}/${payment.amountMinor}`;
  await bringPayment(tools, instance, { payment, origin: { ...origin, key } });
}

/** Takes over what the provider says; `undefined` = it has no such subscription any more. */
async function copy(
  { db, clock }: OrderTools,
  renewal: RenewalRow | undefined,
  subscription: Subscription | undefined,
): Promise<void> {
  if (!renewal || renewal.ended_at > 0) return;
  if (!subscription || subscription.status === "ended") {
    const ended_at = subscription?.endedAt || clock.seconds();
    await updateRenewal(db, renewal.id, { status: "ended", renews: 0, is_told: 1, ended_at, next_check: 0 });
    return;
  }
  const { status, renews } = subscription;
  await updateRenewal(db, renewal.id, {
    status,
    ...(status === "active" && { failed_told: 0 }),
    // A wish of the user's that is still to be told goes first.
    ...(renewal.is_told === 1 && { renews: renews ? 1 : 0 }),
  });
}

/** Whether a renewal is to go on: not for a user who is gone, nor for a period whose money went back. */
async function goesOn({ db }: OrderTools, renewal: RenewalRow, endedAt: number): Promise<boolean> {
  if (renewal.renews === 0 || endedAt > 0) return false;
  const { status } = await getUser(db, renewal.user_id);
  return status !== UserStatus.deleted;
}

/** Tells the provider what it is to charge, and whether at all, where that differs from what it has confirmed. */
export async function tellProvider(tools: OrderTools, id: number): Promise<void> {
  await tools.coord.lock(`renewal:${id}`, () => tell(tools, id));
}

async function tell(tools: OrderTools, id: number): Promise<void> {
  const { db, clock } = tools;
  const renewal = await findRenewal(db, id);
  if (!renewal || renewal.ended_at > 0) return;
  const [next, instance] = [await nextCharge(tools, renewal), await instanceOf(tools, renewal.instance_id)];
  if (!next || !instance) return;
  const renews = await goesOn(tools, renewal, next.period?.ended_at ?? 0);
  const isSame = renewal.is_told === 1 && renews === (renewal.renews === 1);
  if (isSame && next.versionId === renewal.version_id) return;
  // Noted before it is told: who dies in between tells it again.
  await updateRenewal(db, id, {
    renews: renews ? 1 : 0,
    is_told: 0,
    next_check: clock.seconds() + AGAIN_SEC,
  });
  const { unit, count } = next.terms;
  const { versionId, amountMinor } = next;
  const wish = {
    renews,
    amountMinor,
    currency: renewal.currency,
    unit,
    count,
    userId: renewal.user_id,
    versionId,
  };
  const told = await providerOf(instance).renewing?.change(
    instance,
    { id: renewal.provider_id, wish },
    depsOf(tools, instance, ""),
  );
  if (told === "gone") await copy(tools, renewal, undefined);
  if (told !== "done") return;
  await updateRenewal(db, id, {
    is_told: 1,
    version_id: versionId,
    amount_minor: amountMinor,
    next_check: nextLook(renewal, clock.seconds()),
  });
}

/** A user cancels a renewal, or takes that back. Told at once, and again until it is confirmed. */
export async function decideRenewal(
  tools: OrderTools,
  { id, renews }: { readonly id: number; readonly renews: boolean },
): Promise<void> {
  await setWish(tools.db, id, { renews: renews ? 1 : 0, nowSec: tools.clock.seconds() });
  await tellProvider(tools, id);
}

/** How long a payer takes to change a card; then the provider is asked, so that it counts soon. */
const CARD_SEC = 600;

/** Where the payer changes the card of a renewal, on a page of the provider's. Throws: AppError with what to do. */
export async function cardPageOf(tools: OrderTools, renewal: RenewalRow): Promise<string> {
  const instance = await instanceOf(tools, renewal.instance_id);
  const renewing = instance && providerOf(instance).renewing;
  if (!renewing) throw faults.refused("该支付渠道暂时不能更换银行卡");
  const deps = {
    ...depsOf(tools, instance, ""),
    returnUrl: `${tools.options.get("ServerAddress")}/subscription`,
  };
  const page = await renewing.cardPage(instance, renewal.provider_id, deps);
  if (page.kind === "ready") {
    await updateRenewal(tools.db, renewal.id, { next_check: tools.clock.seconds() + CARD_SEC });
    return page.url;
  }
  if (page.kind === "gone") throw faults.refused("支付平台上的订阅已经结束，可重新购买套餐");
  const error = new Error(`${instance.provider}: ${page.problem}`);
  tools.events.backgroundFailed({ task: "card page", error });
  throw faults.refused("支付平台没有给出更换银行卡的页面，请稍后再试或联系管理员");
}

/** One whose time has come: the wish first, then the question. Never throws. */
export async function pollRenewal(tools: OrderTools, renewal: RenewalRow): Promise<void> {
  try {
    const nowSec = tools.clock.seconds();
    await updateRenewal(tools.db, renewal.id, { next_check: nextLook(renewal, nowSec) });
    await tellProvider(tools, renewal.id);
    const instance = await instanceOf(tools, renewal.instance_id);
    if (!instance) return;
    const origin = { kind: "poll", body: "" } as const;
    const looked = await lookAtSubscription(tools, instance, { id: renewal.provider_id, origin });
    if (looked === "unclear") await updateRenewal(tools.db, renewal.id, { next_check: nowSec + AGAIN_SEC });
  } catch (error) {
    tools.events.backgroundFailed({ task: "renewal question", error });
  }
}
