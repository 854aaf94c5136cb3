// The balances of a channel's keys: each is an account of its own, asked by its own way out, some at a time.
import {
  keysToAsk,
  noteKeyAsked,
  setKeyBalance,
  sumKeyBalances,
} from "#server/store/channel-key-balances.ts";
import type { SealedKeyRow } from "#server/store/channel-keys.ts";
import type { Tools } from "#server/tools.ts";
import { type BalanceAnswer, type BalanceParts, queryBalance } from "./balance-query.ts";
import type { Candidates } from "./candidates.ts";
import { channelIfReadable, KEY_UNREADABLE } from "./key-rings.ts";
import type { LiveChannel } from "./live-channel.ts";
import { inLanes, type Run, type RunParts, startRun } from "./run.ts";

export type KeyBalanceParts = BalanceParts & RunParts & Pick<Tools, "db" | "secrets">;

/** After so many the channel's sum is told. */
const SLICE = 200;

/** Queries the balance of a key, enabled or not, and stores it; the channel's sum stays as it is. */
export async function updateKeyBalance(
  ctx: BalanceParts & Pick<Tools, "db" | "secrets">,
  channel: LiveChannel,
  row: SealedKeyRow,
): Promise<BalanceAnswer> {
  const keyed = channelIfReadable(ctx, channel, row);
  const answer: BalanceAnswer =
    keyed === undefined ? { ok: false, message: KEY_UNREADABLE } : await queryBalance(ctx, keyed);
  const now = ctx.clock.seconds();
  if (!answer.ok) await noteKeyAsked(ctx.db, row.id, now);
  else {
    const { balance: amount, currency } = answer;
    await setKeyBalance(ctx.db, row.id, { amount, currency, now });
  }
  return answer;
}

/** What asking a part of a channel's keys came to. */
export interface Slice {
  readonly asked: number;
  readonly updated: number;
  /** The channel's balance now; undefined = nothing is known of any key. */
  readonly sum: number | undefined;
  /** Why the last one failed; "" = none did. */
  readonly problem: string;
}

/** Asks the keys that have waited longest, at most so many and none that was asked since (seconds), and sums up. */
export async function askKeys(
  ctx: KeyBalanceParts,
  channel: LiveChannel,
  { since, most }: { readonly since: number; readonly most: number },
): Promise<Slice> {
  const rows = await keysToAsk(ctx.db, channel.id, { since, most });
  let [updated, problem] = [0, ""];
  const askOne = async (row: SealedKeyRow) => {
    const answer = await updateKeyBalance(ctx, channel, row);
    if (answer.ok) updated += 1;
    else problem = answer.message;
  };
  await inLanes(ctx, rows, askOne);
  return { asked: rows.length, updated, sum: await sumKeyBalances(ctx.db, channel.id), problem };
}

function nameOf(channelId: number): string {
  return `key-balances-${channelId}`;
}

/** Whether all keys of the channel are being asked on any node. */
export function areKeysAsked({ coord }: Pick<Tools, "coord">, channelId: number): Promise<boolean> {
  return coord.isLocked(nameOf(channelId));
}

/** Asks all enabled keys of a channel in the background, unless that goes on already on any node: then false. `begin` as in `Run`. */
export function startKeyBalances(
  ctx: KeyBalanceParts & { readonly candidates: Candidates },
  channelId: number,
  begin?: Run["begin"],
): Promise<boolean> {
  const work = async () => {
    const since = ctx.clock.seconds();
    const total = { asked: 0, updated: 0 };
    for (;;) {
      const channel = ctx.candidates.byId(channelId);
      if (channel === undefined || ctx.stopping.aborted) break;
      const { asked, updated } = await askKeys(ctx, channel, { since, most: SLICE });
      total.asked += asked;
      total.updated += updated;
      if (asked < SLICE) break;
    }
    return `${total.asked} keys asked, ${total.updated} balances updated`;
  };
  return startRun(ctx, { name: nameOf(channelId), begin, work });
}
