// What is left of the accounts of a channel's keys, and of the channel by their sum.
import { type Selectable, sql } from "kysely";
import { ChannelStatus } from "#contract/channel.ts";
import { yuanOfDollar } from "#contract/price-sheet.ts";
import { setChannelBalance } from "./channels.ts";
import type { Db } from "./db.ts";
import type { ChannelKeysTable } from "./tables-channels.ts";

type SealedKeyRow = Selectable<ChannelKeysTable>;

/** Notes what a key's provider said; `currency` is "" where it names none. Unit of `now`: seconds. */
export async function setKeyBalance(
  db: Db,
  keyId: number,
  { amount, currency, now }: { readonly amount: number; readonly currency: string; readonly now: number },
): Promise<void> {
  const told = { balance: amount, balance_currency: currency, balance_updated_time: now };
  await db
    .updateTable("channel_keys")
    .set({ ...told, balance_asked_time: now })
    .where("id", "=", keyId)
    .execute();
}

/** Notes that a key's provider was asked in vain: other keys come first now. Unit of `now`: seconds. */
export async function noteKeyAsked(db: Db, keyId: number, now: number): Promise<void> {
  await db.updateTable("channel_keys").set({ balance_asked_time: now }).where("id", "=", keyId).execute();
}

/** Enabled keys of a channel that were not asked since, those first that have waited longest. Unit of `since`: seconds. */
export function keysToAsk(
  db: Db,
  channelId: number,
  { since, most }: { readonly since: number; readonly most: number },
): Promise<SealedKeyRow[]> {
  return db
    .selectFrom("channel_keys")
    .selectAll()
    .where("channel_id", "=", channelId)
    .where("status", "=", ChannelStatus.enabled)
    .where("balance_asked_time", "<", since)
    .orderBy("balance_asked_time")
    .orderBy("id")
    .limit(most)
    .execute();
}

interface Part {
  readonly currency: string;
  readonly amount: number;
  readonly time: number;
}

/** Sets the balance of a channel to the sum of its enabled keys'. Returns it; undefined = nothing is known of any key, and it stays. */
export async function sumKeyBalances(db: Db, channelId: number): Promise<number | undefined> {
  const rows = await db
    .selectFrom("channel_keys")
    .select(({ fn }) => [
      "balance_currency as currency",
      sql<number>`SUM(CASE WHEN status = ${ChannelStatus.enabled} THEN balance ELSE 0 END)`.as("amount"),
      fn.max<number>("balance_updated_time").as("time"),
    ])
    .where("channel_id", "=", channelId)
    .where("balance_updated_time", ">", 0)
    .groupBy("balance_currency")
    .execute();
  if (rows.length === 0) return undefined;
  const parts = rows.map(({ currency, amount, time }) => ({
    currency,
    amount: Number(amount),
    time: Number(time),
  }));
  const amount = inOneCurrency(parts);
  await setChannelBalance(db, channelId, { amount, now: Math.max(...parts.map(({ time }) => time)) });
  return amount;
}

/** Accounts of one provider differ in currency at most between dollars and yuan; mixed ones are told in yuan. */
function inOneCurrency(parts: readonly Part[]): number {
  const isMixed = parts.filter(({ amount }) => amount !== 0).length > 1;
  const yuan = (currency: string) => (isMixed && currency === "USD" ? yuanOfDollar : 1);
  const sum = parts.reduce((total, { currency, amount }) => total + amount * yuan(currency), 0);
  // Rounds away the binary error of the addition.
  return Math.round(sum * 1e6) / 1e6;
}
