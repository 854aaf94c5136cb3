// Tokens: the same keys, so that clients go on working; known by their hash and sealed (requirements W7.5).
import { TokenStatus } from "#contract/token.ts";
import { asList, asObject, asText } from "#server/upstream/json/values.ts";
import { batches } from "./batches.ts";
import type { SourceGroups } from "./groups.ts";
import { flagOf, intOf, objectOf, type SourceRow, secondsOf, textOf } from "./row.ts";
import type { Source } from "./source.ts";
import { type ImportedRow, type Target, writeRows } from "./target.ts";
import { groupsOfToken, type TokenGroups } from "./token-groups.ts";
import { importMissingUsers, type Users } from "./users.ts";

/** What tokens refer to. */
interface Around {
  readonly users: Users;
  readonly groups: SourceGroups;
}

/** Copies the tokens in batches; an owner that the source lost becomes a deleted account. What was written before stays. */
export async function importTokens(source: Source, target: Target, around: Around): Promise<void> {
  const { tally } = target;
  const { users } = around;
  const hashes = new Set<string>();
  const read = async (rows: readonly SourceRow[]) => {
    const owners = rows.map((row) => intOf(row, "user_id"));
    await importMissingUsers(owners, users, target);
    return rows.flatMap((row) => {
      const count = tally.of("tokens");
      count.found += 1;
      tally.add("remain_quota", intOf(row, "remain_quota"));
      tally.add("token used_quota", intOf(row, "used_quota"));
      const token = tokenOf(row, target, around);
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

function tokenOf(
  row: SourceRow,
  target: Target,
  { users, groups: source }: Around,
): ImportedRow<"tokens"> | undefined {
  const { secrets, nowSec } = target;
  const id = intOf(row, "id");
  const userId = intOf(row, "user_id");
  const key = textOf(row, "key").replace(/^sk-/, "");
  if (key === "") return undefined;
  const isDeleted = textOf(row, "deleted_at") !== "";
  const remain = intOf(row, "remain_quota");
  const usedQuota = intOf(row, "used_quota");
  const groups = groupsOfToken(row, users.get(userId)?.group ?? "", source, target.tally);
  return {
    row: {
      id,
      user_id: userId,
      key_hash: secrets.hash(key),
      key_sealed: isDeleted ? "" : secrets.seal(key, "tokens.key"),
      status: statusOf(row, { id, groups, isOrphan: users.get(userId)?.isDeleted !== false }, target),
      name: textOf(row, "name"),
      created_time: secondsOf(row, "created_time"),
      accessed_time: secondsOf(row, "accessed_time"),
      expired_time: Math.max(-1, intOf(row, "expired_time", -1)),
      remain_quota: remain,
      unlimited_quota: flagOf(row, "unlimited_quota") ? 1 : 0,
      used_quota: usedQuota,
      models: modelsOf(row).models,
      subnet: subnetOf(row),
      groups: groups.groups.join(","),
      deleted_at: isDeleted ? secondsOf(row, "deleted_at") || nowSec : 0,
    },
    openings: [{ scope: "token", id, userId, tokenQuota: remain, usedQuota }],
  };
}

interface Found {
  readonly id: number;
  readonly groups: TokenGroups;
  readonly isOrphan: boolean;
}

function statusOf(row: SourceRow, { id, groups, isOrphan }: Found, { tally }: Target): number {
  if (isOrphan) {
    tally.remark("tokens of deleted users were disabled", String(id));
    return TokenStatus.disabled;
  }
  const { isLimited, models } = modelsOf(row);
  if (isLimited && models === "") {
    tally.remark("tokens whose list of models is on and empty were disabled: it allows none", String(id));
    return TokenStatus.disabled;
  }
  if (groups.isRefused) return TokenStatus.disabled;
  const status = intOf(row, "status", TokenStatus.enabled);
  return status >= TokenStatus.enabled && status <= TokenStatus.exhausted ? status : TokenStatus.disabled;
}

/** Models a token may call; New API has a switch beside its list, and one-hub one in the settings of the token. */
function modelsOf(row: SourceRow): { readonly isLimited: boolean; readonly models: string } {
  if (row["model_limits_enabled"] !== undefined) {
    const isLimited = flagOf(row, "model_limits_enabled");
    return { isLimited, models: isLimited ? textOf(row, "model_limits") : "" };
  }
  const own = limitsOf(row, "limit_model_setting", "models");
  if (own !== undefined) return { isLimited: true, models: own.join(",") };
  return { isLimited: false, models: textOf(row, "models") };
}

/** Networks a token may be used from; New API writes one a line. */
function subnetOf(row: SourceRow): string {
  const own = limitsOf(row, "limits_ip_setting", "whitelist")?.join(",") ?? "";
  const lines = textOf(row, "subnet") || own || textOf(row, "allow_ips").replaceAll(/\s+/g, ",");
  return lines.replaceAll(/,{2,}/g, ",").replace(/^,|,$/g, "");
}

/** A list in one-hub's settings of a token; undefined = it is off. Source: MartialBE/one-hub, model/token.go, read 2026-11-27. */
function limitsOf(row: SourceRow, name: string, list: string): string[] | undefined {
  const limit = asObject(asObject(objectOf(row, "setting")["limits"])?.[name]);
  if (limit?.["enabled"] !== true) return undefined;
  return asList(limit[list]).flatMap((entry) => asText(entry)?.trim() || []);
}
