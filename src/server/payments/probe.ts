// Tests a merchant account: a question about an order that does not exist, to which a provider that takes the account has a clear answer.
import type { InstanceProbe } from "#contract/payment-admin.ts";
import { countUnclear, type InstanceRow } from "#server/store/payment-instances.ts";
import { openInstance, providerOf } from "./instances.ts";
import { depsOf, newOrderNo, type OrderTools } from "./orders.ts";

/** Never throws for what the provider does. An answer counts as any other does for whether the account is in trouble. */
export async function probeInstance(tools: OrderTools, row: InstanceRow): Promise<InstanceProbe> {
  const instance = openInstance(tools, row);
  if (!instance) return { verdict: "incomplete", problem: "" };
  const orderNo = newOrderNo(tools.clock.seconds());
  const probed = await providerOf(instance).probe(instance, orderNo, depsOf(tools, instance, orderNo));
  await countUnclear(tools.db, row.id, probed.kind !== "unclear");
  return { verdict: probed.kind, problem: probed.kind === "accepted" ? "" : probed.problem };
}
