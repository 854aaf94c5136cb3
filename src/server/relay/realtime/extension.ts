// The reservation of one response of a realtime conversation, and the requests for more while it runs (requirements M04). Knows no
// price.
import type { Seen } from "#server/money/operations.ts";
import type { BillingServices } from "#server/relay/billing/pricing.ts";
import { localErrors } from "#server/relay/http/local-errors.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";

const NOTE_MS = 250;

export class ResponseReservation {
  readonly requestId: string;
  readonly #tools: Pick<BillingServices, "ledger" | "clock">;
  #amount: bigint;
  #asking: Promise<RelayFault | undefined> | undefined;
  #isRefused = false;
  #notedMs = 0;

  /** `amount` is reserved under this id. Unit: quota. */
  constructor(tools: Pick<BillingServices, "ledger" | "clock">, requestId: string, amount: bigint) {
    this.#tools = tools;
    this.requestId = requestId;
    this.#amount = amount;
  }

  /**
   * Notes how far the response has come, and requests more when less than `margin` is left. A fault = there is no more; a promise = the
   * reservation is used up, and whether there is more is not known yet: meanwhile nothing is passed on.
   */
  check(seen: Seen, margin: bigint): RelayFault | undefined | Promise<RelayFault | undefined> {
    if (this.#isRefused) return localErrors.quotaRanOut();
    this.#note(seen);
    const needed = seen.charge + margin;
    if (needed > this.#amount) this.#asking ??= this.#askForMore(needed);
    return seen.charge > this.#amount ? this.#asking : undefined;
  }

  /** A checkpoint for recovery, at intervals. */
  #note(seen: Seen): void {
    const now = this.#tools.clock.now();
    if (now - this.#notedMs < NOTE_MS) return;
    this.#notedMs = now;
    this.#tools.ledger.checkpoint(this.requestId, seen);
  }

  /** Requests as much again as is needed: few requests, however long the response. Never rejects. */
  async #askForMore(needed: bigint): Promise<RelayFault | undefined> {
    const more = needed * 2n - this.#amount;
    try {
      const isGranted = await this.#tools.ledger.extend(this.requestId, more);
      if (isGranted) this.#amount += more;
      else this.#isRefused = true;
      return isGranted ? undefined : localErrors.quotaRanOut();
    } catch (error) {
      // The ledger is in trouble, and has tried for some seconds: the next piece asks again, unless this one had to wait.
      return localErrors.ledgerUnavailable(String(error));
    } finally {
      this.#asking = undefined;
    }
  }
}
