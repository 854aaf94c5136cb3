// Stored periods of plans ⇄ their books, the same for both databases. Column order here is the order of values.
import type { Selectable } from "kysely";
import type { PlanTerms, PlanWindowKind } from "#contract/plan-terms.ts";
import type { PlanPeriodsTable } from "#server/store/tables-plans.ts";
import { type Bought, boughtText, leftOf, NOTHING_BOUGHT, nanoOfFen, partOf } from "./bought.ts";
import type { PeriodBook, PlanWindowBook } from "./plan-rows.ts";
import { holdsText, LEDGER_SHEET, type Sheet, toNumber } from "./row-codec.ts";
import type { PlanEntry, Reservation } from "./rows.ts";
import { planned } from "./rules-plans.ts";

const PERIOD_FIELDS = [
  "id",
  "user_id",
  "order_no",
  "plan_id",
  "version_id",
  "n",
  "starts_at",
  "ends_at",
  "anchor_at",
  "anchor_months",
  "ended_at",
  "ended_by",
  "terms",
  "quota",
  "spent",
  "held",
  "windows",
  "bought",
] as const;
export const PERIOD_COLUMNS = PERIOD_FIELDS.join(", ");
export type PeriodRow = Pick<Selectable<PlanPeriodsTable>, (typeof PERIOD_FIELDS)[number]>;

export function periodBook(row: PeriodRow): PeriodBook {
  const terms = termsOf(row.terms);
  return {
    id: row.id,
    userId: row.user_id,
    orderNo: row.order_no,
    planId: row.plan_id,
    versionId: row.version_id,
    n: row.n,
    startsAt: row.starts_at,
    endsAt: row.ends_at,
    anchorAt: row.anchor_at,
    anchorMonths: row.anchor_months,
    endedAt: row.ended_at,
    endedBy: row.ended_by,
    terms,
    quota: BigInt(row.quota),
    spent: BigInt(row.spent),
    held: BigInt(row.held),
    windows: windowsOf(row.windows),
    bought: boughtIn(row, terms),
  };
}

/** Of a period of before it was kept: by the price in its terms. */
function boughtIn({ bought, quota, spent }: PeriodRow, terms: PlanTerms): Bought {
  const left = BigInt(quota - spent);
  if (bought !== "") return leftOf(bought, left);
  const income = nanoOfFen(BigInt(terms.price_minor));
  return partOf({ ...NOTHING_BOUGHT, quota: BigInt(quota), income }, left);
}

/** What a column of terms holds. */
export function termsOf(text: string): PlanTerms {
  // Written from checked terms alone.
  return JSON.parse(text) as PlanTerms;
}

/** `kind.start.end.spent.held` of each window, by spaces. */
export function windowsOf(text: string): PlanWindowBook[] {
  if (text === "") return [];
  return text.split(" ").map((part) => {
    // Written by `windowsText` alone.
    const [kind, start, end, spent, held] = part.split(".") as [
      PlanWindowKind,
      string,
      string,
      string,
      string,
    ];
    return { kind, start: Number(start), end: Number(end), spent: BigInt(spent), held: BigInt(held) };
  });
}

function windowsText(windows: readonly PlanWindowBook[]): string {
  return windows
    .map(({ kind, start, end, spent, held }) => [kind, start, end, spent, held].join("."))
    .join(" ");
}

/** What of a period changes; the first column finds the row. */
export const PERIOD_SHEET: Sheet<PeriodBook> = {
  table: "plan_periods",
  columns: [
    ["id", "int"],
    ["plan_id", "int"],
    ["version_id", "int"],
    ["n", "int"],
    ["ended_at", "int"],
    ["ended_by", "text"],
    ["terms", "text"],
    ["quota", "count"],
    ["spent", "count"],
    ["held", "count"],
    ["windows", "text"],
    ["bought", "text"],
  ],
  values: (period) => [
    period.id,
    period.planId,
    period.versionId,
    period.n,
    period.endedAt,
    period.endedBy,
    JSON.stringify(period.terms),
    toNumber(period.quota),
    toNumber(period.spent),
    toNumber(period.held),
    windowsText(period.windows),
    boughtText(period.bought),
  ],
};

/** A new period; its id is given by the database. */
export const NEW_PERIOD_SHEET: Sheet<PeriodBook> = {
  table: "plan_periods",
  columns: [
    ...PERIOD_SHEET.columns.slice(1),
    ["user_id", "int"],
    ["order_no", "text"],
    ["starts_at", "int"],
    ["ends_at", "int"],
    ["anchor_at", "int"],
    ["anchor_months", "int"],
  ],
  values: (period) => [
    ...PERIOD_SHEET.values(period).slice(1),
    period.userId,
    period.orderNo,
    period.startsAt,
    period.endsAt,
    period.anchorAt,
    period.anchorMonths,
  ],
};

/** What a call holds in plans; only calls that plans pay for are written by it. */
export const PLANNED_SHEET: Sheet<Reservation> = {
  table: "reservations",
  columns: [
    ["request_id", "text"],
    ["holds", "text"],
    ["plan_amount", "count"],
  ],
  values: (held) => [held.requestId, holdsText(held.holds, held.parts), toNumber(planned(held))],
};

/** Entries of calls that no plan pays for do without these columns. */
export const PLAN_LEDGER_SHEET: Sheet<PlanEntry> = {
  table: "ledger",
  columns: [...LEDGER_SHEET.columns, ["plan_amount", "count"], ["period_id", "int"]],
  values: (entry) => [...LEDGER_SHEET.values(entry), toNumber(entry.planAmount), entry.periodId],
};
