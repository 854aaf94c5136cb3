// What is left of margins after what payments, plans and partners change: billionths of a dollar (requirements X13).
import type { MarginNet } from "#contract/margin.ts";
import type { PlanTerms } from "#contract/plan-terms.ts";
import { yuanOfDollar } from "#contract/price-sheet.ts";
import { type QuotaWorth, revenueOf } from "#server/money/earned.ts";
import { nearest } from "#server/money/price.ts";
import { parseRational } from "#server/money/rational.ts";
import { sumCommission, sumPaidIn, sumPlanUse } from "#server/store/earnings.ts";
import type { CostSpan } from "#server/store/margins.ts";
import { listInstances } from "#server/store/payment-instances.ts";
import type { Tools } from "#server/tools.ts";
import { settingsOf } from "./instances.ts";

const BILLION = 1_000_000_000n;
const MINOR_OF_UNIT = 100n;
const BASIS_POINTS = 10_000n;
const MICRO = 1_000_000n;

/** To the nearest, also below 0. */
function rounded(n: bigint, d: bigint): number {
  return n < 0n ? -nearest(-n, d) : nearest(n, d);
}

/** What the platforms keep of payments, less what users paid as fee. */
async function feesIn(db: Tools["db"], span: CostSpan): Promise<number> {
  const settings = new Map((await listInstances(db)).map((row) => [row.id, settingsOf(row)]));
  const paid = await sumPaidIn(db, [...settings.keys()], span);
  return paid.reduce((sum, { instance_id, kept, fee }) => {
    const { cost_bp = 0, rate = "1" } = settings.get(instance_id) ?? {};
    const taken = (BigInt(kept) * BigInt(cost_bp)) / BASIS_POINTS;
    const { n, d } = parseRational(rate);
    return sum + rounded((taken - BigInt(fee)) * BILLION * n, MINOR_OF_UNIT * d * BigInt(yuanOfDollar));
  }, 0);
}

/** What plans brought for what their calls used, at the price of a period through its quota, less the same quota at its face. */
async function plansIn(
  { db, clock }: Pick<Tools, "db" | "clock">,
  span: CostSpan,
  worth: QuotaWorth,
): Promise<number> {
  const uses = await sumPlanUse(db, span, clock.seconds());
  return uses.reduce((sum, { terms, quota, spent }) => {
    // Written by the plans' own handlers.
    const { price_minor } = JSON.parse(terms) as PlanTerms;
    const brought = nearest(
      BigInt(price_minor) * BigInt(spent) * BILLION,
      MINOR_OF_UNIT * BigInt(quota) * BigInt(yuanOfDollar),
    );
    return sum + brought - revenueOf(spent, worth);
  }, 0);
}

/** `margin` = of the calls of the span. */
export async function netOf(
  tools: Pick<Tools, "db" | "clock">,
  span: CostSpan,
  { margin, worth }: { readonly margin: number; readonly worth: QuotaWorth },
): Promise<MarginNet> {
  const fees = await feesIn(tools.db, span);
  const micro = await sumCommission(tools.db, span);
  const commission = rounded(BigInt(micro) * BILLION, MICRO * BigInt(yuanOfDollar));
  const plans = await plansIn(tools, span, worth);
  return { fees, commission, plans, margin: margin + plans - fees - commission };
}
