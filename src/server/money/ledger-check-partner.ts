// The checker's part for the partner plan: commissions, used codes and gifts against the ledger. Reads only, and only what
// differs leaves the database.
import { type RawBuilder, sql } from "kysely";
import { RedemptionStatus } from "#contract/redemption.ts";
import type { Db } from "#server/store/db.ts";
import type { Mismatch } from "./rows.ts";

/** Checks commissions, codes, gifts and debts (requirements E7–E9, E14, Z23). */
export async function checkPartners(db: Db): Promise<Mismatch[]> {
  const found = await Promise.all([
    checkCommissions(db),
    checkCodes(db),
    checkGifts(db),
    checkDebts(db),
    checkCommissionDebts(db),
  ]);
  return found.flat();
}

type Difference = Pick<Mismatch, "id" | "stored" | "expected">;

async function read<Row>(db: Db, query: RawBuilder<Row>): Promise<Row[]> {
  return (await query.execute(db)).rows;
}

/** E9: what the plan owes = all it ever owed more − what was paid or corrected. */
async function checkCommissions(db: Db): Promise<Mismatch[]> {
  const rows = await read(
    db,
    sql<Difference>`
    SELECT users.id AS id, users.invite_commission_micro AS stored, cast(coalesce(booked.micro, 0) as bigint) AS expected
    FROM users LEFT JOIN (
      SELECT user_id, sum(yuan_micro) AS micro FROM ledger WHERE yuan_micro <> 0 GROUP BY user_id
    ) AS booked ON booked.user_id = users.id
    WHERE users.invite_commission_micro <> coalesce(booked.micro, 0) ORDER BY users.id`,
  );
  return rows.map((row) => ({ table: "users", column: "invite_commission_micro", ...row }));
}

/**
 * E7: each used code has one entry of its user over its quota, each other code none. Codes that were imported as used name
 * no user: their quota is part of the balance that was imported.
 */
async function checkCodes(db: Db): Promise<Mismatch[]> {
  const used = sql.lit(RedemptionStatus.used);
  const rows = await read(
    db,
    sql<{
      id: number;
      status: number;
      quota: number;
      user_id: number;
      amount: number | null;
      booked_for: number | null;
    }>`
    SELECT codes.id AS id, codes.status AS status, codes.quota AS quota, codes.used_user_id AS user_id,
      entries.amount AS amount, entries.user_id AS booked_for
    FROM redemptions AS codes LEFT JOIN ledger AS entries
      ON entries.redemption_id = codes.id AND entries.kind = 'redeem'
    WHERE (entries.id IS NULL AND codes.status = ${used} AND codes.used_user_id <> 0)
      OR (entries.id IS NOT NULL AND (codes.status <> ${used} OR codes.quota <> entries.amount
        OR codes.used_user_id <> entries.user_id))
    ORDER BY codes.id`,
  );
  return rows.map(({ id, status, quota, user_id, amount, booked_for }) => {
    if (amount === null || booked_for === null || status !== RedemptionStatus.used)
      return {
        table: "redemptions",
        id,
        column: "status",
        stored: status,
        expected: amount === null ? RedemptionStatus.unused : RedemptionStatus.used,
      };
    return quota === amount
      ? { table: "redemptions", id, column: "used_user_id", stored: user_id, expected: booked_for }
      : { table: "redemptions", id, column: "quota", stored: quota, expected: amount };
  });
}

/** E8: a gift code brings exactly two parts, rounded down, of the percentage that its entries name; those without one are of 5 %. */
async function checkGifts(db: Db): Promise<Mismatch[]> {
  const percent = sql`CASE WHEN gifts.detail = '' THEN 5 ELSE cast(replace(gifts.detail, '%', '') AS bigint) END`;
  const part = sql`redeemed.amount * (${percent}) / 100`;
  const rows = await read(
    db,
    sql<Difference>`
    SELECT gifts.redemption_id AS id, cast(sum(gifts.amount) as bigint) AS stored,
      cast(2 * (max(${part})) as bigint) AS expected
    FROM ledger AS gifts LEFT JOIN ledger AS redeemed
      ON redeemed.redemption_id = gifts.redemption_id AND redeemed.kind = 'redeem'
    WHERE gifts.kind = 'gift' AND gifts.redemption_id <> 0 GROUP BY gifts.redemption_id
    HAVING count(*) <> 2 OR min(gifts.amount) <> max(${part}) OR max(gifts.amount) <> max(${part})
    ORDER BY gifts.redemption_id`,
  );
  return rows.map((row) => ({ table: "redemptions", column: "gift", ...row }));
}

/** The users who may owe something: few, so that only their entries are read. */
const CONCERNED = sql.raw(`SELECT id FROM users WHERE debt_quota <> 0
  UNION SELECT user_id FROM order_refunds
  UNION SELECT giver_id FROM orders WHERE order_no IN (SELECT order_no FROM order_refunds)`);

/** E14: what a user owes = what refunds and disputes could not take − what credits paid of it. */
async function checkDebts(db: Db): Promise<Mismatch[]> {
  const rows = await read(
    db,
    sql<Difference>`
    SELECT users.id AS id, users.debt_quota AS stored, cast(coalesce(booked.debt, 0) as bigint) AS expected
    FROM users LEFT JOIN (
      SELECT user_id, sum(CASE WHEN kind = 'debt' THEN amount ELSE shortfall END) AS debt
      FROM ledger WHERE kind IN ('debt', 'refund', 'dispute') AND user_id IN (${CONCERNED}) GROUP BY user_id
    ) AS booked ON booked.user_id = users.id
    WHERE users.id IN (${CONCERNED}) AND users.debt_quota <> coalesce(booked.debt, 0) ORDER BY users.id`,
  );
  return rows.map((row) => ({ table: "users", column: "debt_quota", ...row }));
}

/** What a user owes of commission = what refunds and disputes could not take − what later commission filled of it. */
async function checkCommissionDebts(db: Db): Promise<Mismatch[]> {
  const rows = await read(
    db,
    sql<Difference>`
    SELECT users.id AS id, users.commission_debt_micro AS stored, cast(coalesce(booked.owed, 0) as bigint) AS expected
    FROM users LEFT JOIN (
      SELECT user_id, sum(yuan_micro) AS owed FROM ledger
      WHERE yuan_micro <> 0 AND kind = 'commission-debt' GROUP BY user_id
    ) AS booked ON booked.user_id = users.id
    WHERE users.commission_debt_micro <> coalesce(booked.owed, 0) ORDER BY users.id`,
  );
  return rows.map((row) => ({ table: "users", column: "commission_debt_micro", ...row }));
}
