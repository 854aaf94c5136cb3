// Tokens between the wire and the store: a new row with its key, and a row as its owner or an administrator sees it.
import { groupsOf } from "#contract/group.ts";
import { chosenGroups, type Token, type TokenDraft, TokenStatus } from "#contract/token.ts";
import { isCidr } from "#server/address.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { newTokenKey, openKey } from "#server/secrets.ts";
import { findOldKeys } from "#server/store/old-keys.ts";
import type { NewToken, TokenRow } from "#server/store/tokens.ts";
import { nameUsers } from "#server/store/usage.ts";

/** A key, and what is stored of it. */
export interface MadeKey {
  readonly key: string;
  readonly stored: Pick<TokenRow, "key_hash" | "key_sealed" | "key_hint">;
}

/** A new key; of one that is shown once nothing is stored that opens it (requirements K11). */
export function makeKey({ secrets }: Pick<Context, "secrets">, isShownOnce: boolean): MadeKey {
  const key = newTokenKey();
  const key_sealed = isShownOnce ? "" : secrets.seal(key, "tokens.key");
  return { key, stored: { key_hash: secrets.hash(key), key_sealed, key_hint: hintOf(key) } };
}

/** The begin and the end of a key. */
export function hintOf(key: string): string {
  return `${key.slice(0, 4)}…${key.slice(-4)}`;
}

/** Whether the operator lets no new key be shown again. */
export function isOnceForced({ options }: Pick<Context, "options">): boolean {
  return options.get("TokenShownOnceEnabled");
}

/** A row of a draft and its key. `madeBy` = the administrator who makes it for another user; 0 = the user. */
export function newRow(
  ctx: Context,
  whose: { readonly userId: number; readonly madeBy: number; readonly walletId?: number },
  draft: TokenDraft,
): { readonly row: NewToken; readonly key: string } {
  refuseSubnet(draft.subnet);
  const nowSec = ctx.clock.seconds();
  const { key, stored } = makeKey(ctx, draft.shown_once === true || isOnceForced(ctx));
  const row = {
    ...stored,
    user_id: whose.userId,
    made_by: whose.madeBy,
    wallet_id: whose.walletId ?? 0,
    // Its team is looked at by `holdPayer`.
    project_id: whose.walletId ? (draft.project_id ?? 0) : 0,
    status: TokenStatus.enabled,
    name: draft.name,
    created_time: nowSec,
    accessed_time: nowSec,
    expired_time: draft.expired_time,
    unlimited_quota: Number(draft.unlimited_quota),
    models: draft.models ?? "",
    subnet: draft.subnet ?? "",
    groups: (chosenGroups(draft) ?? []).join(","),
    tags: draft.tags ?? "",
    metadata: notesText(draft.metadata),
  };
  return { row, key };
}

/** Notes as they are stored. */
export function notesText(notes: TokenDraft["metadata"]): string {
  return notes === undefined || Object.keys(notes).length === 0 ? "" : JSON.stringify(notes);
}

/** Throws: when it is no list of networks. */
export function refuseSubnet(subnet: TokenDraft["subnet"]): void {
  const parts = (subnet ?? "").split(",").filter((part) => part.trim() !== "");
  if (!parts.every(isCidr)) throw faults.invalid("IP 限制须为以逗号分隔的 IP 或 CIDR");
}

/** What may be shown of a row's key: "" = nothing. */
export type KeyOf = (row: TokenRow) => string;

/** Opens the stored keys of the rows that may be shown; of one that was shown once there is none. */
export function opened({ secrets }: Pick<Context, "secrets">, shown: ReadonlySet<number>): KeyOf {
  return (row) => (row.key_sealed === "" || !shown.has(row.id) ? "" : openKey(secrets, row, "tokens.key"));
}

/** Rows with what is known of the keys before theirs. Each may have expired since it was written. */
export async function present(
  ctx: Context,
  rows: readonly TokenRow[],
  keyOf: KeyOf,
  team?: { readonly id: number },
): Promise<Token[]> {
  const names = await nameUsers(ctx.db, team === undefined ? [] : rows.map(({ user_id }) => user_id));
  const nowSec = ctx.clock.seconds();
  const olds = await findOldKeys(
    ctx.db,
    rows.map(({ id }) => id),
  );
  return rows.map((row) => {
    const { metadata, key_sealed, key_hash, made_by, ...seen } = row;
    const isEnded = row.expired_time !== -1 && row.expired_time <= nowSec;
    const old = olds.get(row.id);
    const isOldAlive = old !== undefined && old.expires_at > nowSec;
    const groups = groupsOf(row.groups);
    return {
      ...seen,
      groups,
      group: groups[0] ?? "",
      status: isEnded && row.status !== TokenStatus.disabled ? TokenStatus.expired : row.status,
      key: keyOf(row),
      shown_once: key_sealed === "",
      unlimited_quota: row.unlimited_quota === 1,
      metadata: notesOf(metadata),
      is_granted: made_by !== 0,
      team_id: team?.id ?? 0,
      holder: names.get(row.user_id) ?? "",
      old_key_until: isOldAlive ? old.expires_at : 0,
      old_key_used: isOldAlive ? old.used_at : 0,
    };
  });
}

function notesOf(text: string): Record<string, string> {
  // Written by `notesText` alone.
  return text === "" ? {} : (JSON.parse(text) as Record<string, string>);
}

/** Balances change in the ledger only: the requested amount becomes a delta there (requirements J10). */
export async function setQuota(
  ctx: Context,
  {
    tokenId,
    userId,
    actorId,
  }: { readonly tokenId: number; readonly userId: number; readonly actorId: number },
  quota: number,
): Promise<void> {
  const { outcome } = await ctx.ledger.adjust({
    userId,
    tokenId,
    kind: "token-adjust",
    quota: { target: BigInt(quota) },
    actorId,
    reason: "修改令牌额度",
  });
  if (outcome === "not_found") throw faults.notFound("找不到该令牌");
  if (outcome !== "done") throw faults.refused("额度超出范围", outcome);
}
