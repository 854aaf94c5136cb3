// The checker: computes every balance again from the ledger and the open reservations, and names what differs. Reads only.
import { sql } from "kysely";
import type { Db } from "#server/store/db.ts";

/** A stored number that is not what the ledger says. */
export interface Mismatch {
  readonly table: "users" | "tokens" | "channels";
  readonly id: number;
  readonly column: string;
  readonly stored: number;
  readonly expected: number;
}

/** Users audited by one statement, which sees one moment of the database. */
const PAGE = 500;

/** Audits everything (reliability E1–E5, E12). Goes page by page, so that it may run beside calls. */
export async function audit(db: Db): Promise<Mismatch[]> {
  const mismatches: Mismatch[] = [];
  for (let after = 0; ; ) {
    const range = await nextUsers(db, after);
    if (!range) break;
    mismatches.push(...(await auditUsers(db, range)), ...(await auditTokens(db, range)));
    after = range.last;
  }
  mismatches.push(...(await auditChannels(db)));
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

/** Stored and expected value of each column, side by side. */
type Pair = readonly [column: string, stored: number, expected: number];

function differing(table: Mismatch["table"], id: number, pairs: readonly Pair[]): Mismatch[] {
  return pairs
    .filter(([column, stored, expected]) => stored !== expected || (stored < 0 && column !== "quota"))
    .map(([column, stored, expected]) => ({ table, id, column, stored, expected }));
}

/** Whole number of a sum that may be absent, on both databases. */
function int(expression: string) {
  return sql.raw(`cast(coalesce(${expression}, 0) as bigint)`);
}

async function auditUsers(db: Db, { first, last }: UserRange): Promise<Mismatch[]> {
  const { rows } = await sql<
    Record<"id" | "quota" | "used" | "requests" | "credit" | "spent" | "calls" | "held", number>
  >`
    SELECT users.id AS id, users.quota AS quota, users.used_quota AS used, users.request_count AS requests,
      ${int("booked.credit")} AS credit, ${int("booked.spent")} AS spent, ${int("booked.calls")} AS calls,
      ${int("open.held")} AS held
    FROM users
    LEFT JOIN (
      SELECT user_id, sum(amount) AS credit, sum(CASE WHEN kind = 'consume' THEN -amount ELSE 0 END) AS spent,
        sum(CASE WHEN kind = 'consume' THEN 1 ELSE 0 END) AS calls
      FROM ledger WHERE user_id BETWEEN ${first} AND ${last} GROUP BY user_id
    ) AS booked ON booked.user_id = users.id
    LEFT JOIN (
      SELECT user_id, sum(amount) AS held FROM reservations WHERE user_id BETWEEN ${first} AND ${last} GROUP BY user_id
    ) AS open ON open.user_id = users.id
    WHERE users.id BETWEEN ${first} AND ${last} ORDER BY users.id`.execute(db);
  return rows.flatMap((row) =>
    differing("users", row.id, [
      ["quota", row.quota, row.credit - row.held],
      ["used_quota", row.used, row.spent],
      ["request_count", row.requests, row.calls],
    ]),
  );
}

async function auditTokens(db: Db, { first, last }: UserRange): Promise<Mismatch[]> {
  const { rows } = await sql<Record<"id" | "remain" | "used" | "credit" | "spent" | "held", number>>`
    SELECT tokens.id AS id, tokens.remain_quota AS remain, tokens.used_quota AS used,
      ${int("booked.credit")} AS credit, ${int("booked.spent")} AS spent, ${int("open.held")} AS held
    FROM tokens
    LEFT JOIN (
      SELECT token_id, sum(token_amount) AS credit, sum(CASE WHEN kind = 'consume' THEN -amount ELSE 0 END) AS spent
      FROM ledger WHERE user_id BETWEEN ${first} AND ${last} AND token_id <> 0 GROUP BY token_id
    ) AS booked ON booked.token_id = tokens.id
    LEFT JOIN (
      SELECT token_id, sum(amount) AS held FROM reservations WHERE token_limited = 1 GROUP BY token_id
    ) AS open ON open.token_id = tokens.id
    WHERE tokens.user_id BETWEEN ${first} AND ${last} ORDER BY tokens.id`.execute(db);
  return rows.flatMap((row) =>
    differing("tokens", row.id, [
      ["remain_quota", row.remain, row.credit - row.held],
      ["used_quota", row.used, row.spent],
    ]),
  );
}

async function auditChannels(db: Db): Promise<Mismatch[]> {
  const { rows } = await sql<Record<"id" | "used" | "spent", number>>`
    SELECT channels.id AS id, channels.used_quota AS used, ${int("booked.spent")} AS spent
    FROM channels
    LEFT JOIN (
      SELECT channel_id, sum(-amount) AS spent FROM ledger WHERE kind = 'consume' AND channel_id <> 0 GROUP BY channel_id
    ) AS booked ON booked.channel_id = channels.id
    ORDER BY channels.id`.execute(db);
  return rows.flatMap((row) => differing("channels", row.id, [["used_quota", row.used, row.spent]]));
}
