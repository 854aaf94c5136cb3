// Stored rows ⇄ the books of the partner plan, the same for both databases. Column order here is the order of values.
import type { Selectable } from "kysely";
import type { RedemptionsTable, UsersTable } from "#server/store/tables.ts";
import type { Operation, PartnerOperation } from "./operations.ts";
import { LEDGER_SHEET, type Sheet, toNumber } from "./row-codec.ts";
import type { CodeBook, CommissionBook, PartnerEntry } from "./rows.ts";

export const COMMISSION_COLUMNS = "id, invite_commission_micro";
export type CommissionRow = Pick<Selectable<UsersTable>, "id" | "invite_commission_micro">;

export const CODE_COLUMNS = "id, quota, status, deleted_at, redeemed_time, used_user_id";
export type CodeRow = Pick<
  Selectable<RedemptionsTable>,
  "id" | "quota" | "status" | "deleted_at" | "redeemed_time" | "used_user_id"
>;

export function commissionBook(row: CommissionRow): CommissionBook {
  return { userId: row.id, micro: BigInt(row.invite_commission_micro) };
}

export function codeBook(row: CodeRow): CodeBook {
  return {
    id: row.id,
    quota: BigInt(row.quota),
    isDeleted: row.deleted_at !== 0,
    status: row.status,
    redeemedTime: row.redeemed_time,
    usedUserId: row.used_user_id,
  };
}

/** New commissions; the first column finds the row. */
export const COMMISSION_SHEET: Sheet<CommissionBook> = {
  table: "users",
  columns: [
    ["id", "int"],
    ["invite_commission_micro", "int"],
  ],
  values: (commission) => [commission.userId, toNumber(commission.micro)],
};

export const CODE_SHEET: Sheet<CodeBook> = {
  table: "redemptions",
  columns: [
    ["id", "int"],
    ["status", "int"],
    ["redeemed_time", "int"],
    ["used_user_id", "int"],
  ],
  values: (code) => [code.id, code.status, code.redeemedTime, code.usedUserId],
};

/** Entries of calls do without these columns. */
export const PARTNER_LEDGER_SHEET: Sheet<PartnerEntry> = {
  table: "ledger",
  columns: [...LEDGER_SHEET.columns, ["redemption_id", "int"], ["yuan_micro", "int"]],
  values: (entry) => [...LEDGER_SHEET.values(entry), entry.redemptionId, toNumber(entry.yuanMicro)],
};

export function isPartnerOperation(operation: Operation): operation is PartnerOperation {
  return operation.kind === "redeem" || operation.kind === "commission" || operation.kind === "signup";
}

/** The users whose balance the operation may change; 0 stands for no user. */
export function usersOf(operation: PartnerOperation): readonly number[] {
  switch (operation.kind) {
    case "redeem":
      return [operation.order.userId, operation.order.giverId ?? 0, operation.order.inviterId];
    case "commission":
      return [operation.change.userId];
    case "signup":
      return [operation.gifts.userId, operation.gifts.inviterId];
  }
}

/** The redemption code the operation may use up; 0 = none. */
export function codeOf(operation: PartnerOperation): number {
  return operation.kind === "redeem" ? operation.order.redemptionId : 0;
}
