// The checker: computes every balance again from the ledger, the open reservations and what was used before an import, and
// names what differs. Reads only.
import { type RawBuilder, sql } from "kysely";
import type { Db } from "#server/store/db.ts";
import { checkLimits } from "./ledger-check-limits.ts";
import { checkPartners } from "./ledger-check-partner.ts";
import { checkPlans } from "./ledger-check-plans.ts";
import { lookAtOrders } from "./orders-look.ts";
import type { Mismatch } from "./rows.ts";

/** Users checked by one statement, which sees one moment of the database. */
const PAGE = 500;

/** Every entry of the ledger, or the sums of sums.ts and the entries after them. */
export type CheckBasis = "entries" | "sums";

/** Checks all balances (requirements E1–E5, E7–E9, E12). Goes page by page, so that it may run beside calls. */
export async function checkLedger(db: Db, basis: CheckBasis = "entries"): Promise<Mismatch[]> {
  const mismatches: Mismatch[] = [];
  for (let after = 0; ; ) {
    const range = await nextUsers(db, after);
    if (!range) break;
    mismatches.push(...(await checkUsers(db, range, basis)), ...(await checkTokens(db, range, basis)));
    after = range.last;
  }
  mismatches.push(
    ...(await checkTeamTokens(db, basis)),
    ...(await checkChannels(db, basis)),
    ...(await checkPartners(db)),
    ...(await lookAtOrders(db, basis)).mismatches,
  );
  if (basis === "entries") mismatches.push(...(await checkLimits(db)), ...(await checkPlans(db)));
  return mismatches;
}

interface UserRange {
  readonly first: number;
  readonly last: number;
}

async function nextUsers(db: Db, after: number): Promise<UserRange | undefined> {
  const rows = await db
    .selectFrom("users")
    .select("id")
    .where("id", ">", after)
    .orderBy("id")
    .limit(PAGE)
    .execute();
  const [first, last] = [rows[0], rows.at(-1)];
  return first && last ? { first: first.id, last: last.id } : undefined;
}

/** Stored and expected value of each column, side by side, and how low it may be where that is not 0. */
type Pair = readonly [column: string, stored: number, expected: number, least?: number];

function differing(table: Mismatch["table"], id: number, pairs: readonly Pair[]): Mismatch[] {
  return pairs.flatMap(([column, stored, expected, least = 0]) => {
    if (stored !== expected) return [{ table, id, column, stored, expected }];
    return stored < least ? [{ table, id, column, stored, expected: least }] : [];
  });
}

/** Whole number of a sum that may be absent, on both databases. */
function int(expression: string) {
  return sql.raw(`cast(coalesce(${expression}, 0) as bigint)`);
}

/** What a row had used before it was imported. */
function opened(column: "used_quota" | "request_count") {
  return int(`openings.${column}`);
}

/** Balances that were imported below zero stay so until an administrator raises them; the ledger drives none there (decision 014). */
function least(scope: "user" | "token", balance: "quota" | "remain_quota") {
  const opened = scope === "user" ? "amount" : "token_amount";
  return sql.raw(`CASE WHEN ${scope}s.${balance} < 0 THEN
    (SELECT cast(coalesce(min(${opened}), 0) as bigint) FROM ledger WHERE request_id = 'import-${scope}-' || ${scope}s.id)
    ELSE 0 END`);
}

function openings(scope: "user" | "token" | "channel") {
  return sql.raw(`LEFT JOIN openings ON openings.scope = '${scope}' AND openings.id = ${scope}s.id`);
}

/** What is summed up already; joined in either case, with no row when every entry is read. */
function summed(basis: CheckBasis, scope: "user" | "token" | "channel") {
  const match = basis === "sums" ? `base.scope = '${scope}' AND base.id = ${scope}s.id` : "1 = 0";
  return sql.raw(`LEFT JOIN ledger_sums AS base ON ${match}`);
}

/** The entries that are not. They are the newest: by their id they are found at once, by their user they are not. */
function entriesOf(basis: CheckBasis, range?: UserRange) {
  const rest = basis === "sums" ? sql`id > (SELECT last_id FROM ledger_sums_head)` : sql`id > 0`;
  if (!range) return rest;
  const user = sql.raw(basis === "sums" ? "+user_id" : "user_id");
  return sql`${rest} AND ${user} BETWEEN ${range.first} AND ${range.last}`;
}

async function checkUsers(db: Db, range: UserRange, basis: CheckBasis): Promise<Mismatch[]> {
  const { first, last } = range;
  const { rows } = await sql<
    Record<"id" | "quota" | "least" | "used" | "requests" | "credit" | "spent" | "calls" | "held", number>
  >`
    SELECT users.id AS id, users.quota AS quota, ${least("user", "quota")} AS least,
      users.used_quota AS used, users.request_count AS requests,
      ${int("base.credit")} + ${int("booked.credit")} AS credit,
      ${opened("used_quota")} + ${int("base.spent")} + ${int("booked.spent")} AS spent,
      ${opened("request_count")} + ${int("base.calls")} + ${int("booked.calls")} AS calls, ${int("open.held")} AS held
    FROM users ${openings("user")} ${summed(basis, "user")}
    LEFT JOIN (
      SELECT user_id, sum(amount) AS credit, sum(CASE WHEN kind = 'consume' THEN plan_amount - amount ELSE 0 END) AS spent,
        sum(CASE WHEN kind = 'consume' THEN 1 ELSE 0 END) AS calls
      FROM ledger WHERE ${entriesOf(basis, range)} GROUP BY user_id
    ) AS booked ON booked.user_id = users.id
    LEFT JOIN (
      SELECT user_id, sum(amount - plan_amount) AS held FROM reservations WHERE user_id BETWEEN ${first} AND ${last} GROUP BY user_id
    ) AS open ON open.user_id = users.id
    WHERE users.id BETWEEN ${first} AND ${last} ORDER BY users.id`.execute(db);
  return rows.flatMap((row) =>
    differing("users", row.id, [
      ["quota", row.quota, row.credit - row.held, row.least],
      ["used_quota", row.used, row.spent],
      ["request_count", row.requests, row.calls],
    ]),
  );
}

/** Tokens that their users pay for: all their entries name the user. */
function checkTokens(db: Db, range: UserRange, basis: CheckBasis): Promise<Mismatch[]> {
  const { first, last } = range;
  return differingTokens(db, basis, {
    entries: entriesOf(basis, range),
    tokens: sql`tokens.wallet_id = 0 AND tokens.user_id BETWEEN ${first} AND ${last}`,
  });
}

/** Tokens that teams pay for: they may have been a person's before, and another's (requirements O01). */
async function checkTeamTokens(db: Db, basis: CheckBasis): Promise<Mismatch[]> {
  const tokens = sql`tokens.wallet_id <> 0`;
  const { rows } = await sql`SELECT 1 FROM tokens WHERE ${tokens} LIMIT 1`.execute(db);
  if (rows.length === 0) return [];
  const entries = sql`${entriesOf(basis)} AND token_id IN (SELECT id FROM tokens WHERE ${tokens})`;
  return differingTokens(db, basis, { entries, tokens });
}

async function differingTokens(
  db: Db,
  basis: CheckBasis,
  { entries, tokens }: Record<"entries" | "tokens", RawBuilder<unknown>>,
): Promise<Mismatch[]> {
  const { rows } = await sql<
    Record<"id" | "remain" | "least" | "used" | "credit" | "spent" | "held", number>
  >`
    SELECT tokens.id AS id, tokens.remain_quota AS remain, ${least("token", "remain_quota")} AS least,
      tokens.used_quota AS used,
      ${int("base.credit")} + ${int("booked.credit")} AS credit,
      ${opened("used_quota")} + ${int("base.spent")} + ${int("booked.spent")} AS spent, ${int("open.held")} AS held
    FROM tokens ${openings("token")} ${summed(basis, "token")}
    LEFT JOIN (
      SELECT token_id, sum(token_amount) AS credit,
        sum(CASE WHEN kind = 'consume' THEN plan_amount - amount ELSE 0 END) AS spent
      FROM ledger WHERE ${entries} AND token_id <> 0 GROUP BY token_id
    ) AS booked ON booked.token_id = tokens.id
    LEFT JOIN (
      SELECT token_id, sum(amount) AS held FROM reservations WHERE token_limited = 1 GROUP BY token_id
    ) AS open ON open.token_id = tokens.id
    WHERE ${tokens} ORDER BY tokens.id`.execute(db);
  return rows.flatMap((row) =>
    differing("tokens", row.id, [
      ["remain_quota", row.remain, row.credit - row.held, row.least],
      ["used_quota", row.used, row.spent],
    ]),
  );
}

async function checkChannels(db: Db, basis: CheckBasis): Promise<Mismatch[]> {
  const { rows } = await sql<Record<"id" | "used" | "spent", number>>`
    SELECT channels.id AS id, channels.used_quota AS used,
      ${opened("used_quota")} + ${int("base.spent")} + ${int("booked.spent")} AS spent
    FROM channels ${openings("channel")} ${summed(basis, "channel")}
    LEFT JOIN (
      SELECT channel_id, sum(plan_amount - amount) AS spent FROM ledger
      WHERE ${entriesOf(basis)} AND kind = 'consume' AND channel_id <> 0 GROUP BY channel_id
    ) AS booked ON booked.channel_id = channels.id
    ORDER BY channels.id`.execute(db);
  return rows.flatMap((row) => differing("channels", row.id, [["used_quota", row.used, row.spent]]));
}
