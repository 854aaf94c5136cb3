// Stored rows ⇄ the books of the rules, the same for both databases. Column order here is the order of values.
import type { Selectable } from "kysely";
import type { NewLog } from "#server/store/logs.ts";
import type { LedgerTable, ReservationsTable, UsersTable } from "#server/store/tables.ts";
import type { TokensTable } from "#server/store/tables-keys.ts";
import { boughtText, leftOf } from "./bought.ts";
import type { PlanPart } from "./plan-rows.ts";
import type { Booked, Hold, LedgerEntry, Reservation, TokenBook, UserBook } from "./rows.ts";

export const USER_COLUMNS = "id, username, status, quota, used_quota, request_count, bought";
export type UserRow = Pick<
  Selectable<UsersTable>,
  "id" | "username" | "status" | "quota" | "used_quota" | "request_count" | "bought"
>;

export const TOKEN_COLUMNS =
  "id, user_id, wallet_id, project_id, name, status, unlimited_quota, expired_time, deleted_at, accessed_time, remain_quota, used_quota";
export type TokenRow = Omit<
  Selectable<TokensTable>,
  | "key_hash"
  | "key_sealed"
  | "key_hint"
  | "created_time"
  | "models"
  | "subnet"
  | "tags"
  | "metadata"
  | "made_by"
>;

export const RESERVATION_COLUMNS =
  "request_id, user_id, token_id, channel_id, amount, seen_charge, seen_prompt_tokens, seen_completion_tokens, model_name, " +
  "created_at, node, token_limited, holds";
export type ReservationRow = Omit<Selectable<ReservationsTable>, "plan_amount">;

/** A call that plans paid for cost what they paid too. */
export const BOOKED_COLUMNS = "request_id, kind, amount - plan_amount AS amount, shortfall";
export type BookedRow = Pick<Selectable<LedgerTable>, "request_id" | "kind" | "amount" | "shortfall">;

export function userBook(row: UserRow): UserBook {
  return {
    id: row.id,
    username: row.username,
    status: row.status,
    quota: BigInt(row.quota),
    usedQuota: BigInt(row.used_quota),
    requestCount: row.request_count,
    bought: leftOf(row.bought, BigInt(row.quota)),
  };
}

export function tokenBook(row: TokenRow): TokenBook {
  return {
    id: row.id,
    userId: row.user_id,
    payerId: row.wallet_id === 0 ? row.user_id : row.wallet_id,
    projectId: row.project_id,
    name: row.name,
    status: row.status,
    isUnlimited: row.unlimited_quota === 1,
    expiredTime: row.expired_time,
    isDeleted: row.deleted_at !== 0,
    accessedTime: row.accessed_time,
    remainQuota: BigInt(row.remain_quota),
    usedQuota: BigInt(row.used_quota),
  };
}

export function reservationBook(row: ReservationRow): Reservation {
  return {
    requestId: row.request_id,
    userId: row.user_id,
    tokenId: row.token_id,
    modelName: row.model_name,
    createdAt: row.created_at,
    node: row.node,
    isTokenLimited: row.token_limited === 1,
    holds: holdsOf(row.holds),
    parts: partsOf(row.holds),
    amount: BigInt(row.amount),
    channelId: row.channel_id,
    seenCharge: BigInt(row.seen_charge),
    seenPromptTokens: row.seen_prompt_tokens,
    seenCompletionTokens: row.seen_completion_tokens,
  };
}

/** What a call takes of a plan begins so among its holds. */
const PART = "p";

/** Reads `limit.holder.start.kind.slice`, by spaces: what `holdsText` wrote of limits. */
export function holdsOf(text: string): readonly Hold[] {
  if (text === "") return [];
  const holds = text.split(" ").filter((part) => !part.startsWith(PART));
  return holds.map((part) => {
    const [limitId = "0", holder = "0", start = "0", kind, slice = "0"] = part.split(".");
    return {
      limitId: Number(limitId),
      holder: Number(holder),
      start: Number(start),
      isCalls: kind === "c",
      slice: Number(slice),
    };
  });
}

/** Reads `pPERIOD.amount` and, from the third place on, the kind and the start of each window: what `holdsText` wrote of plans. */
export function partsOf(text: string): readonly PlanPart[] {
  if (!text.includes(PART)) return NO_PARTS;
  const parts = text.split(" ").filter((part) => part.startsWith(PART));
  return parts.map((part) => {
    const [period = "0", amount = "0", ...windows] = part.slice(PART.length).split(".");
    return { periodId: Number(period), amount: BigInt(amount), windows: windows.map(windowName) };
  });
}

const NO_PARTS: readonly PlanPart[] = [];

function windowName(text: string): PlanPart["windows"][number] {
  const [kind = "", start = "0"] = text.split(":");
  // Written by `holdsText` alone.
  return { kind: kind as PlanPart["windows"][number]["kind"], start: Number(start) };
}

export function holdsText(holds: readonly Hold[] = [], parts: readonly PlanPart[] = []): string {
  const limits = holds.length === 0 ? "" : listText(holds);
  if (parts.length === 0) return limits;
  return [...(limits === "" ? [] : [limits]), ...partTexts(parts)].join(" ");
}

/** Of lists of holds: the calls of one caller share theirs, and each is written twice. */
const texts = new WeakMap<readonly Hold[], string>();

function listText(holds: readonly Hold[]): string {
  const known = texts.get(holds);
  if (known !== undefined) return known;
  const text = holds.map(holdText).join(" ");
  texts.set(holds, text);
  return text;
}

function partTexts(parts: readonly PlanPart[]): string[] {
  return parts.map(({ periodId, amount, windows }) =>
    [PART + periodId, amount, ...windows.map(({ kind, start }) => `${kind}:${start}`)].join("."),
  );
}

function holdText({ limitId, holder, start, isCalls, slice }: Hold): string {
  return `${limitId}.${holder}.${start}.${isCalls ? "c" : "q"}.${slice}`;
}

export function bookedEntry(row: BookedRow): Booked {
  return { kind: row.kind, amount: BigInt(row.amount), shortfall: BigInt(row.shortfall) };
}

/** An amount as the database and all code outside the ledger see it. Throws: RangeError when it is not exact. */
export function toNumber(amount: bigint): number {
  const value = Number(amount);
  if (!Number.isSafeInteger(value)) throw new RangeError(`${amount} is too large to be stored`);
  return value;
}

/** A count is an integer that is not below 0. */
export type ColumnType = "int" | "count" | "text";
export type Value = number | string;

/** How one kind of change is written: columns with their types, and the values of one item in that order. */
export interface Sheet<Item> {
  readonly table: string;
  readonly columns: readonly (readonly [name: string, type: ColumnType])[];
  values(item: Item): Value[];
}

/** New balances; the first column finds the row. */
export const USER_SHEET: Sheet<UserBook> = {
  table: "users",
  columns: [
    ["id", "int"],
    ["quota", "int"],
    ["used_quota", "int"],
    ["request_count", "int"],
    ["bought", "text"],
  ],
  values: (user) => [
    user.id,
    toNumber(user.quota),
    toNumber(user.usedQuota),
    user.requestCount,
    boughtText(user.bought),
  ],
};

export const TOKEN_SHEET: Sheet<TokenBook> = {
  table: "tokens",
  columns: [
    ["id", "int"],
    ["remain_quota", "int"],
    ["used_quota", "int"],
    ["status", "int"],
    ["accessed_time", "int"],
  ],
  values: (token) => [
    token.id,
    toNumber(token.remainQuota),
    toNumber(token.usedQuota),
    token.status,
    token.accessedTime,
  ],
};

/** The part of a reservation that changes. */
export const SEEN_SHEET: Sheet<Reservation> = {
  table: "reservations",
  columns: [
    ["request_id", "text"],
    ["amount", "count"],
    ["channel_id", "int"],
    ["seen_charge", "int"],
    ["seen_prompt_tokens", "int"],
    ["seen_completion_tokens", "int"],
  ],
  values: (held) => [
    held.requestId,
    toNumber(held.amount),
    held.channelId,
    toNumber(held.seenCharge),
    held.seenPromptTokens,
    held.seenCompletionTokens,
  ],
};

export const RESERVATION_SHEET: Sheet<Reservation> = {
  table: "reservations",
  columns: [
    ...SEEN_SHEET.columns,
    ["user_id", "int"],
    ["token_id", "int"],
    ["model_name", "text"],
    ["created_at", "int"],
    ["node", "text"],
    ["token_limited", "int"],
    ["holds", "text"],
  ],
  values: (held) => [
    ...SEEN_SHEET.values(held),
    held.userId,
    held.tokenId,
    held.modelName,
    held.createdAt,
    held.node,
    held.isTokenLimited ? 1 : 0,
    holdsText(held.holds, held.parts),
  ],
};

export const LEDGER_SHEET: Sheet<LedgerEntry> = {
  table: "ledger",
  columns: [
    ["created_at", "int"],
    ["kind", "text"],
    ["user_id", "int"],
    ["token_id", "int"],
    ["channel_id", "int"],
    ["amount", "int"],
    ["token_amount", "int"],
    ["request_id", "text"],
    ["shortfall", "count"],
    ["actor_id", "int"],
    ["detail", "text"],
    ["holds", "text"],
  ],
  values: (entry) => [
    entry.createdAt,
    entry.kind,
    entry.userId,
    entry.tokenId,
    entry.channelId,
    toNumber(entry.amount),
    toNumber(entry.tokenAmount),
    entry.requestId,
    toNumber(entry.shortfall),
    entry.actorId,
    entry.detail,
    holdsText(entry.holds, entry.parts),
  ],
};

export const LOG_SHEET: Sheet<NewLog> = {
  table: "logs",
  columns: [
    ["user_id", "int"],
    ["created_at", "int"],
    ["type", "int"],
    ["content", "text"],
    ["username", "text"],
    ["token_id", "int"],
    ["token_name", "text"],
    ["model_name", "text"],
    ["quota", "int"],
    ["prompt_tokens", "int"],
    ["completion_tokens", "int"],
    ["cached_tokens", "int"],
    ["channel_id", "int"],
    ["request_id", "text"],
    ["elapsed_time", "int"],
    ["first_byte_time", "int"],
    ["is_stream", "int"],
    ["estimated", "int"],
    ["trail", "text"],
    ["key_id", "int"],
    ["member_id", "int"],
    ["project_id", "int"],
    ["cost", "int"],
    ["earned", "text"],
    ["token_kinds", "text"],
    ["price_version", "int"],
  ],
  values: (log) => [
    log.user_id,
    log.created_at,
    log.type,
    log.content,
    log.username,
    log.token_id,
    log.token_name,
    log.model_name,
    log.quota,
    log.prompt_tokens,
    log.completion_tokens,
    log.cached_tokens,
    log.channel_id,
    log.request_id,
    log.elapsed_time,
    log.first_byte_time,
    log.is_stream,
    log.estimated,
    log.trail,
    log.key_id ?? 0,
    log.member_id ?? 0,
    log.project_id ?? 0,
    log.cost ?? -1,
    log.earned ?? "",
    log.token_kinds ?? "",
    log.price_version ?? -1,
  ],
};

/** The names of a sheet's columns for an INSERT. */
export function columnNames(sheet: Sheet<never>): string {
  return sheet.columns.map(([name]) => name).join(", ");
}
