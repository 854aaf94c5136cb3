// Up to what sum one super administrator alone may vouch for a payment (requirements Y39). Who raises that sum gains nothing by it for a day,
// in which the others can see it in the audit log.
import type { OptionKey } from "#contract/option.ts";
import { DAY_SEC } from "#server/clock.ts";
import { listDetails } from "#server/store/audit.ts";
import type { Tools } from "#server/tools.ts";

const LIMIT = "ManualOrderLimitYuan" satisfies OptionKey;

/** The smallest limit that stood in the last 24 hours, in yuan; 0 = none did. */
export async function manualLimitYuan({
  db,
  options,
  clock,
}: Pick<Tools, "db" | "options" | "clock">): Promise<number> {
  const since = clock.seconds() - DAY_SEC;
  const details = await listDetails(db, { action: "option.update", target: LIMIT, since });
  const earlier = details.map((detail) => {
    // Written by the handler of options, with what it replaced where that was another value.
    const { before } = JSON.parse(detail) as { readonly before?: { readonly value?: string } };
    return Number(before?.value ?? 0);
  });
  const limits = [options.get(LIMIT), ...earlier].filter((limit) => limit > 0);
  return limits.length === 0 ? 0 : Math.min(...limits);
}
