// Options: known ones by the same check as in the console, so that secrets are sealed too; the others
// are named (requirements W7.5), never what they hold, which may be a secret.
import { isOptionKey, type OptionKey, optionTable } from "#contract/option.ts";
import { OptionError, type Options } from "#server/options.ts";
import { callPrices, pageOf, quotaPerUnitIn } from "./new-api-options.ts";
import { isRatioTable, tableIn, withoutBadRows } from "./ratio-tables.ts";
import { textOf } from "./row.ts";
import type { Source } from "./source.ts";
import type { Tally } from "./tally.ts";
import type { Target } from "./target.ts";

/** Options that a descendant of One API (New API) calls otherwise, with the same meaning and form. */
const RENAMED: ReadonlyMap<string, OptionKey> = new Map([
  ["CreateCacheRatio", "CacheWriteRatio"],
  ["general_setting.docs_link", "DocsLink"],
]);

/** Every option of a source. */
export type Found = ReadonlyMap<string, string>;

export interface Settings {
  readonly found: Found;
  /** The texts that stand here now. */
  readonly taken: ReadonlyMap<OptionKey, string>;
}

/** Every option of a source; none where it has no such table. */
export async function readFound(source: Source): Promise<Found> {
  const found = new Map<string, string>();
  if (!source.tables.has("options")) return found;
  for await (const row of source.rows("options")) found.set(textOf(row, "key"), textOf(row, "value"));
  return found;
}

export interface Offered {
  readonly found: Found;
  /** Options that the source keeps elsewhere. */
  readonly made: ReadonlyMap<OptionKey, string>;
}

/** Imports the options; `options` is undefined in a dry run. */
export async function importSettings(
  { found, made }: Offered,
  target: Target,
  options: Options | undefined,
): Promise<Settings> {
  const taken = new Map<OptionKey, string>();
  const { tally, store } = target;
  const count = tally.of("options");
  count.found = new Set([...found.keys(), ...made.keys()]).size;
  for (const [key, offered] of [...offersOf(found, tally), ...made]) {
    const text = isRatioTable(key) ? withoutBadRows(key, offered, tally) : offered;
    const refusal = await save(key, text, store && options ? { db: store.db, options } : undefined);
    if (refusal === undefined) taken.set(key, text);
    else {
      count.skipped += 1;
      tally.remarkAll("options with a text that is not accepted keep their default", `${key}: ${refusal}`);
    }
  }
  count.written = count.found - count.skipped;
  return { found, taken };
}

/** What the source says of the options that exist here; what has no place here is named. */
function offersOf(found: Found, tally: Tally): Map<OptionKey, string> {
  const offers = new Map<OptionKey, string>();
  const foreign: [name: string, text: string][] = [];
  for (const [name, text] of found) {
    const key = RENAMED.get(name) ?? name;
    if (isOptionKey(key)) offers.set(key, text);
    else foreign.push([name, text]);
  }
  for (const [name, text] of foreign) {
    const isKept =
      (name === "Chats" && keepPage(text, offers, tally)) ||
      (name === "ModelPrice" && keepPrices(text, quotaPerUnitIn(found), { offers, tally }));
    if (isKept) continue;
    tally.of("options").skipped += 1;
    tally.remarkAll("options that do not exist here were left out", name);
  }
  return offers;
}

/** One of New API's pages to chat, where One API's own option names none. */
function keepPage(text: string, offers: Map<OptionKey, string>, tally: Tally): boolean {
  const page = offers.get("ChatLink") ? undefined : pageOf(text);
  if (page === undefined) return false;
  offers.set("ChatLink", page.address);
  const left = page.others.length > 0 ? ` (left out: ${page.others.join(", ")})` : "";
  tally.remark("of Chats one page was kept as ChatLink, which is given no key here", `${page.name}${left}`);
  return true;
}

/** New API's prices per call: those of pictures are ratios here, others too where a call is charged as one. Returns whether all could be kept. */
function keepPrices(
  text: string,
  quotaPerUnit: number,
  { offers, tally }: { offers: Map<OptionKey, string>; tally: Tally },
): boolean {
  const prices = callPrices(text, quotaPerUnit);
  const stored = tableIn(offers.get("ModelRatio") ?? "{}");
  // A table that cannot be read is reported by its own name.
  if (prices === undefined || stored === undefined) return false;
  const { ratios, calls } = prices;
  if (Object.keys({ ...ratios, ...calls }).length > 0)
    offers.set("ModelRatio", JSON.stringify({ ...stored, ...ratios, ...calls }));
  const names = Object.keys(calls);
  if (names.length > 0)
    offers.set("ModelUnits", JSON.stringify(Object.fromEntries(names.map((name) => [name, "call"]))));
  for (const picture of Object.keys(ratios))
    tally.remarkAll("prices per call became ratios of pictures", picture);
  for (const name of names) tally.remarkAll("prices per call are charged by the call here too", name);
  for (const other of prices.others)
    tally.remarkAll("prices per call (ModelPrice) have no place here", other);
  return prices.others.length === 0;
}

/** Checks and writes one. Returns why it was not accepted. */
async function save(
  key: OptionKey,
  text: string,
  into: { db: Parameters<Options["write"]>[0]; options: Options } | undefined,
): Promise<string | undefined> {
  const read = optionTable[key].schema.safeDecode(text as never);
  if (!read.success) return read.error.issues[0]?.message ?? "";
  try {
    await into?.options.write(into.db, key, text);
    return undefined;
  } catch (error) {
    if (error instanceof OptionError) return error.message;
    throw error;
  }
}
