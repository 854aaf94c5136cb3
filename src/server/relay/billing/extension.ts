// How long the reservation of a stream lasts, and the requests for more while it runs (requirements M04). Knows no price.
import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "#server/clock.ts";
import { isOfLimit } from "#server/relay/http/limit-errors.ts";
import { localErrors } from "#server/relay/http/local-errors.ts";
import type { Verdict } from "#server/relay/http/pipe.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";

/** More is requested when so little is left. */
const MARGIN_TOKENS = 256;
/** The least that is requested, as long as there is as much. */
const LEAST_TOKENS = 1_024;
/** Less than this is not worth a request. */
const LAST_TOKENS = 64;
/** How far our count may exceed the client's limit: the upstream keeps the limit by its own tokenizer. */
const COUNT_FACTOR = 1.25;
const COUNT_SPARE_TOKENS = 32;
/** A ledger that cannot say whether there is more is asked again for so long; it tries for some seconds by itself. */
const PATIENCE_MS = 5_000;
const ASK_AGAIN_MS = 500;

export interface ExtensionParts {
  /** Reserved before the call. Unit: LLM tokens of output. */
  readonly tokens: number;
  /** The most the client asked for; Infinity = it named no limit. */
  readonly limit: number;
  readonly clock: Pick<Clock, "now">;
  /** Reserves so many more. Resolves with why there is no more; undefined = there is. Throws: StoreError. */
  extend(tokens: number): Promise<RelayFault | undefined>;
  /** The tokens that have come so far: as reported, else counted. */
  count(): Promise<number>;
}

export class Extension {
  readonly #parts: ExtensionParts;
  #tokens: number;
  /** By how much the upper bound exceeded the exact count when that was last taken. */
  #excess = 0;
  /** A request ahead of need was refused: only a reservation that is really used up requests again. */
  #isRefused = false;
  #asking: Promise<RelayFault | undefined> | undefined;
  #deciding: Promise<RelayFault | undefined> | undefined;
  #isClosed = false;

  constructor(parts: ExtensionParts) {
    this.#parts = parts;
    this.#tokens = parts.tokens;
  }

  /**
   * At most so many tokens have come. A fault = they used up the quota; a promise = they may have, or the reservation is used up and
   * whether there is more is not known yet: meanwhile nothing may be delivered. Within a limit of the client's own that was reserved
   * nothing is requested, nor a little beyond it, which is another tokenizer's difference; beyond that the exact count decides: an
   * upper bound is no reason to break an answer off.
   */
  look(atMost: number): Verdict {
    const tokens = atMost - this.#excess;
    if (tokens > this.#covered()) {
      this.#deciding ??= this.#decide(atMost);
      return this.#deciding;
    }
    const isAhead = !this.#isRefused && this.#tokens < this.#parts.limit;
    if (isAhead && tokens + MARGIN_TOKENS > this.#tokens) this.#asking ??= this.#lookAhead();
    return undefined;
  }

  /** How many tokens of our count may come. Unit: LLM tokens. */
  #covered(): number {
    const { limit } = this.#parts;
    if (this.#tokens < limit) return this.#tokens;
    return Math.max(this.#tokens, limit * COUNT_FACTOR + COUNT_SPARE_TOKENS);
  }

  /** The stream is over: nothing more is requested. */
  close(): void {
    this.#isClosed = true;
  }

  async #lookAhead(): Promise<undefined> {
    this.#isRefused = (await this.#ask(this.#step())) !== undefined;
    this.#asking = undefined;
  }

  /** Whether the reservation suffices for the exact count; more is reserved if it does not. Never rejects. */
  async #decide(atMost: number): Promise<RelayFault | undefined> {
    // Taken at the same moment as the bound: later pieces have their own check.
    const counting = this.#parts.count();
    await this.#asking;
    const tokens = await counting;
    this.#excess = atMost - tokens;
    const isBeyond = tokens > this.#covered() && !this.#isClosed;
    const end = isBeyond ? await this.#askDown(tokens - this.#tokens) : undefined;
    this.#deciding = undefined;
    return end;
  }

  /** As much again as there was: few requests, however long the answer. */
  #step(): number {
    const room = this.#parts.limit - this.#tokens;
    const step = Math.max(LEAST_TOKENS, this.#tokens);
    return room > 0 ? Math.min(step, room) : step;
  }

  /** Requests what is missing and a step beyond it, and less as long as there is not that much. */
  async #askDown(missing: number): Promise<RelayFault | undefined> {
    for (let step = this.#step(); ; step = Math.floor(step / 2)) {
      const end = await this.#ask(missing + step);
      if (end === undefined || !isOfLimit(end) || step < LAST_TOKENS) return end;
    }
  }

  /** Resolves with why there is no more; undefined = there is. */
  async #ask(more: number): Promise<RelayFault | undefined> {
    const { clock, extend } = this.#parts;
    const startedMs = clock.now();
    while (!this.#isClosed) {
      try {
        const end = await extend(more);
        if (end === undefined) this.#tokens += more;
        return end;
      } catch (error) {
        if (clock.now() - startedMs >= PATIENCE_MS) return localErrors.ledgerUnavailable(String(error));
        await sleep(ASK_AGAIN_MS);
      }
    }
    return undefined;
  }
}
