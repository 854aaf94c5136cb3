// Reads what an administrator pasted: many keys as lines, a JSON list, or CSV. Says which are new and which cannot be used (C29).
import type { KeyPreview } from "#contract/channel-key.ts";
import { wireOf } from "#contract/provider.ts";
import { jsonObjectOf } from "#contract/provider-key.ts";
import { providerOf } from "#contract/providers.ts";
import { KEY_CONTEXT } from "#server/channels/key-rings.ts";
import { sealProxy } from "#server/channels/proxies.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { findKeyOwners, findOwnHashes } from "#server/store/channel-key-lists.ts";
import { type NewKey, newKey } from "#server/store/channel-keys.ts";
import type { ChannelRow } from "#server/store/channels.ts";
import { signers } from "#server/upstream/signers/index.ts";

/** Keys of one channel. */
const MOST_KEYS = 10_000;
const MOST_TOLD = 20;
const LONGEST_KEY = 16_384;
const CSV_HEAD = /^\uFEFF?key\s*,\s*name(\s*,\s*weight)?(\s*,\s*proxy)?\s*$/i;

interface Pasted {
  /** From 1. */
  readonly line: number;
  readonly key: string;
  readonly name: string;
  readonly weight: number;
  readonly proxy: string;
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
    const { name, weight, proxy } = one;
    return [{ ...newKey(now), ...sealed, name, weight, proxy_sealed: sealProxy(ctx.secrets, proxy) }];
  });
  return { preview, keys };
}

/** Why a key cannot be used here; undefined = it can. */
function problemOf(ctx: Context, channel: ChannelRow, { key, proxy }: Pasted): string | undefined {
  const row = providerOf(channel.type);
  if (row === undefined) return "不支持该渠道类型";
  if (key.length > LONGEST_KEY) return "密钥过长";
  const wire = wireOf(row, { key, baseUrl: channel.base_url, other: channel.other, model: "" });
  const problem = signers[wire.signer].check(key);
  if (problem !== undefined) return problem;
  return proxy === "" ? undefined : ctx.egress.refusalOfProxy(proxy);
}

function pastedIn(text: string): Pasted[] {
  const list = listIn(text);
  if (list !== undefined) return list;
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\r|\n/);
  const isCsv = CSV_HEAD.test(lines[0]?.trim() ?? "");
  return lines.flatMap((raw, index): Pasted[] => {
    const trimmed = raw.trim();
    if (trimmed === "" || (isCsv && index === 0)) return [];
    if (!isCsv) return [plain(trimmed, index + 1)];
    const [key = "", name = "", weight = "", proxy = ""] = trimmed.split(",").map((cell) => cell.trim());
    const number = weight === "" ? 1 : Number(weight);
    const isWhole = Number.isInteger(number) && number >= 0 && number <= 1_000_000;
    return [{ line: index + 1, key, name: name.slice(0, 100), weight: isWhole ? number : 1, proxy }];
  });
}

function plain(key: string, line: number): Pasted {
  return { line, key, name: "", weight: 1, proxy: "" };
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
