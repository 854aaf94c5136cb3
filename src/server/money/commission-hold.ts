// Commission that is too new to be paid out: a payment can still be taken back (requirements Y54). Derived from the orders it came from, so
// that nothing has to be released, and a refund takes it from there first.
import { DAY_SEC } from "#server/clock.ts";
import type { Options } from "#server/options.ts";
import type { Db } from "#server/store/db.ts";
import { sumHeldCommission } from "#server/store/payouts.ts";

/** What is held of a user's commission now, millionths of a yuan; never more than refunds have left of it. */
export async function commissionHeld(
  {
    db,
    options,
    clock,
  }: { readonly db: Db; readonly options: Options; readonly clock: { seconds(): number } },
  userId: number,
): Promise<bigint> {
  const days = Number(options.get("CommissionHoldDays"));
  if (days === 0) return 0n;
  return BigInt(await sumHeldCommission(db, userId, clock.seconds() - days * DAY_SEC));
}
