// What is set aside for one response of a realtime conversation, and the questions for more while it is made (requirements M04). Knows no
// price.
import type { Seen } from "#server/money/operations.ts";
import type { BillingServices } from "#server/relay/billing/pricing.ts";
import { localErrors } from "#server/relay/http/local-errors.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";

const NOTE_MS = 250;

export class ResponseCover {
  readonly requestId: string;
  readonly #tools: Pick<BillingServices, "ledger" | "clock">;
  #amount: bigint;
  #asking: Promise<RelayFault | undefined> | undefined;
  #isRefused = false;
  #notedMs = 0;

  /** `amount` is set aside under this id. Unit: quota. */
  constructor(tools: Pick<BillingServices, "ledger" | "clock">, requestId: string, amount: bigint) {
    this.#tools = tools;
    this.requestId = requestId;
    this.#amount = amount;
  }

  /**
   * The response has come so far: that is noted, and more asked for when less than `margin` is left. A fault = there is no more; a promise
   * = what was set aside is used up, and whether there is more is not known yet: meanwhile nothing is handed on.
   */
  look(seen: Seen, margin: bigint): RelayFault | undefined | Promise<RelayFault | undefined> {
    if (this.#isRefused) return localErrors.quotaRanOut();
    this.#note(seen);
    const needed = seen.charge + margin;
    if (needed > this.#amount) this.#asking ??= this.#askForMore(needed);
    return seen.charge > this.#amount ? this.#asking : undefined;
  }

  /** For recovery, every so often. */
  #note(seen: Seen): void {
    const now = this.#tools.clock.now();
    if (now - this.#notedMs < NOTE_MS) return;
    this.#notedMs = now;
    this.#tools.ledger.checkpoint(this.requestId, seen);
  }

  /** As much again as is needed: few questions, however long the response. Never rejects. */
  async #askForMore(needed: bigint): Promise<RelayFault | undefined> {
    const more = needed * 2n - this.#amount;
    try {
      const isGranted = await this.#tools.ledger.extend(this.requestId, more);
      if (isGranted) this.#amount += more;
      else this.#isRefused = true;
      return isGranted ? undefined : localErrors.quotaRanOut();
    } catch (error) {
      // The bank is in trouble, and has tried for some seconds: the next piece asks again, unless this one had to wait.
      return localErrors.bankClosed(String(error));
    } finally {
      this.#asking = undefined;
    }
  }
}
