// What an answer tells of the limits of its caller (requirements L13): of rates and counts by OpenAI's names, or Anthropic's for its format,
// of budgets by a name of our own. Of several limits the tightest counts. Knows no limit itself.
import type { RateKind } from "#contract/limit-words.ts";
import type { Clock } from "#server/clock.ts";
import type { WindowRest } from "#server/money/operations.ts";
import { NEVER } from "#server/money/windows.ts";

/** How much of a limit is left; `calls` are those of a window. */
export interface Rate {
  readonly kind: RateKind | "calls";
  readonly limit: number;
  readonly remaining: number;
  /** When all of it is there again; Infinity = never. Unit: ms since 1970. */
  readonly resetAtMs: number;
}

/** The names that clients of a format know. */
export type RateNames = "openai" | "anthropic";

/** OpenAI knows one kind of tokens, and calls of a day by the name of those of a minute. */
const NAMES: Readonly<Record<Rate["kind"], Readonly<Record<RateNames, string>>>> = {
  rpm: { openai: "requests", anthropic: "requests" },
  calls: { openai: "requests", anthropic: "requests" },
  tpm: { openai: "tokens", anthropic: "tokens" },
  input_tpm: { openai: "tokens", anthropic: "input-tokens" },
  output_tpm: { openai: "tokens", anthropic: "output-tokens" },
};

/** What is left of the smallest budget, in quota units: what running calls have set aside, this one included, is not left. */
const BUDGET = "x-tollgate-budget-remaining";

/** What is known by now of the limits of a call's caller. Only calls that have a limit have one. */
export class LimitHead {
  /** Of the limits that options set for all tokens and users. */
  readonly byOptions: Rate[] = [];
  /** Of the rates that are set for the caller; undefined = it is not known yet. */
  rates: readonly Rate[] | undefined;
  /** Of what the ledger counts by window; undefined = it is not known yet. */
  windows: readonly WindowRest[] | undefined;
  /** So much may be put out, since the limit of its cost allows no more; undefined = as much as was asked for. */
  mostTokens: number | undefined;
  readonly #clock: Pick<Clock, "now">;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** The call passes the limits of another group: what was known of the one before is not told. */
  forget(): void {
    this.rates = undefined;
    this.windows = undefined;
    this.mostTokens = undefined;
  }

  /** All that could be known is. */
  get isFull(): boolean {
    return this.rates !== undefined && this.windows !== undefined;
  }

  /** What is left of rates once a call was counted in them; a batch is a call of each of its models. */
  passed(rates: readonly Rate[]): void {
    this.rates = this.rates === undefined ? rates : [...this.rates, ...rates];
  }

  /** What the ledger says is left of windows; a batch sets each of its parts aside. */
  hear(rests: readonly WindowRest[]): void {
    if (this.windows === undefined) {
      this.windows = rests;
      return;
    }
    const isOld = ({ limitId }: WindowRest) => rests.some((rest) => rest.limitId === limitId);
    this.windows = [...this.windows.filter((one) => !isOld(one)), ...rests];
  }

  /** Headers: names and values in turn. */
  headers(names: RateNames): string[] {
    const tightest: Rate[] = [];
    let budget: bigint | undefined;
    for (const rate of this.byOptions) keepTighter(tightest, rate, names);
    for (const rate of this.rates ?? []) keepTighter(tightest, rate, names);
    for (const rest of this.windows ?? []) {
      if (rest.isCalls) keepTighter(tightest, callsOf(rest), names);
      else if (budget === undefined || rest.left < budget) budget = rest.left;
    }
    const head = rateHeaders(tightest, names, this.#clock.now());
    if (budget !== undefined) head.push(BUDGET, String(budget));
    if (this.mostTokens !== undefined) head.push("x-tollgate-max-tokens", String(this.mostTokens));
    return head;
  }
}

function callsOf({ amount, left, resetsAt }: WindowRest): Rate {
  const resetAtMs = resetsAt === NEVER ? Number.POSITIVE_INFINITY : resetsAt * 1_000;
  return { kind: "calls", limit: Number(amount), remaining: Number(left), resetAtMs };
}

/** Adds a rate to those that are told, one by each name: the tightest, which takes the place of the one before. */
function keepTighter(tightest: Rate[], rate: Rate, names: RateNames): void {
  const name = NAMES[rate.kind][names];
  const at = tightest.findIndex(({ kind }) => NAMES[kind][names] === name);
  const known = tightest[at];
  if (known === undefined) tightest.push(rate);
  else if (isTighter(rate, known)) tightest[at] = rate;
}

interface Style {
  /** The headers of each kind. */
  readonly headers: Readonly<Record<Rate["kind"], HeaderNames>>;
  reset(atMs: number, nowMs: number): string;
}

interface HeaderNames {
  readonly limit: string;
  readonly remaining: string;
  readonly reset: string;
}

/** OpenAI's clients read how long a reset takes, Anthropic's when it is (RFC 3339), in whole seconds and never too early. */
const STYLES: Readonly<Record<RateNames, Style>> = {
  openai: {
    headers: headersBy((part, { openai }) => `x-ratelimit-${part}-${openai}`),
    reset: (atMs, nowMs) => durationText(atMs - nowMs),
  },
  anthropic: {
    headers: headersBy((part, { anthropic }) => `anthropic-ratelimit-${anthropic}-${part}`),
    reset: (atMs) => `${new Date(Math.ceil(atMs / 1_000) * 1_000).toISOString().slice(0, 19)}Z`,
  },
};

function headersBy(
  write: (part: keyof HeaderNames, names: (typeof NAMES)[Rate["kind"]]) => string,
): Style["headers"] {
  const of = (kind: Rate["kind"]): HeaderNames => {
    const names = NAMES[kind];
    return {
      limit: write("limit", names),
      remaining: write("remaining", names),
      reset: write("reset", names),
    };
  };
  return {
    rpm: of("rpm"),
    calls: of("calls"),
    tpm: of("tpm"),
    input_tpm: of("input_tpm"),
    output_tpm: of("output_tpm"),
  };
}

function rateHeaders(rates: readonly Rate[], names: RateNames, nowMs: number): string[] {
  const { headers, reset } = STYLES[names];
  const head: string[] = [];
  for (const { kind, limit, remaining, resetAtMs } of rates) {
    const by = headers[kind];
    head.push(by.limit, String(limit), by.remaining, String(remaining));
    // What never comes back has no time.
    if (Number.isFinite(resetAtMs)) head.push(by.reset, reset(resetAtMs, nowMs));
  }
  return head;
}

/** Of equal ones the one that takes longest, then the first. */
function isTighter(rate: Rate, known: Rate): boolean {
  if (rate.remaining !== known.remaining) return rate.remaining < known.remaining;
  return rate.resetAtMs > known.resetAtMs;
}

/** `12ms`, `1s`, `6m0s`, `23h0m5s`, as Go prints it. */
function durationText(ms: number): string {
  const whole = Math.max(0, Math.ceil(ms));
  if (whole < 1_000) return `${whole}ms`;
  const seconds = Math.ceil(whole / 1_000);
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const rest = `${seconds % 60}s`;
  if (minutes === 0) return rest;
  return hours === 0 ? `${minutes}m${rest}` : `${hours}h${minutes % 60}m${rest}`;
}
