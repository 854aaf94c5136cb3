// Which groups a token may try (requirements K15): those of the account that pays, and those that the operator opens to all.
import { mayUseGroup } from "#contract/group.ts";
import { lendersOf, planGraceSec } from "#server/accounts/caller-scope.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { termsOf } from "#server/money/plan-row-codec.ts";
import { findLivePeriods } from "#server/store/plans.ts";
import { groupOfAccount } from "#server/store/users.ts";

type Parts = Pick<Context, "db" | "options" | "clock">;

/** What may be chosen for the tokens that this account pays for, the account's own groups first. */
export async function openGroups(ctx: Parts, payerId: number) {
  const usable = ctx.options.get("UserUsableGroups");
  const ratios = ctx.options.get("GroupRatio");
  const own = await ownGroups(ctx, payerId);
  const open = Object.keys(usable).filter((name) => mayUseGroup(name, own, { usable, ratios }));
  const names = [...new Set([...own, ...open])];
  return Object.fromEntries(
    names.map((name) => [name, { ratio: entryOf(ratios, name) ?? 1, desc: entryOf(usable, name) ?? "" }]),
  );
}

/** Throws: when one of them is not open to this account. */
export async function refuseGroups(
  ctx: Parts,
  payerId: number,
  chosen: readonly string[] | undefined,
): Promise<void> {
  if (chosen === undefined || chosen.length === 0) return;
  const open = await openGroups(ctx, payerId);
  const wrong = chosen.find((name) => !Object.hasOwn(open, name));
  if (wrong !== undefined) throw faults.refused(`不能使用分组“${wrong}”`);
}

/** Of a user, or of the wallet of a team; with those that its plans lend now. */
async function ownGroups({ db, clock, options }: Parts, payerId: number): Promise<string[]> {
  const nowSec = clock.seconds();
  const periods = await findLivePeriods(db, payerId, nowSec - planGraceSec(options));
  const lent = lendersOf(periods, nowSec).map(({ terms }) => termsOf(terms).lent_group);
  return [(await groupOfAccount(db, payerId)) || "default", ...lent.filter((name) => name !== "")];
}

/** `constructor` and the like are no groups. */
function entryOf<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
