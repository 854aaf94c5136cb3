// Reads what an administrator pasted: many keys as lines, a JSON list, or CSV. Says which are new and which cannot be used (C29).
import { KEY_CSV_COLUMNS, type KeyPreview, MOST_KEYS } from "#contract/channel-key.ts";
import { ChannelTimes, NO_TIMES, type StoredTimes } from "#contract/channel-limits.ts";
import { unguarded } from "#contract/csv.ts";
import { wireOf } from "#contract/provider.ts";
import { cleanKey, jsonObjectOf } from "#contract/provider-key.ts";
import { providerOf } from "#contract/providers.ts";
import { KEY_CONTEXT } from "#server/channels/key-rings.ts";
import { sealProxy } from "#server/channels/proxies.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { countKeys, findKeyOwners, findOwnHashes } from "#server/store/channel-key-lists.ts";
import { type NewKey, newKey } from "#server/store/channel-keys.ts";
import type { ChannelRow } from "#server/store/channels.ts";
import { signers } from "#server/upstream/signers/index.ts";

const MOST_TOLD = 20;
const LONGEST_KEY = 16_384;

interface Pasted {
  /** From 1. */
  readonly line: number;
  readonly key: string;
  readonly name: string;
  readonly weight: number;
  readonly proxy: string;
  readonly times: StoredTimes;
}

/** The keys in a text, those that can be used and are new here sealed; and what is told of all. Throws: AppError when there are too many. */
export async function readKeys(
  ctx: Context,
  channel: ChannelRow,
  text: string,
): Promise<{ readonly preview: KeyPreview; readonly keys: readonly NewKey[] }> {
  const pasted = pastedIn(text);
  if (pasted.length > MOST_KEYS) throw faults.refused(`一个渠道最多 ${MOST_KEYS} 个密钥`);
  const malformed: { line: number; reason: string }[] = [];
  const fresh = new Map<string, Pasted>();
  let repeated = 0;
  for (const one of pasted) {
    const reason = problemOf(ctx, channel, one);
    const hash = ctx.secrets.hash(one.key);
    if (reason !== undefined) malformed.push({ line: one.line, reason });
    else if (fresh.has(hash)) repeated += 1;
    else fresh.set(hash, one);
  }
  const hashes = [...fresh.keys()];
  const owners = await findKeyOwners(ctx.db, hashes);
  const own = await findOwnHashes(ctx.db, channel.id, hashes);
  const isKnown = (hash: string) => own.has(hash) || owners.get(hash) === channel.id;
  const added = hashes.filter((hash) => !isKnown(hash));
  const all = { status: 0, keyword: "" };
  // A channel with one key has no row for it yet.
  checkCount((await countKeys(ctx.db, channel.id, all)) || 1, added.length);
  const elsewhere = added.filter((hash) => owners.has(hash));
  const now = ctx.clock.seconds();
  const preview = {
    fresh: added.length,
    known: hashes.length - added.length,
    repeated,
    elsewhere: elsewhere.length,
    elsewhere_channels: [...new Set(elsewhere.map((hash) => owners.get(hash) ?? 0))].slice(0, MOST_TOLD),
    malformed: malformed.length,
    malformed_lines: malformed.slice(0, MOST_TOLD),
  };
  const keys = added.flatMap((hash) => {
    const one = fresh.get(hash);
    if (one === undefined) return [];
    const sealed = { key_hash: hash, key_sealed: ctx.secrets.seal(one.key, KEY_CONTEXT) };
    const { name, weight, proxy, times } = one;
    const own = { name, weight, ...times, proxy_sealed: sealProxy(ctx.secrets, proxy) };
    return [{ ...newKey(now), ...sealed, ...own }];
  });
  return { preview, keys };
}

/** Throws: AppError when a channel that has so many keys would have too many with those that come. */
export function checkCount(own: number, added: number): void {
  if (own + added <= MOST_KEYS) return;
  throw faults.refused(`一个渠道最多 ${MOST_KEYS} 个密钥：已有 ${own} 个，本次新增 ${added} 个`);
}

/** Why a key cannot be used here; undefined = it can. */
function problemOf(ctx: Context, channel: ChannelRow, { key, proxy, times }: Pasted): string | undefined {
  const row = providerOf(channel.type);
  if (row === undefined) return "不支持该渠道类型";
  if (key.length > LONGEST_KEY) return "密钥过长";
  if (hasBlank(key)) return "密钥中间有空格，请检查是否粘贴完整";
  const wire = wireOf(row, { key, baseUrl: channel.base_url, other: channel.other, model: "" });
  const problem = signers[wire.signer].check(key);
  if (problem !== undefined) return problem;
  const timed = ChannelTimes.safeParse(times);
  if (!timed.success) return timed.error.issues[0]?.message ?? "时限有误";
  return proxy === "" ? undefined : ctx.egress.refusalOfProxy(proxy);
}

/** Within a part of a key: no vendor's has one, so a remark or two keys came along. A key that is a JSON object has its own. */
function hasBlank(key: string): boolean {
  return /[^\s|]\s+[^\s|]/.test(cleanKey(key)) && jsonObjectOf(key) === undefined;
}

function pastedIn(text: string): Pasted[] {
  const list = listIn(text);
  if (list !== undefined) return list;
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\r|\n/);
  const columns = columnsIn(lines[0] ?? "");
  return lines.flatMap((raw, index): Pasted[] => {
    const trimmed = raw.trim();
    if (trimmed === "" || (columns !== undefined && index === 0)) return [];
    return [columns === undefined ? plain(trimmed, index + 1) : fromCells(columns, trimmed, index + 1)];
  });
}

/** The columns of a CSV of keys by the names in its heading; undefined = it is none. */
function columnsIn(line: string): readonly string[] | undefined {
  const [first, ...others] = line.split(",").map((cell) => cell.trim().toLowerCase());
  const isKnown = others.every((name) => KEY_CSV_COLUMNS.some((column) => column === name));
  return first === "key" && others.length > 0 && isKnown ? ["key", ...others] : undefined;
}

/**
 * The cells of a line of CSV (RFC 4180): the export puts a name or a JSON key with commas into quotes, and a guard in front of what a
 * spreadsheet would change.
 */
function cellsOf(line: string): string[] {
  return [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].map(([, cell = ""]) =>
    unguarded(cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell.trim()),
  );
}

function fromCells(columns: readonly string[], text: string, line: number): Pasted {
  const cells = cellsOf(text);
  const at = (column: string) => cells[columns.indexOf(column)] ?? "";
  const weight = at("weight") === "" ? 1 : Number(at("weight"));
  const isWhole = Number.isInteger(weight) && weight >= 0 && weight <= 1_000_000;
  // An empty cell is 0: as the channel.
  const times = {
    connect_ms: Number(at("connect_ms")),
    first_byte_ms: Number(at("first_byte_ms")),
    idle_ms: Number(at("idle_ms")),
    total_ms: Number(at("total_ms")),
  };
  const name = at("name").slice(0, 100);
  return { line, key: at("key"), name, weight: isWhole ? weight : 1, proxy: at("proxy"), times };
}

function plain(key: string, line: number): Pasted {
  return { line, key, name: "", weight: 1, proxy: "", times: NO_TIMES };
}

/** The keys of a JSON list, each a text or an object (a service account); one such object alone is one key. undefined = it is no JSON. */
function listIn(text: string): Pasted[] | undefined {
  if (jsonObjectOf(text) !== undefined) return [plain(JSON.stringify(jsonObjectOf(text)), 1)];
  if (!text.trimStart().startsWith("[")) return undefined;
  try {
    const list: unknown = JSON.parse(text);
    if (!Array.isArray(list)) return undefined;
    const texts = list.map((item: unknown) =>
      typeof item === "string" ? item.trim() : JSON.stringify(item),
    );
    return texts.flatMap((key, index) => (key === "" ? [] : [plain(key, index + 1)]));
  } catch {
    return undefined;
  }
}
