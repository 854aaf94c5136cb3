// Group commit: collects operations while the previous group commits, and runs them as one transaction. Knows how a database can
// fail, not what an operation means.
import type { Clock } from "#server/clock.ts";
import { faultKind, StoreError } from "#server/store/fault.ts";
import type { LedgerBackend } from "./backend.ts";
import type { Operation, Outcome } from "./operations.ts";

/** Operations in one transaction at most: some 20 ms of the writer's time. */
const GROUP_SIZE = 512;
/** How often something that may pass by itself is tried again before the caller is told: about 4 s with the pauses below. */
const TRIES = 8;
/** A caller waits no longer than this for a lock that another process holds; one try alone can take 5 s of it (requirements F03). */
const PATIENCE_MS = 10_000;
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1_000;
/** While the database is stuck, no more than this many callers wait for it (requirements F03). */
const WAITING_WHILE_STUCK = 1_000;
const STUCK_MS = 1_000;
/** Operations that share a commit well: more of them save little, and wait longer. */
const WELL_SHARED = 64;
/** So many turns of the loop that bring nothing more end the waiting for others. */
const QUIET_TURNS = 2;
/** How long operations that may wait do so for others to share their commit. */
const SHARE_MS = 4;

interface Waiting {
  readonly operation: Operation;
  /** Must be done in any case, even when no caller waits any more: the money of a call that took place. */
  readonly isOwed: boolean;
  tries: number;
  isTold: boolean;
  readonly sinceMs: number;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
}

export interface SubmitOptions {
  /** Must be done in any case, even when no caller waits any more. */
  readonly isOwed?: boolean;
  /** Some milliseconds do not matter: it joins the next group that others need, and begins none of its own before. */
  readonly mayWait?: boolean;
  /** No other call is under way, so that nothing is gained by waiting for what else this turn of the loop brings. */
  readonly isAlone?: boolean;
}

export interface GroupCommit {
  /** Queues an operation; answers when it is as durable as it has to be (see backend.ts). Throws: StoreError. */
  submit(operation: Operation, options?: SubmitOptions): Promise<Outcome>;
  /** Runs what is queued and takes nothing more. */
  close(): Promise<void>;
}

interface GroupsDeps {
  readonly backend: LedgerBackend;
  readonly clock: Clock;
  readonly node: string;
  /** Told of what is not tried any more, as soon as nothing of it is queued: one of the tries may have been stored. */
  readonly onGivenUp?: (operation: Operation) => void;
}

export function createGroupCommit(deps: GroupsDeps): GroupCommit {
  return new Queue(deps);
}

class Queue implements GroupCommit {
  readonly #backend: LedgerBackend;
  readonly #clock: Clock;
  readonly #node: string;
  readonly #onGivenUp: GroupsDeps["onGivenUp"];
  #queue: Waiting[] = [];
  #running: Promise<void> | undefined;
  #startedMs = 0;
  #failures = 0;
  /** Shrinks while an operation that cannot be stored is being found, and grows again. */
  #size = GROUP_SIZE;
  #isClosed = false;
  /** An operation in the queue does not want to wait. */
  #isUrgent = false;
  #timer: NodeJS.Timeout | undefined;

  constructor({ backend, clock, node, onGivenUp }: GroupsDeps) {
    this.#backend = backend;
    this.#clock = clock;
    this.#node = node;
    this.#onGivenUp = onGivenUp;
  }

  submit(
    operation: Operation,
    { isOwed = false, mayWait = false, isAlone = false }: SubmitOptions = {},
  ): Promise<Outcome> {
    if (this.#isClosed) return Promise.reject(new StoreError("lost", "the ledger is closed"));
    if (!isOwed && this.#queue.length >= WAITING_WHILE_STUCK && this.#isStuck()) {
      return Promise.reject(new StoreError("busy", "the database does not keep up"));
    }
    return new Promise((resolve, reject) => {
      const sinceMs = this.#clock.now();
      this.#queue.push({ operation, isOwed, tries: 0, isTold: false, sinceMs, resolve, reject });
      if (mayWait) this.#startSoon();
      else this.#startNow(isAlone);
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#startNow();
    await this.#running;
  }

  #startNow(isAlone = false): void {
    // A timer may find that what it was set for went with others. A start that ended at once would count as running for ever.
    if (this.#queue.length === 0) return;
    this.#isUrgent = true;
    this.#running ??= this.#start(isAlone);
  }

  #startSoon(): void {
    if (this.#isUrgent) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#startNow();
    }, SHARE_MS);
  }

  #isStuck(): boolean {
    return this.#failures > 0 || this.#clock.now() - this.#startedMs > STUCK_MS;
  }

  /** Waits for what the next turns of the loop bring: what arrives together is stored together. */
  async #gather(): Promise<void> {
    for (let quiet = 0; quiet < QUIET_TURNS && this.#queue.length < WELL_SHARED; ) {
      const before = this.#queue.length;
      await new Promise(setImmediate);
      quiet = this.#queue.length > before ? 0 : quiet + 1;
    }
  }

  /** Runs groups until no operation in the queue is urgent. */
  async #start(isAlone: boolean): Promise<void> {
    this.#startedMs = this.#clock.now();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    let mayCome = !isAlone;
    while (this.#queue.length > 0 && this.#isUrgent) {
      if (mayCome) await this.#gather();
      const group = this.#queue.slice(0, this.#size);
      this.#queue = this.#queue.slice(this.#size);
      this.#isUrgent = this.#queue.length > 0;
      this.#startedMs = this.#clock.now();
      const error = await this.#run(group);
      this.#failures = error === undefined ? 0 : this.#failures + 1;
      if (error !== undefined) await this.#pause();
      mayCome = error === undefined;
    }
    this.#isUrgent = false;
    this.#running = undefined;
    if (this.#queue.length > 0) this.#startSoon();
  }

  #pause(): Promise<void> {
    const delayMs = Math.min(FIRST_PAUSE_MS * 2 ** (this.#failures - 1), LONGEST_PAUSE_MS);
    return new Promise((resolve) => setTimeout(resolve, delayMs));
  }

  /** Runs a group and answers each caller as soon as the ledger backend reports. Returns the error when the database is in trouble. */
  async #run(group: readonly Waiting[]): Promise<unknown> {
    const operations = group.map((waiting) => waiting.operation);
    const batch = { operations, nowSec: this.#clock.seconds(), node: this.#node };
    const tell = (index: number, outcome: Outcome) => {
      const waiting = group[index];
      if (waiting === undefined) return;
      waiting.isTold = true;
      waiting.resolve(outcome);
    };
    try {
      await this.#backend.run(batch, tell);
      for (const waiting of group)
        if (!waiting.isTold)
          this.#giveUp(waiting, new StoreError("other", "the group has no outcome for an operation"));
      this.#size = Math.min(this.#size * 2, GROUP_SIZE);
      return undefined;
    } catch (error) {
      return this.#sortOut(
        group.filter(({ isTold }) => !isTold),
        error,
      );
    }
  }

  /** Sorts out a group that failed. Returns the error when it is the database that is in trouble. */
  #sortOut(group: readonly Waiting[], error: unknown): unknown {
    const kind = faultKind(error);
    if (kind !== "constraint" && kind !== "other") {
      this.#queueAgain(group, { error, mayPass: kind === "busy" || kind === "lost" });
      return error;
    }
    // One of them cannot be stored. Alone, its caller gets the error; else half of the group is tried, until the others are stored.
    const [first] = group;
    if (first && group.length === 1) this.#giveUp(first, error);
    else this.#putBack(group);
    this.#size = Math.max(1, group.length >> 1);
    return undefined;
  }

  /** Puts back in front, in order, what must or may still succeed; the others learn of the failure. */
  #queueAgain(group: readonly Waiting[], { error, mayPass }: { error: unknown; mayPass: boolean }): void {
    const again: Waiting[] = [];
    for (const waiting of group) {
      waiting.tries += 1;
      const isLate = this.#clock.now() - waiting.sinceMs >= PATIENCE_MS;
      const isTired = !mayPass || waiting.tries >= TRIES || isLate;
      if (isTired && (this.#isClosed || !waiting.isOwed)) {
        this.#giveUp(waiting, error);
        continue;
      }
      again.push(waiting);
      // Rejecting what was rejected before does nothing: an owed operation goes on without its caller. The caller of a settlement is
      // not told that it failed while it may still be booked, or may have been: the user would pay for a call that was refused.
      if (isTired && waiting.operation.kind !== "settle") waiting.reject(error);
    }
    this.#putBack(again);
  }

  #giveUp({ operation, reject }: Waiting, error: unknown): void {
    reject(error);
    this.#onGivenUp?.(operation);
  }

  #putBack(group: readonly Waiting[]): void {
    this.#queue = [...group, ...this.#queue];
    this.#isUrgent = true;
  }
}
