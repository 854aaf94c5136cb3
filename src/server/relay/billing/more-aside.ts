// Sets more aside for a call that runs, and says in the words of its clients why there is no more (requirements M04, L08).
import type { LimitRefusal } from "#server/money/operations.ts";
import type { Caller } from "#server/relay/admission/admit.ts";
import { windowFault } from "#server/relay/admission/call-limits.ts";
import { localErrors } from "#server/relay/http/local-errors.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import type { BillingServices } from "./pricing.ts";

interface MoreAside {
  readonly requestId: string;
  readonly caller: Pick<Caller, "limits">;
  /** Unit: quota. */
  readonly more: bigint;
}

/** Returns why nothing more is set aside: the limit that is used up, or a wallet or a token; undefined = it is. Throws: StoreError. */
export async function setMoreAside(
  { ledger, options, clock }: Pick<BillingServices, "ledger" | "options" | "clock">,
  { requestId, caller, more }: MoreAside,
): Promise<RelayFault | undefined> {
  const zone = options.get("BudgetTimeZone");
  const refusals: LimitRefusal[] = [];
  const hear = (refusal: LimitRefusal) => refusals.push(refusal);
  if (await ledger.extend(requestId, more, { zone, hear })) return undefined;
  const [refusal] = refusals;
  if (refusal === undefined) return localErrors.quotaRanOut();
  return windowFault(caller, refusal, { zone, nowMs: clock.now() });
}
