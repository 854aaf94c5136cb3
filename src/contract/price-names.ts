// Under which names the price of a model is looked for. Pure; knows no price.

/** The name a price is looked up by: `qwen-…-internet` and `command-…-internet` lose the suffix (requirements W10.8). */
export function pricedName(model: string): string {
  return /^(qwen|command)-.*-internet$/.test(model) ? model.slice(0, -"-internet".length) : model;
}

const EFFORT_WORDS: ReadonlySet<string> = new Set(
  "thinking none minimal low medium high xhigh max".split(" "),
);

/**
 * A name without the word at its end that says how much to think; undefined = it has none. Source: vendors/openai-reasoning,
 * vendors/claude-thinking.
 */
export function withoutEffort(model: string): string | undefined {
  const at = model.lastIndexOf("-");
  const isNamed = EFFORT_WORDS.has(model.slice(at + 1)) && /claude|^(o\d|gpt-[56])/.test(model);
  return isNamed ? model.slice(0, at) : undefined;
}

/** The names a price is looked for under, in this order: of the requested model, then of the one it is mapped to (requirements W9.4, W10.8). */
export function priceNames(model: string, upstreamModel: string): readonly string[] {
  // However much a model thinks, a token of it costs the same.
  return [model, upstreamModel].flatMap((name) => [name, pricedName(name), withoutEffort(name) ?? name]);
}
