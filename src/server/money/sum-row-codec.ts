// Sums of calls by hour as rows, the same for both databases. Column order here is the order of values.
import type { Sheet } from "./row-codec.ts";
import type { HourSums, RollupPart, SumPart } from "./rows.ts";

const SUM_COLUMNS = [
  ["quota", "int"],
  ["prompt_tokens", "int"],
  ["completion_tokens", "int"],
  ["requests", "int"],
  ["cost", "int"],
  ["costed_quota", "int"],
  ["cached_tokens", "int"],
  ["saved", "int"],
  ["priced_quota", "int"],
  ["given_cost", "int"],
  ["income", "int"],
  ["fees", "int"],
  ["commission", "int"],
] as const;

/** Statistics hold up no money: one that grows beyond what a number holds exactly stays there. */
const MOST = Number.MAX_SAFE_INTEGER;

function sumValues(sums: HourSums): number[] {
  const { quota, promptTokens, completionTokens, requests, cost, costedQuota, cachedTokens, saved } = sums;
  const calls = [Number(quota), promptTokens, completionTokens, requests];
  const earned = [Number(sums.pricedQuota), sums.givenCost, sums.income, sums.fees, sums.commission];
  return [...calls, cost, Number(costedQuota), cachedTokens, saved, ...earned].map((sum) =>
    Math.min(sum, MOST),
  );
}

/** The key comes first; the sums at the end are added to what is there. */
export const SUM_SHEET: Sheet<SumPart> = {
  table: "log_sums",
  columns: [["dimension", "text"], ["key", "text"], ["hour", "int"], ...SUM_COLUMNS],
  values: (part) => [part.dimension, part.key, part.hour, ...sumValues(part)],
};

export const ROLLUP_SHEET: Sheet<RollupPart> = {
  table: "log_rollups",
  columns: [
    ["user_id", "int"],
    ["hour", "int"],
    ["token_name", "text"],
    ["model_name", "text"],
    ["channel_id", "int"],
    ...SUM_COLUMNS,
  ],
  values: (part) => [
    part.userId,
    part.hour,
    part.tokenName,
    part.modelName,
    part.channelId,
    ...sumValues(part),
  ],
};

/** The tail of an INSERT of sums that adds to those that are there. Understood by both databases. */
export function addToSums(sheet: Sheet<never>): string {
  const keys = sheet.columns.slice(0, -SUM_COLUMNS.length).map(([name]) => name);
  const sets = SUM_COLUMNS.map(([name]) => {
    const sum = `${sheet.table}.${name} + excluded.${name}`;
    return `${name} = CASE WHEN ${sum} > ${MOST} THEN ${MOST} ELSE ${sum} END`;
  });
  return `ON CONFLICT (${keys.join(", ")}) DO UPDATE SET ${sets.join(", ")}`;
}
