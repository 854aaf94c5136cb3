// Tokens: the same keys, so that clients go on working; known by their hash and sealed (requirements W7.5).
import { TokenStatus } from "#contract/token.ts";
import { batches } from "./batches.ts";
import { flagOf, intOf, type SourceRow, secondsOf, textOf } from "./row.ts";
import type { Source } from "./source.ts";
import { type ImportedRow, type Target, writeRows } from "./target.ts";
import { importMissingUsers, type Users } from "./users.ts";

/** Copies the tokens in batches; an owner that the source lost becomes a deleted account. What was written before stays. */
export async function importTokens(source: Source, target: Target, users: Users): Promise<void> {
  const { tally } = target;
  const hashes = new Set<string>();
  const read = async (rows: readonly SourceRow[]) => {
    const owners = rows.map((row) => intOf(row, "user_id"));
    await importMissingUsers(owners, users, target);
    return rows.flatMap((row) => {
      const count = tally.of("tokens");
      count.found += 1;
      tally.add("remain_quota", intOf(row, "remain_quota"));
      tally.add("token used_quota", intOf(row, "used_quota"));
      const token = tokenOf(row, target, users);
      if (token !== undefined && !hashes.has(token.row.key_hash)) {
        hashes.add(token.row.key_hash);
        return [token];
      }
      count.skipped += 1;
      tally.remark("tokens without a key, or with that of another, were left out", textOf(row, "id"));
      return [];
    });
  };
  for await (const incoming of batches(source, "tokens", tally, read))
    await writeRows(target, "tokens", incoming);
}

function tokenOf(row: SourceRow, target: Target, users: Users): ImportedRow<"tokens"> | undefined {
  const { secrets, nowSec } = target;
  const id = intOf(row, "id");
  const userId = intOf(row, "user_id");
  const key = textOf(row, "key").replace(/^sk-/, "");
  if (key === "") return undefined;
  const isDeleted = textOf(row, "deleted_at") !== "";
  const remain = intOf(row, "remain_quota");
  const usedQuota = intOf(row, "used_quota");
  return {
    row: {
      id,
      user_id: userId,
      key_hash: secrets.hash(key),
      key_sealed: isDeleted ? "" : secrets.seal(key, "tokens.key"),
      status: statusOf(row, id, target, users),
      name: textOf(row, "name"),
      created_time: secondsOf(row, "created_time"),
      accessed_time: secondsOf(row, "accessed_time"),
      expired_time: Math.max(-1, intOf(row, "expired_time", -1)),
      remain_quota: remain,
      unlimited_quota: flagOf(row, "unlimited_quota") ? 1 : 0,
      used_quota: usedQuota,
      models: modelsOf(row),
      subnet: subnetOf(row, id, target),
      deleted_at: isDeleted ? secondsOf(row, "deleted_at") || nowSec : 0,
    },
    openings: [{ scope: "token", id, userId, tokenQuota: remain, usedQuota }],
  };
}

function statusOf(row: SourceRow, id: number, { tally }: Target, users: Users): number {
  if (users.get(intOf(row, "user_id"))?.isDeleted !== false) {
    tally.remark("tokens of deleted users were disabled", String(id));
    return TokenStatus.disabled;
  }
  if (flagOf(row, "model_limits_enabled") && modelsOf(row) === "") {
    tally.remark("tokens whose list of models is on and empty were disabled: it allows none", String(id));
    return TokenStatus.disabled;
  }
  const status = intOf(row, "status", TokenStatus.enabled);
  return status >= TokenStatus.enabled && status <= TokenStatus.exhausted ? status : TokenStatus.disabled;
}

/** Models a token may call; New API has a switch beside its list. */
function modelsOf(row: SourceRow): string {
  if (row["model_limits_enabled"] !== undefined)
    return flagOf(row, "model_limits_enabled") ? textOf(row, "model_limits") : "";
  return textOf(row, "models");
}

/** Networks a token may be used from; New API writes one a line. */
function subnetOf(row: SourceRow, id: number, { tally }: Target): string {
  if (textOf(row, "group") !== "")
    tally.remark("tokens with a group of their own use their user's group", String(id));
  const lines = textOf(row, "subnet") || textOf(row, "allow_ips").replaceAll(/\s+/g, ",");
  return lines.replaceAll(/,{2,}/g, ",").replace(/^,|,$/g, "");
}
