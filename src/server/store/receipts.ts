// What is known of one call by its request id: the ledger's entry, the reservation that is still open, the entry of the log.
import { sql } from "kysely";
import { LogType } from "#contract/log.ts";
import type { Db } from "./db.ts";
import { idRange } from "./log-spans.ts";
import type { LogRow } from "./logs.ts";

export interface CallOf {
  readonly userId: number;
  readonly requestId: string;
}

/** The charge of a call; undefined = none of this user's. A team's wallet pays for a call that is its member's. */
export function findCharge(db: Db, { userId, requestId }: CallOf) {
  return db
    .selectFrom("ledger")
    .leftJoin("tokens", "tokens.id", "ledger.token_id")
    .select(["ledger.created_at", "ledger.amount", "plan_amount", "shortfall", "detail", "token_id"])
    .where("request_id", "=", requestId)
    .where((is) => is.or([is("ledger.user_id", "=", userId), is("tokens.user_id", "=", userId)]))
    .where("kind", "=", "consume")
    .executeTakeFirst();
}

/** What a running call has set aside. */
export function findReservation(db: Db, { userId, requestId }: CallOf) {
  return db
    .selectFrom("reservations")
    .leftJoin("tokens", "tokens.id", "reservations.token_id")
    .select(["reservations.created_at", "reservations.amount", "model_name", "token_id"])
    .where("request_id", "=", requestId)
    .where((is) => is.or([is("reservations.user_id", "=", userId), is("tokens.user_id", "=", userId)]))
    .executeTakeFirst();
}

/** The log's entry of a call that was written between two moments, seconds. */
export async function findCallLog(
  db: Db,
  { userId, requestId }: CallOf,
  { from, to }: { from: number; to: number },
): Promise<LogRow | undefined> {
  // The request id has no index: the ids of the time bound what is read.
  const range = await idRange(db, from, to);
  if (!range) return undefined;
  const of = db
    .selectFrom("logs")
    .selectAll()
    .where("id", ">=", range.first)
    .where("id", "<=", range.last)
    .where("type", "in", [LogType.consume, LogType.error])
    .where("request_id", "=", requestId);
  const own = await of.where("user_id", "=", userId).executeTakeFirst();
  if (own) return own;
  // One after the other, since each has an index: that of members begins with the wallet, which is one of a team.
  return of
    .where("user_id", "in", db.selectFrom("teams").select("wallet_id"))
    .where("member_id", "=", userId)
    .where("member_id", ">", sql.lit(0))
    .executeTakeFirst();
}

/** The name of a token, deleted or not; "" = there is none. */
export async function tokenNameOf(db: Db, id: number): Promise<string> {
  const row = await db.selectFrom("tokens").select("name").where("id", "=", id).executeTakeFirst();
  return row?.name ?? "";
}
