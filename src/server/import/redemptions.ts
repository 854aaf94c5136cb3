// Redemption codes as they are; used ones are history that no ledger entry of ours belongs to (requirements W7.5).
import { batches } from "./batches.ts";
import { intOf, type SourceRow, secondsOf, textOf } from "./row.ts";
import type { Source } from "./source.ts";
import { type ImportedRow, type Target, writeRows } from "./target.ts";

const STATUS = { unused: 1, disabled: 2, used: 3 } as const;

/** Copies the codes in batches and tallies them. What was written before stays. */
export async function importRedemptions(source: Source, target: Target): Promise<void> {
  if (!source.tables.has("redemptions")) return;
  const hashes = new Set<string>();
  const read = (rows: readonly SourceRow[]) =>
    rows.flatMap((row) => {
      target.tally.of("redemptions").found += 1;
      const code = codeOf(row, target);
      if (code !== undefined && !hashes.has(code.row.key_hash)) {
        hashes.add(code.row.key_hash);
        return [code];
      }
      target.tally.of("redemptions").skipped += 1;
      target.tally.remark("redemption codes that are empty or repeated were left out", textOf(row, "id"));
      return [];
    });
  for await (const incoming of batches(source, "redemptions", target.tally, read))
    await writeRows(target, "redemptions", incoming);
}

function codeOf(row: SourceRow, target: Target): ImportedRow<"redemptions"> | undefined {
  const { secrets, tally, nowSec } = target;
  const key = textOf(row, "key");
  const quota = intOf(row, "quota", 100);
  if (key === "") return undefined;
  if (quota < 0) tally.remark("redemption codes worth less than nothing were disabled", textOf(row, "name"));
  const isExpired = hasExpired(row, target);
  const isDeleted = textOf(row, "deleted_at") !== "";
  return {
    row: {
      id: intOf(row, "id"),
      user_id: intOf(row, "user_id"),
      key_hash: secrets.hash(key),
      key_sealed: isDeleted ? "" : secrets.seal(key, "redemptions.key"),
      status: quota < 0 || isExpired ? STATUS.disabled : statusOf(row),
      name: textOf(row, "name"),
      quota: Math.max(0, quota),
      created_time: secondsOf(row, "created_time"),
      redeemed_time: secondsOf(row, "redeemed_time"),
      // Also where a fork knows who used it: a used code that names its user has an entry in our ledger (money/ledger-check-partner.ts).
      used_user_id: 0,
      deleted_at: isDeleted ? secondsOf(row, "deleted_at") || nowSec : 0,
    },
  };
}

/** New API's codes may end on a day, ours do not: what could not be redeemed there any more cannot be here. */
function hasExpired(row: SourceRow, { tally, nowSec }: Target): boolean {
  const endSec = secondsOf(row, "expired_time");
  if (endSec === 0 || statusOf(row) !== STATUS.unused) return false;
  const isOver = endSec < nowSec;
  const what = isOver
    ? "redemption codes that had expired were disabled"
    : "redemption codes that were to expire do not expire here: disable them on their day";
  tally.remark(what, `${textOf(row, "id")} (${new Date(endSec * 1000).toISOString().slice(0, 10)})`);
  return isOver;
}

function statusOf(row: SourceRow): number {
  const status = intOf(row, "status", STATUS.unused);
  return status === STATUS.unused || status === STATUS.used ? status : STATUS.disabled;
}
