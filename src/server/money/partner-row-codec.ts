// Stored rows ⇄ the books of the partner plan, the same for both databases. Column order here is the order of values.
import type { Selectable } from "kysely";
import type { RedemptionsTable, UsersTable } from "#server/store/tables.ts";
import type { Operation, PartnerOperation } from "./operations.ts";
import { LEDGER_SHEET, type Sheet, toNumber } from "./row-codec.ts";
import type { CodeBook, CommissionBook, PartnerEntry } from "./rows.ts";
import { giftIdOf } from "./rules-partner.ts";

const COMMISSION_FIELDS = [
  "id",
  "invite_commission_micro",
  "debt_quota",
  "commission_debt_micro",
  "commission_orders",
  "commission_month",
  "commission_month_micro",
] as const;
export const COMMISSION_COLUMNS = COMMISSION_FIELDS.join(", ");
export type CommissionRow = Pick<Selectable<UsersTable>, (typeof COMMISSION_FIELDS)[number]>;

export const CODE_COLUMNS = "id, quota, price_minor, status, deleted_at, redeemed_time, used_user_id";
export type CodeRow = Pick<
  Selectable<RedemptionsTable>,
  "id" | "quota" | "price_minor" | "status" | "deleted_at" | "redeemed_time" | "used_user_id"
>;

export function commissionBook(row: CommissionRow): CommissionBook {
  return {
    userId: row.id,
    micro: BigInt(row.invite_commission_micro),
    debt: BigInt(row.debt_quota),
    owedMicro: BigInt(row.commission_debt_micro),
    orders: row.commission_orders,
    month: row.commission_month,
    monthMicro: BigInt(row.commission_month_micro),
  };
}

export function codeBook(row: CodeRow): CodeBook {
  return {
    id: row.id,
    quota: BigInt(row.quota),
    priceMinor: BigInt(row.price_minor),
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
    ["debt_quota", "count"],
    ["commission_debt_micro", "count"],
    ["commission_orders", "count"],
    ["commission_month", "text"],
    ["commission_month_micro", "count"],
  ],
  values: (book) => [
    book.userId,
    toNumber(book.micro),
    toNumber(book.debt),
    toNumber(book.owedMicro),
    book.orders,
    book.month,
    toNumber(book.monthMicro),
  ],
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

/** The users whose balance the operation may change; 0 stands for no user. */
export function usersOf(operation: PartnerOperation): readonly number[] {
  switch (operation.kind) {
    case "redeem":
      return [operation.order.userId, operation.order.giverId ?? 0, operation.order.inviterId];
    case "commission":
      return [operation.change.userId];
    case "adjust":
      return [operation.userId];
    case "signup":
      return [operation.gifts.userId, operation.gifts.inviterId];
    case "order":
      return [operation.change.userId, operation.change.giverId, operation.change.inviterId];
    case "transfer":
      return [operation.order.fromId, operation.order.toId];
  }
}

/** The redemption code the operation may use up; 0 = none. */
export function codeOf(operation: PartnerOperation): number {
  return operation.kind === "redeem" ? operation.order.redemptionId : 0;
}

/** Other entries that decide what the answer is. */
export function furtherIdsOf(operation: PartnerOperation): readonly string[] {
  return operation.kind === "redeem" ? [giftIdOf(operation.requestId)] : [];
}

/** The orders, payments and refunds that operations name: what each database has to load. */
export function orderKeysOf(operations: readonly Operation[]): {
  readonly orderNos: string[];
  readonly instanceIds: number[];
  readonly tradeNos: string[];
  readonly refundNos: string[];
  /** Whose periods of plans orders may change. */
  readonly userIds: number[];
} {
  const changes = operations.flatMap((operation) => (operation.kind === "order" ? [operation.change] : []));
  const proofs = changes.flatMap(({ act, event }) =>
    "proof" in act ? [{ instanceId: event.instanceId, tradeNo: act.proof.tradeNo }] : [],
  );
  return {
    orderNos: changes.map(({ orderNo }) => orderNo),
    instanceIds: proofs.map(({ instanceId }) => instanceId),
    tradeNos: proofs.map(({ tradeNo }) => tradeNo),
    refundNos: changes.flatMap(({ act }) => ("refundNo" in act ? [act.refundNo] : [])),
    userIds: changes.map(({ userId }) => userId),
  };
}
