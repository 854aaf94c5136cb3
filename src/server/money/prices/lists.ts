// Reads published price lists in five shapes into ratios (requirements X01). Pure; throws PriceListError for a text that is no such list.
// Numbers are read from their text, so that 2.5e-06 a token is exactly 2.5 dollars a million.
import type { PriceFlag, PriceFormat } from "#contract/price-list.ts";
import { divide, multiply, parseRational, type Rational } from "#server/money/rational.ts";

/** What a list says of one model; ratios as exact fractions. */
export interface Listed {
  readonly input: Rational;
  readonly output: Rational | undefined;
  readonly cacheRead: Rational | undefined;
  readonly cacheWrite: Rational | undefined;
}

/** By model: its price, or why the list has none that can be used. */
export type PriceList = ReadonlyMap<string, Listed | PriceFlag>;

/** A text that is no price list; the message is for the user. */
export class PriceListError extends Error {
  override readonly name = "PriceListError";
}

/** Ratio 1 = 2 dollars a million tokens (requirements W14). */
const DOLLARS_OF_RATIO = { n: 2n, d: 1n };
const MILLION = { n: 1_000_000n, d: 1n };
const ONE = { n: 1n, d: 1n };

type Fields = Readonly<Record<string, unknown>>;

/** Models of a list stand at most once; a second row makes the price doubtful beyond use. */
class Found {
  readonly list = new Map<string, Listed | PriceFlag>();

  add(model: string, price: Listed | PriceFlag): void {
    if (model === "") return;
    this.list.set(model, this.list.has(model) ? "twice" : price);
  }
}

/** Reads a list; without a format it is told by the shape. Throws: PriceListError. */
export function readPriceList(text: string, format?: PriceFormat): { format: PriceFormat; list: PriceList } {
  const root = parse(text);
  const shape = format ?? shapeOf(root);
  if (shape === undefined) throw new PriceListError("认不出这种价目表，请选择格式");
  const list = READERS[shape](root);
  if (list.size === 0) throw new PriceListError("价目表中没有模型，请检查格式与地址");
  return { format: shape, list };
}

/** JSON with every number as its text. */
function parse(text: string): Fields {
  const reviver = (_key: string, value: unknown, context?: { source?: string }) =>
    typeof value === "number" ? (context?.source ?? String(value)) : value;
  let root: unknown;
  try {
    root = JSON.parse(text, reviver);
  } catch {
    throw new PriceListError("价目表不是 JSON");
  }
  if (!isFields(root)) throw new PriceListError("价目表须为 JSON 对象");
  return root;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});
const rowsOf = (value: unknown): Fields[] => (Array.isArray(value) ? value.filter(isFields) : []);
const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

function shapeOf(root: Fields): PriceFormat | undefined {
  const [first] = rowsOf(root["data"]);
  if (first && "model_name" in first) return "new-api";
  if (first && "pricing" in first) return "openrouter";
  if (isFields(root["data"]) && isFields(root["data"]["model_ratio"])) return "new-api-ratio";
  const entries = Object.values(root).filter(isFields);
  if (entries.some((entry) => isFields(entry["models"]))) return "models.dev";
  if (entries.some((entry) => "litellm_provider" in entry)) return "litellm";
  return undefined;
}

const READERS: Readonly<Record<PriceFormat, (root: Fields) => PriceList>> = {
  "models.dev": readModelsDev,
  litellm: readLiteLlm,
  openrouter: readOpenRouter,
  "new-api": readNewApi,
  "new-api-ratio": readNewApiRatios,
};

/** Who makes models: their own price comes before that of a reseller, and before each other in this order. */
const MAKERS =
  "openai anthropic google deepseek xai mistral moonshotai alibaba zhipuai minimax cohere groq perplexity".split(
    " ",
  );

function readModelsDev(root: Fields): PriceList {
  const list = new Map<string, Listed | PriceFlag>();
  for (const maker of MAKERS) {
    for (const [model, entry] of Object.entries(fieldsOf(fieldsOf(root[maker])["models"]))) {
      const cost = fieldsOf(fieldsOf(entry)["cost"]);
      if (list.has(model) || Object.keys(cost).length === 0) continue;
      list.set(model, priced(ONE, cost["input"], cost["output"], cost["cache_read"], cost["cache_write"]));
    }
  }
  return list;
}

/** Rows that are an example or a rule. */
const NO_MODELS = new Set(["sample_spec", "fallback_generalizations"]);

function readLiteLlm(root: Fields): PriceList {
  const found = new Found();
  for (const [model, value] of Object.entries(root)) {
    const entry = fieldsOf(value);
    if (NO_MODELS.has(model) || !("litellm_provider" in entry)) continue;
    // A picture, a second, a call: these are no prices of tokens.
    if (!("input_cost_per_token" in entry)) {
      found.add(model, "per_call");
      continue;
    }
    const read = entry["cache_read_input_token_cost"];
    const write = entry["cache_creation_input_token_cost"];
    found.add(
      model,
      priced(MILLION, entry["input_cost_per_token"], entry["output_cost_per_token"], read, write),
    );
  }
  return found.list;
}

function readOpenRouter(root: Fields): PriceList {
  const found = new Found();
  for (const entry of rowsOf(root["data"])) {
    const id = textOf(entry["id"]);
    const pricing = fieldsOf(entry["pricing"]);
    // A variable price is none, and the free variant of a model is another offer.
    if (textOf(pricing["prompt"]).startsWith("-") || id.includes(":")) continue;
    const { prompt, completion, input_cache_read, input_cache_write } = pricing;
    const model = id.slice(id.indexOf("/") + 1);
    found.add(model, priced(MILLION, prompt, completion, input_cache_read, input_cache_write));
  }
  return found.list;
}

function readNewApi(root: Fields): PriceList {
  const found = new Found();
  for (const entry of rowsOf(root["data"])) {
    const isPerCall = textOf(entry["quota_type"]) === "1" || textOf(entry["billing_mode"]) === "tiered_expr";
    const price = isPerCall
      ? "per_call"
      : ratios(
          entry["model_ratio"],
          entry["completion_ratio"],
          entry["cache_ratio"],
          entry["create_cache_ratio"],
        );
    found.add(textOf(entry["model_name"]), price);
  }
  return found.list;
}

/** What New API shows for a model that it has no price for. */
const UNKNOWN_RATIO = "37.5";

function readNewApiRatios(root: Fields): PriceList {
  const data = fieldsOf(root["data"]);
  const table = (name: string) => fieldsOf(data[name]);
  const found = new Found();
  for (const [model, ratio] of Object.entries(table("model_ratio"))) {
    const completion = own(table("completion_ratio"), model);
    if (ratio === UNKNOWN_RATIO && (completion === undefined || completion === "1")) continue;
    const cache = own(table("cache_ratio"), model);
    found.add(model, ratios(ratio, completion, cache, own(table("create_cache_ratio"), model)));
  }
  return found.list;
}

function own(table: Fields, name: string): unknown {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

/** A price in dollars, `factor` times for a million tokens. */
function priced(factor: Rational, ...[input, output, cacheRead, cacheWrite]: unknown[]): Listed | PriceFlag {
  const dollars = read(input);
  if (dollars === undefined || dollars.n === 0n) return "unreadable";
  const part = (value: unknown) => {
    const dollarsOfPart = read(value);
    return dollarsOfPart && divide(dollarsOfPart, dollars);
  };
  if ([output, cacheRead, cacheWrite].some(isBroken)) return "unreadable";
  const perMillion = multiply(dollars, factor);
  return {
    input: divide(perMillion, DOLLARS_OF_RATIO),
    output: part(output),
    cacheRead: part(cacheRead),
    cacheWrite: part(cacheWrite),
  };
}

function ratios(...[input, output, cacheRead, cacheWrite]: unknown[]): Listed | PriceFlag {
  const ratio = read(input);
  if (ratio === undefined || ratio.n === 0n) return "unreadable";
  if ([output, cacheRead, cacheWrite].some(isBroken)) return "unreadable";
  return {
    input: ratio,
    output: read(output),
    cacheRead: read(cacheRead),
    cacheWrite: read(cacheWrite),
  };
}

/** Something stands there, but no number that is not negative. */
function isBroken(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "" && read(value) === undefined;
}

function read(value: unknown): Rational | undefined {
  if (typeof value !== "string" || !/^\d+(\.\d+)?(e[+-]?\d{1,2})?$/i.test(value)) return undefined;
  return parseRational(value);
}
