// What providers tell us. The account comes from the address alone; a notice that does not verify leaves nothing but a counter (requirements
// Y06, Y07).

import { findOrder } from "#server/store/orders.ts";
import { countRefused, findInstanceBySlug } from "#server/store/payment-instances.ts";
import { bringOddity, type Origin } from "./evidence.ts";
import { openInstance, providerOf } from "./instances.ts";
import { askOrder, depsOf, type OrderTools } from "./orders.ts";
import { bringPayment } from "./proofs.ts";
import type { CallbackRequest, Instance, Notice, Reply } from "./provider.ts";
import { lookAtSubscription } from "./renewal-looks.ts";
import { bringBounced, bringReversal } from "./reversals.ts";

/** The answer for a provider, after everything is stored; undefined = there is no such address. Throws: StoreError. */
export async function takeCallback(
  tools: OrderTools,
  slug: string,
  request: CallbackRequest,
): Promise<Reply | undefined> {
  const row = await findInstanceBySlug(tools.db, slug);
  const instance = row && openInstance(tools, row);
  if (!instance) return undefined;
  const provider = providerOf(instance);
  const notice = await provider.read(instance, request, depsOf(tools, instance, ""));
  tools.events.paymentNotice({
    instance: instance.id,
    verdict: notice.kind === "refused" ? notice.problem : notice.kind,
  });
  if (notice.kind === "refused") {
    // WeChat sends some that are wrong on purpose (requirements Y32).
    if (notice.problem !== "probe") await countRefused(tools.db, instance.id, tools.clock.seconds());
    return provider.refused;
  }
  // It could not be found out what is so: the provider tells again.
  if (notice.kind === "again") return { status: 503, body: "" };
  const isClear = await bring(tools, instance, { notice, request });
  return isClear ? provider.accepted : { status: 503, body: "" };
}

/** Returns whether everything is stored; else the provider has to tell again. */
async function bring(
  tools: OrderTools,
  instance: Instance,
  { notice, request }: { notice: Exclude<Notice, { kind: "refused" | "again" }>; request: CallbackRequest },
): Promise<boolean> {
  if (notice.kind === "ignored") return true;
  if (notice.kind === "bounced") {
    await bringBounced(tools, instance, notice);
    return true;
  }
  const body = request.method === "GET" ? request.query : Buffer.from(request.body).toString("utf8");
  const origin: Origin = { kind: "notify", key: notice.key, body };
  if (notice.kind === "subscription")
    return (await lookAtSubscription(tools, instance, { id: notice.id, origin })) !== "unclear";
  if (notice.kind === "paid") await bringPayment(tools, instance, { payment: notice.payment, origin });
  if (notice.kind === "reversed") await bringReversal(tools, instance, { reversal: notice.reversal, origin });
  if (notice.kind === "foreign")
    await bringOddity(tools, instance, {
      orderNo: notice.orderNo,
      verdict: "wrong_merchant",
      origin,
      facts: {},
    });
  if (notice.kind !== "look") return true;
  const order = await findOrder(tools.db, notice.orderNo);
  if (order?.instance_id === instance.id) await askOrder(tools, order, { kind: "poll", isUrgent: true });
  return true;
}
