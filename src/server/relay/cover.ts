// How far what was set aside for a stream goes, and the questions for more while it runs (reliability M04). Knows no price.
import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "#server/clock.ts";
import type { RelayFault } from "#server/upstream/fault.ts";
import type { Verdict } from "./pour.ts";
import { refusals } from "./refusal.ts";

/** More is asked for when so little is left. */
const MARGIN_TOKENS = 256;
/** The least that is asked for. */
const LEAST_TOKENS = 1_024;
/** A bank that cannot say whether there is more is asked again for so long; it tries for some seconds by itself. */
const PATIENCE_MS = 5_000;
const ASK_AGAIN_MS = 500;

export class Cover {
  readonly #clock: Pick<Clock, "now">;
  readonly #extend: (tokens: number) => Promise<boolean>;
  #tokens: number;
  #asking: Promise<RelayFault | undefined> | undefined;
  /** Why there is no more. */
  #end: RelayFault | undefined;
  #isClosed = false;

  /** `tokens` = covered at the begin; `extend` sets so many more aside, or says that there are none. */
  constructor(tokens: number, clock: Pick<Clock, "now">, extend: (tokens: number) => Promise<boolean>) {
    this.#tokens = tokens;
    this.#clock = clock;
    this.#extend = extend;
  }

  /**
   * So many tokens have been delivered. A fault = they used up what there is; a promise = what was set aside, and whether there is more
   * is not known yet: meanwhile nothing may be delivered.
   */
  look(tokens: number): Verdict {
    if (tokens + MARGIN_TOKENS <= this.#tokens) return undefined;
    if (this.#end === undefined) this.#asking ??= this.#askForMore(tokens);
    return tokens > this.#tokens ? (this.#end ?? this.#asking) : undefined;
  }

  /** The stream is over: nothing more is asked. */
  close(): void {
    this.#isClosed = true;
  }

  /** Resolves with why there is no more; undefined = there is. Never rejects. */
  async #askForMore(tokens: number): Promise<RelayFault | undefined> {
    // As much again as there was: few questions, however long the answer. What one piece brought beyond it is asked for as well.
    const more = Math.max(LEAST_TOKENS, this.#tokens, tokens + LEAST_TOKENS - this.#tokens);
    const startedMs = this.#clock.now();
    while (!this.#isClosed) {
      try {
        if (await this.#extend(more)) this.#tokens += more;
        else this.#end = refusals.quotaRanOut();
        break;
      } catch (error) {
        if (this.#clock.now() - startedMs >= PATIENCE_MS) {
          this.#end = refusals.bankClosed(String(error));
          break;
        }
        await sleep(ASK_AGAIN_MS);
      }
    }
    this.#asking = undefined;
    return this.#end;
  }
}
