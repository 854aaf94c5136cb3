// Reads published price lists in five shapes into ratios (requirements X01). Pure; throws PriceListError for a text that is no such list.

import { repeatedNames } from "#contract/json-names.ts";
import type { PriceFlag, PriceFormat } from "#contract/price-list.ts";
import type { PriceUnit } from "#contract/price-unit.ts";
import {
  dayIn,
  type Fields,
  fieldsOf,
  isFields,
  own,
  PriceListError,
  parseList,
  rowsOf,
  textOf,
} from "./list-json.ts";
import {
  dollarRatios,
  dollarTiers,
  type Listed,
  listed,
  type PriceList,
  plainRatios,
  type RawPrices,
  type ReadTiers,
} from "./listed.ts";

const ONE = { n: 1n, d: 1n };
const MILLION = { n: 1_000_000n, d: 1n };

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
  const root = parseList(text);
  const shape = format ?? shapeOf(root);
  if (shape === undefined) throw new PriceListError("认不出这种价目表，请选择格式");
  const list = READERS[shape](root);
  if (list.size === 0) throw new PriceListError("价目表中没有模型，请检查格式与地址");
  return { format: shape, list: doubtful(list, repeatedNames(text)) };
}

/** The list without a price where a model, or something of it, stands twice. Throws: PriceListError where that is of no model of it. */
function doubtful(list: PriceList, repeated: readonly (readonly string[])[]): PriceList {
  if (repeated.length === 0) return list;
  const checked = new Map(list);
  for (const path of repeated) {
    const models = path.filter((name) => list.has(name));
    if (models.length === 0)
      throw new PriceListError(`价目表中“${(path.at(-1) ?? "").slice(0, 100)}”重复出现`);
    for (const model of models) checked.set(model, "twice");
  }
  return checked;
}

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

/** What beside the price itself stands with a model. */
function beside({ tiers, isWhole }: ReadTiers, flags: readonly PriceFlag[] = []) {
  return { tiers, flags: isWhole ? flags : [...flags, "tiers" as const] };
}

/** Who makes models: their own price comes before that of a reseller, and before each other in this order. */
const MAKERS =
  "openai anthropic google deepseek xai mistral moonshotai alibaba zhipuai minimax cohere groq perplexity".split(
    " ",
  );

function readModelsDev(root: Fields): PriceList {
  const list = new Map<string, Listed | PriceFlag>();
  for (const maker of MAKERS)
    for (const [model, value] of Object.entries(fieldsOf(fieldsOf(root[maker])["models"]))) {
      const entry = fieldsOf(value);
      const cost = fieldsOf(entry["cost"]);
      if (Object.keys(cost).length === 0) continue;
      const known = list.get(model);
      list.set(model, known === undefined ? ofModelsDev(entry, cost) : withOther(known, cost));
    }
  return list;
}

/** Another maker's offer does not count, but tells a mistake of units. */
function withOther(known: Listed | PriceFlag, cost: Fields): Listed | PriceFlag {
  const ratios = dollarRatios(modelsDevPrices(cost), ONE);
  return typeof known === "string" || ratios === undefined
    ? known
    : { ...known, others: [...known.others, ratios] };
}

function ofModelsDev(entry: Fields, cost: Fields): Listed | PriceFlag {
  const base = modelsDevPrices(cost);
  const long = fieldsOf(cost["context_over_200k"]);
  const rows = Array.isArray(cost["tiers"])
    ? rowsOf(cost["tiers"]).map((tier) => ({ above: contextOf(tier["tier"]), raw: modelsDevPrices(tier) }))
    : [{ above: "200000", raw: modelsDevPrices(long) }].slice(0, Object.keys(long).length === 0 ? 0 : 1);
  const flags = entry["status"] === "deprecated" ? (["deprecated"] as const) : [];
  return listed(dollarRatios(base, ONE), beside(dollarTiers(rows, { base, factor: ONE }), flags));
}

/** Only the length of the input makes tiers here. */
function contextOf(value: unknown): unknown {
  const { type, size } = fieldsOf(value);
  return type === "context" ? size : undefined;
}

function modelsDevPrices(cost: Fields): RawPrices {
  const { input, output, cache_read, cache_write, input_audio, output_audio } = cost;
  return {
    input,
    output,
    cacheRead: cache_read,
    cacheWrite: cache_write,
    audioIn: input_audio,
    audioOut: output_audio,
  };
}

/** Rows that are an example or a rule. */
const NO_MODELS = new Set(["sample_spec", "fallback_generalizations"]);

function readLiteLlm(root: Fields): PriceList {
  const found = new Found();
  for (const [model, value] of Object.entries(root)) {
    const entry = fieldsOf(value);
    if (!NO_MODELS.has(model) && "litellm_provider" in entry) found.add(model, ofLiteLlm(entry));
  }
  return found.list;
}

function ofLiteLlm(entry: Fields): Listed | PriceFlag {
  const lastDay = dayIn(entry["deprecation_date"]);
  const base = liteLlmPrices(entry, "");
  if (!("input_cost_per_token" in entry)) return ofPieces(entry, lastDay);
  const { tiers, isWhole } = dollarTiers(liteLlmTiers(entry), { base, factor: MILLION });
  return listed(dollarRatios(base, MILLION), { lastDay, ...beside({ tiers, isWhole }) });
}

/** What LiteLLM prices by something else than tokens: its field, the unit it stands for, and how many of its own make one. */
const PIECES: readonly (readonly [field: string, unit: PriceUnit, times: bigint])[] = [
  ["output_cost_per_image", "image", 1n],
  ["input_cost_per_image", "image", 1n],
  ["input_cost_per_character", "character", 1_000_000n],
  ["output_cost_per_video_per_second", "second", 1n],
  ["input_cost_per_second", "minute", 60n],
  ["input_cost_per_query", "call", 1n],
];

function ofPieces(entry: Fields, lastDay: string): Listed | PriceFlag {
  const piece =
    entry["mode"] === "video_generation" && "output_cost_per_second" in entry
      ? (["output_cost_per_second", "second", 1n] as const)
      : PIECES.find(([field]) => field in entry);
  if (piece === undefined) return "per_call";
  const [field, unit, times] = piece;
  return listed(dollarRatios({ input: entry[field] }, { n: times, d: 1n }, unit), { unit, lastDay });
}

function liteLlmPrices(entry: Fields, end: string): RawPrices {
  return {
    input: entry[`input_cost_per_token${end}`],
    output: entry[`output_cost_per_token${end}`],
    cacheRead: entry[`cache_read_input_token_cost${end}`],
    cacheWrite: entry[`cache_creation_input_token_cost${end}`],
    audioIn: entry[`input_cost_per_audio_token${end}`],
    audioOut: entry[`output_cost_per_audio_token${end}`],
    imageIn: entry[`input_cost_per_image_token${end}`],
    imageOut: entry[`output_cost_per_image_token${end}`],
  };
}

/** `…_above_200k_tokens` beside the plain fields, or rows with a range of input. */
function liteLlmTiers(entry: Fields): { above: unknown; raw: RawPrices }[] {
  const ends = Object.keys(entry).flatMap((field) => {
    const [, thousands] = /^input_cost_per_token_above_(\d{1,6})k_tokens$/.exec(field) ?? [];
    return thousands === undefined ? [] : [thousands];
  });
  const rows = ends.map((thousands) => ({
    above: String(Number(thousands) * 1_000),
    raw: liteLlmPrices(entry, `_above_${thousands}k_tokens`),
  }));
  const ranges = rowsOf(entry["tiered_pricing"]).map((tier) => {
    const [from] = Array.isArray(tier["range"]) ? tier["range"] : [];
    return { above: from, raw: liteLlmPrices(tier, "") };
  });
  return [...rows, ...ranges.filter(({ above }) => above !== "0")];
}

function readOpenRouter(root: Fields): PriceList {
  const found = new Found();
  for (const entry of rowsOf(root["data"])) {
    const id = textOf(entry["id"]);
    const pricing = fieldsOf(entry["pricing"]);
    // A variable price is none, and the free variant of a model is another offer.
    if (textOf(pricing["prompt"]).startsWith("-") || id.includes(":")) continue;
    const base = openRouterPrices(pricing);
    const rows = rowsOf(pricing["overrides"]).map((tier) => ({
      above: tier["min_prompt_tokens"],
      raw: openRouterPrices(tier),
    }));
    const lastDay = dayIn(entry["expiration_date"]);
    const tiers = beside(dollarTiers(rows, { base, factor: MILLION }));
    found.add(id.slice(id.indexOf("/") + 1), listed(dollarRatios(base, MILLION), { lastDay, ...tiers }));
  }
  return found.list;
}

/** Its price of a picture counts pictures with one vendor and tokens with another: it is left out. */
function openRouterPrices({
  prompt,
  completion,
  input_cache_read,
  input_cache_write,
  audio,
}: Fields): RawPrices {
  return {
    input: prompt,
    output: completion,
    cacheRead: input_cache_read,
    cacheWrite: input_cache_write,
    audioIn: audio,
  };
}

function readNewApi(root: Fields): PriceList {
  const found = new Found();
  for (const entry of rowsOf(root["data"])) found.add(textOf(entry["model_name"]), ofNewApi(entry));
  return found.list;
}

function ofNewApi(entry: Fields): Listed | PriceFlag {
  if (textOf(entry["billing_mode"]) === "tiered_expr") return "per_call";
  if (textOf(entry["quota_type"]) === "1") {
    const call = dollarRatios({ input: entry["model_price"] }, ONE, "call");
    return call === undefined ? "per_call" : listed(call, { unit: "call", flags: ["per_call"] });
  }
  return listed(
    plainRatios({
      model_ratio: entry["model_ratio"],
      completion_ratio: entry["completion_ratio"],
      cache_ratio: entry["cache_ratio"],
      cache_write_ratio: entry["create_cache_ratio"],
      audio_ratio: entry["audio_ratio"],
      audio_completion_ratio: entry["audio_completion_ratio"],
      image_ratio: entry["image_ratio"],
      image_completion_ratio: undefined,
    }),
  );
}

/** What New API shows for a model that it has no price for. */
const UNKNOWN_RATIO = "37.5";

function readNewApiRatios(root: Fields): PriceList {
  const data = fieldsOf(root["data"]);
  const found = new Found();
  for (const [model, ratio] of Object.entries(fieldsOf(data["model_ratio"]))) {
    const of = (table: string) => own(fieldsOf(data[table]), model);
    const completion = of("completion_ratio");
    if (ratio === UNKNOWN_RATIO && (completion === undefined || completion === "1")) continue;
    const ratios = plainRatios({
      model_ratio: ratio,
      completion_ratio: completion,
      cache_ratio: of("cache_ratio"),
      cache_write_ratio: of("create_cache_ratio"),
      audio_ratio: of("audio_ratio"),
      audio_completion_ratio: of("audio_completion_ratio"),
      image_ratio: of("image_ratio"),
      image_completion_ratio: undefined,
    });
    found.add(model, listed(ratios));
  }
  return found.list;
}
