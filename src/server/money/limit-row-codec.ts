// Stored rows ⇄ the books of limits, the same for both databases. Column order here is the order of values.
import type { Selectable } from "kysely";
import { isWindowKind } from "#contract/limit-words.ts";
import type { LimitsTable, LimitWindowsTable } from "#server/store/limit-tables.ts";
import type { Operation } from "./operations.ts";
import { type Sheet, toNumber } from "./row-codec.ts";
import type { Hold, LimitBook, LimitRef, WindowBook } from "./rows.ts";

export const LIMIT_COLUMNS =
  "id, kind, amount, time_window, anchor, mode, boost_amount, boost_until, since, deleted_at";
export type LimitRow = Pick<
  Selectable<LimitsTable>,
  | "id"
  | "kind"
  | "amount"
  | "time_window"
  | "anchor"
  | "mode"
  | "boost_amount"
  | "boost_until"
  | "since"
  | "deleted_at"
>;

export const WINDOW_COLUMNS = "limit_id, holder, start, spent, reserved, slices, is_current";
export type WindowRow = Omit<Selectable<LimitWindowsTable>, "told">;

/** Undefined = it was removed, or is not counted by window. */
export function limitBook(row: LimitRow): LimitBook | undefined {
  if (row.deleted_at !== 0 || !isWindowKind(row.kind)) return undefined;
  return {
    id: row.id,
    isCalls: row.kind === "calls",
    amount: BigInt(row.amount),
    window: row.time_window,
    anchor: row.anchor,
    isSoft: row.mode === "soft",
    boostAmount: BigInt(row.boost_amount),
    boostUntil: row.boost_until,
    since: row.since,
  };
}

export function windowBook(row: WindowRow): WindowBook {
  return {
    limitId: row.limit_id,
    holder: row.holder,
    start: row.start,
    spent: BigInt(row.spent),
    reserved: BigInt(row.reserved),
    slices: slicesOf(row.slices),
    isCurrent: row.is_current === 1,
  };
}

/** `start=amount` of each step, by spaces. */
function slicesOf(text: string): Map<number, bigint> {
  if (text === "") return new Map();
  return new Map(
    text.split(" ").map((part) => {
      const [start = "0", amount = "0"] = part.split("=");
      return [Number(start), BigInt(amount)];
    }),
  );
}

function slicesText(slices: ReadonlyMap<number, bigint>): string {
  return slices.size === 0 ? "" : Array.from(slices, ([start, amount]) => `${start}=${amount}`).join(" ");
}

/** The key comes first. */
export const WINDOW_SHEET: Sheet<WindowBook> = {
  table: "limit_windows",
  columns: [
    ["limit_id", "int"],
    ["holder", "int"],
    ["start", "int"],
    ["spent", "int"],
    ["reserved", "count"],
    ["slices", "text"],
    ["is_current", "int"],
  ],
  values: (book) => [
    book.limitId,
    book.holder,
    book.start,
    toNumber(book.spent),
    toNumber(book.reserved),
    slicesText(book.slices),
    book.isCurrent ? 1 : 0,
  ],
};

/** The tail of an INSERT of windows that takes the place of those that are there. Understood by both databases. */
export const REPLACE_WINDOW = `ON CONFLICT (limit_id, holder, start) DO UPDATE SET spent = excluded.spent,
  reserved = excluded.reserved, slices = excluded.slices, is_current = excluded.is_current`;

/** The limits that an operation may change the windows of. */
export function limitsOf(operation: Operation): readonly LimitRef[] {
  return "limits" in operation ? (operation.limits ?? []) : [];
}

/** The periods of plans that an operation may take from or give back to. */
export function plansOf(operation: Operation): readonly number[] {
  return "plans" in operation ? (operation.plans ?? []) : [];
}

/** The limits of holds, to be named again by what closes the call. */
export function refsOf(holds: readonly Hold[]): readonly LimitRef[] | undefined {
  return holds.length === 0 ? undefined : holds.map(({ limitId, holder }) => ({ limitId, holder }));
}
