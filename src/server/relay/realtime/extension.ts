// The reservation of one response of a realtime conversation, and the requests for more while it runs (requirements M04). Knows no
// price.
import type { Seen } from "#server/money/operations.ts";
import type { Caller } from "#server/relay/admission/admit.ts";
import type { CostCap } from "#server/relay/billing/cost-cap.ts";
import { setMoreAside } from "#server/relay/billing/more-aside.ts";
import type { BillingServices } from "#server/relay/billing/pricing.ts";
import { limitErrors } from "#server/relay/http/limit-errors.ts";
import { localErrors } from "#server/relay/http/local-errors.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";

const NOTE_MS = 250;

type Tools = Pick<BillingServices, "ledger" | "clock" | "options">;

/** What is set aside for a response. */
interface Reserved {
  readonly requestId: string;
  readonly caller: Pick<Caller, "limits">;
  /** Unit: quota. */
  readonly amount: bigint;
  /** What it may cost at most; undefined = anything. */
  readonly cap: CostCap | undefined;
}

export class ResponseReservation {
  readonly requestId: string;
  readonly #tools: Tools;
  readonly #reserved: Reserved;
  #amount: bigint;
  #asking: Promise<RelayFault | undefined> | undefined;
  /** Why there is no more. */
  #end: RelayFault | undefined;
  #notedMs = 0;

  constructor(tools: Tools, reserved: Reserved) {
    this.#tools = tools;
    this.#reserved = reserved;
    this.requestId = reserved.requestId;
    this.#amount = reserved.amount;
  }

  /**
   * Notes how far the response has come, and requests more when less than `margin` is left. A fault = there is no more; a promise = the
   * reservation is used up, and whether there is more is not known yet: meanwhile nothing is passed on.
   */
  check(seen: Seen, margin: bigint): RelayFault | undefined | Promise<RelayFault | undefined> {
    if (this.#end !== undefined) return this.#end;
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

  /** Requests as much again as is needed, and never more than it may cost: few requests, however long the response. Never rejects. */
  async #askForMore(needed: bigint): Promise<RelayFault | undefined> {
    const { requestId, caller, cap } = this.#reserved;
    const most = cap !== undefined && cap.amount < needed * 2n ? cap.amount : needed * 2n;
    const more = most - this.#amount;
    try {
      this.#end =
        cap !== undefined && more <= 0n
          ? limitErrors.tooDear(cap.row)
          : await setMoreAside(this.#tools, { requestId, caller, more });
      if (this.#end === undefined) this.#amount += more;
      return this.#end;
    } catch (error) {
      // The ledger is in trouble, and has tried for some seconds: the next piece asks again, unless this one had to wait.
      return localErrors.ledgerUnavailable(String(error));
    } finally {
      this.#asking = undefined;
    }
  }
}
