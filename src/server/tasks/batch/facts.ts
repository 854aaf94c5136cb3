// What is remembered of a batch and of its lines, what a line costs, and what the lines of a part come to. By the price of the moment it was
// submitted; never by what an upstream says of the batch as a whole (requirements C58). Pure.
import {
  charge,
  createPrice,
  estimate,
  explain,
  type Price,
  type PriceRatios,
  ratiosOf,
} from "#server/money/price.ts";
import type { CountedPart } from "#server/store/batch-files.ts";
import type { TaskRow } from "#server/store/tasks.ts";
import type { BatchTimes } from "#server/upstream/batch/wire.ts";
import type { TokenUsage } from "#server/upstream/usage.ts";

/** Lines of one part: what is set aside, and booked, together. */
export const LINES_OF_PART = 1_000;

/**
 * What is counted of a line while it passes: the hash of its custom_id, the most that its input can have, and the output that is expected
 * or its own limit. Unit: LLM tokens.
 */
export type LineFacts = readonly [id: string, input: number, output: number];

interface StoredPrice {
  readonly ratios: PriceRatios;
  /** Of the price tables; absent = an older program noted none. */
  readonly version?: number | undefined;
  readonly tiers: readonly { readonly above: number; readonly ratios: PriceRatios }[];
}

/** What the row of a batch remembers, as JSON. */
export interface BatchFacts {
  /** Of the row in `files`, and what its client knows that file by. */
  readonly file: number;
  readonly inputFile: string;
  readonly endpoint: string;
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly lines: number;
  readonly completed: number;
  readonly failed: number;
  /** The upstream's last word; "" = it has said none. */
  readonly status: string;
  readonly times: BatchTimes;
  /** What its client knows the results by; "" = there are none. */
  readonly outputFile: string;
  readonly errorFile: string;
  /** By model. */
  readonly prices: Readonly<Record<string, StoredPrice>>;
  readonly group: string;
  readonly isGroupNamed: boolean;
}

export function batchFactsOf({ facts }: Pick<TaskRow, "facts">): BatchFacts {
  // What submitBatch wrote.
  return JSON.parse(facts) as BatchFacts;
}

export function linesOf({ facts }: Pick<CountedPart, "facts">): readonly LineFacts[] {
  // What the reader of the file wrote.
  return JSON.parse(facts) as LineFacts[];
}

/** The price of a model's lines, as it is stored. `ratio`: of batches. */
export function storedPrice(price: Price, ratio: number): StoredPrice {
  const batchRatio = String(ratio);
  const tiers = price.tiers.map(({ above, price: tier }) => ({
    above,
    ratios: { ...ratiosOf(tier), batchRatio },
  }));
  return { ratios: { ...ratiosOf(price), batchRatio }, version: price.version, tiers };
}

export function priceOf({ ratios, tiers }: StoredPrice): Price {
  return createPrice(
    ratios,
    tiers.map((tier) => ({ above: tier.above, price: createPrice(tier.ratios) })),
  );
}

/** What is set aside for a line. Unit: quota. */
export function lineEstimate([, input, output]: LineFacts, price: Price): bigint {
  return estimate(input, output, price, 0);
}

/** What the lines of a part come to. JSON. */
export interface PartSum {
  readonly model: string;
  readonly answered: number;
  /** Answered, but their usage was not told: charged as was set aside. */
  readonly untold: number;
  /** Unit: quota. */
  readonly charge: string;
  /** By the price that held: 0 = the first, 1 = the first tier … */
  readonly usages: readonly (readonly [tier: number, usage: TokenUsage])[];
}

/** Adds up the lines of a part, each at its own charge. */
export class PartCounter {
  readonly #model: string;
  readonly #price: Price;
  readonly #usages = new Map<number, TokenUsage>();
  #answered = 0;
  #untold = 0;
  #charge = 0n;

  constructor(model: string, price: Price) {
    this.#model = model;
    this.#price = price;
  }

  /** A line that was answered. */
  add([, input, output]: LineFacts, told: TokenUsage | undefined): void {
    const isTold = told !== undefined && told.promptTokens + told.completionTokens > 0;
    // Every request has a prompt, also where a vendor does not report it.
    const whole = isTold && told.promptTokens === 0 ? { ...told, promptTokens: input } : told;
    const usage =
      isTold && whole !== undefined
        ? whole
        : { promptTokens: input, completionTokens: output, cachedTokens: 0 };
    const tier = this.#price.tiers.findLastIndex(({ above }) => usage.promptTokens > above) + 1;
    this.#usages.set(tier, added(this.#usages.get(tier), usage));
    this.#answered += 1;
    if (!isTold) this.#untold += 1;
    this.#charge += charge(usage, this.#price);
  }

  get charge(): bigint {
    return this.#charge;
  }

  /** undefined = none of its lines was answered. */
  sum(): PartSum | undefined {
    if (this.#answered === 0) return undefined;
    return {
      model: this.#model,
      answered: this.#answered,
      untold: this.#untold,
      charge: String(this.#charge),
      usages: [...this.#usages].toSorted(([one], [other]) => one - other),
    };
  }
}

function added(sum: TokenUsage | undefined, more: TokenUsage): TokenUsage {
  if (sum === undefined) return more;
  const both: Record<string, number> = { ...sum };
  for (const [name, count] of Object.entries(more)) both[name] = (both[name] ?? 0) + count;
  // Sums of the fields of two usages.
  return both as unknown as TokenUsage;
}

/** The usage of a part, and how its charge came about: its lines are rounded up each for itself, so that they come to more. */
export function explainPart(
  { usages, charge: charged, answered, untold }: PartSum,
  listed: Price,
): { readonly usage: TokenUsage; readonly content: string } {
  const total = usages.reduce<TokenUsage | undefined>((sum, [, usage]) => added(sum, usage), undefined);
  const terms = usages.map(([tier, usage]) => {
    const price = tier === 0 ? listed : (listed.tiers[tier - 1]?.price ?? listed);
    // The price of a sum is that of its lines: none of its own tiers.
    const plain = { ...price, tiers: [] };
    return explain(usage, plain, charge(usage, plain));
  });
  const sum = `${terms.join("，另计 ")}，共 ${answered} 行，逐行向上取整合计 ${charged}`;
  const remark = untold === 0 ? "" : `（其中 ${untold} 行上游未返回用量，按预扣的估算计）`;
  const content = [sum, remark].join("");
  return { usage: total ?? { promptTokens: 0, completionTokens: 0, cachedTokens: 0 }, content };
}
