// Options of New API that have another form here: of its pages to chat one can be kept, and prices of pictures and calls.
import { unitOf } from "#contract/charged-unit.ts";
import { abilityOf } from "#contract/model-kinds.ts";
import { TOKENS_OF_UNIT } from "#contract/price-unit.ts";
import { chargeUnit } from "#contract/prices.ts";
import { tableIn } from "./ratio-tables.ts";

/** What both have until an operator changes it. */
const QUOTA_PER_UNIT = 500_000;
/** Quota of one picture at ratio 1 (requirements W12.1). */
export const PICTURE_QUOTA = 1_000;

export interface Page {
  readonly name: string;
  readonly address: string;
  /** Names of the pages that were not kept. */
  readonly others: readonly string[];
}

/** The first page of a list `[{name: address}]` that a browser can show without a key; undefined = there is none. */
export function pageOf(text: string): Page | undefined {
  const pages = entriesIn(text);
  for (const [at, [name, address]] of pages.entries()) {
    const plain = withoutKey(address);
    if (plain === undefined) continue;
    return { name, address: plain, others: pages.filter((_, index) => index !== at).map(([other]) => other) };
  }
  return undefined;
}

function entriesIn(text: string): [name: string, address: string][] {
  try {
    const list: unknown = JSON.parse(text);
    if (!Array.isArray(list)) return [];
    return list.flatMap((page: unknown) =>
      Object.entries(page ?? {}).map(([name, address]): [string, string] => [name, String(address)]),
    );
  } catch {
    return [];
  }
}

/** An address up to the query or fragment that was to be filled in with a key; undefined = no address of a page. */
function withoutKey(address: string): string | undefined {
  const [plain = ""] = address.split(/[?#](?=.*\{)/s);
  return /^https?:\/\//i.test(plain) && !plain.includes("{") ? plain : undefined;
}

export interface CallPrices {
  /** Model → ratio at which a picture costs what a call of it did. */
  readonly ratios: Readonly<Record<string, number>>;
  /** The same of models that are charged by the call here too (`ModelUnits`). */
  readonly calls: Readonly<Record<string, number>>;
  /** Models whose price has no place here. */
  readonly others: readonly string[];
}

/** What becomes of prices per call in dollars; undefined = it is no table. */
export function callPrices(text: string, quotaPerUnit: number): CallPrices | undefined {
  const table = tableIn(text);
  if (table === undefined) return undefined;
  const isPrice = (usd: unknown) => typeof usd === "number" && usd >= 0;
  const isPicture = (name: string) => Object.hasOwn(chargeUnit, name) && chargeUnit[name] === "image";
  const rows = Object.entries(table);
  const ratiosOf = (isOne: (name: string) => boolean, quota: number) =>
    Object.fromEntries(
      rows
        .filter(([name, usd]) => isPrice(usd) && isOne(name))
        .map(([name, usd]) => [name, (Number(usd) * quotaPerUnit) / quota]),
    );
  const ratios = ratiosOf(isPicture, PICTURE_QUOTA);
  const calls = ratiosOf(isOneCall, TOKENS_OF_UNIT.call);
  const isKept = (name: string) => Object.hasOwn(ratios, name) || Object.hasOwn(calls, name);
  return { ratios, calls, others: rows.map(([name]) => name).filter((name) => !isKept(name)) };
}

/** Where a call is charged as one there and would be here: of pictures there each counts, and a conversation has many answers. */
function isOneCall(name: string): boolean {
  return unitOf(name, {}) === "token" && !["image", "realtime"].includes(abilityOf(name));
}

/** Quota of a dollar by the options of a source. */
export function quotaPerUnitIn(found: ReadonlyMap<string, string>): number {
  const set = Number(found.get("QuotaPerUnit"));
  return set > 0 && Number.isFinite(set) ? set : QUOTA_PER_UNIT;
}
