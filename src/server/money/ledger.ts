// The ledger: reserve, extend, checkpoint, settle, release, abandon, adjust, redeem, transfer, recover. What it answered outlives the process, and
// all but reserve and extend a power cut too (docs/decisions/018); each may be repeated: request ids and operation ids are natural keys.
// The rules are in rules.ts.
import type { Clock } from "#server/clock.ts";
import type { Store } from "#server/store/db.ts";
import { MAX_AMOUNT } from "./amount.ts";
import type { LedgerBackend } from "./backend.ts";
import { assertAmount, cleanLog, plainText, wholeSeen, wholeUsage } from "./clean.ts";
import { createGroupCommit, type GroupCommit } from "./group-commit.ts";
import type {
  Adjusted,
  Adjustment,
  Booking,
  LimitRefusal,
  Operation,
  Outcome,
  ReserveOrder,
  ReserveVerdict,
  Seen,
  Settlement,
} from "./operations.ts";
import type { OrderChange, OrderVerdict } from "./order-operations.ts";
import type {
  CommissionChange,
  CommissionChanged,
  Redeemed,
  RedeemOrder,
  SignupGifts,
  Transfer,
  Transferred,
} from "./partner-operations.ts";
import { createPostgresBackend } from "./postgres/backend.ts";
import { findKept, recoverDead } from "./recover.ts";
import type { LimitRef } from "./rows.ts";
import { hasGifts } from "./rules-partner.ts";
import { createSqliteBackend } from "./sqlite/backend.ts";

/** Hears why there is no more; the zone is the one that windows of the calendar are in. */
export interface ExtendTold {
  readonly zone: string;
  hear(refusal: LimitRefusal): void;
}

export interface Ledger {
  /** Sets an amount aside before anything goes upstream, for every user, or says why not (requirements M03–M05). */
  reserve(order: ReserveOrder): Promise<ReserveVerdict>;
  /**
   * Sets more aside while a stream runs. False = there is no more; nothing changed then. `told` hears of the limit that has no room, where
   * it is one and not the quota of user or token.
   */
  extend(requestId: string, more: bigint, told?: ExtendTold): Promise<boolean>;
  /**
   * Counts an open call in the windows of the channel that is called now, in place of those of the one before; all of it or nothing. A
   * call that is not open is counted nowhere.
   */
  hold(
    requestId: string,
    channel: { readonly limits: readonly LimitRef[]; readonly zone: string },
  ): Promise<LimitRefusal | undefined>;
  /** Notes what had been received, for recovery. Returns at once; call it at most every 250 ms or 64 tokens (requirements M12). */
  checkpoint(requestId: string, seen: Seen): void;
  /**
   * Books a call exactly once: closes the reservation and writes balances, counters, ledger, log and sums together. User
   * and token never fall below 0. When the database is in trouble it answers when that is over. Throws: when the booking
   * contradicts what is stored, and StoreError when the process ends before it is known whether it was booked.
   */
  settle(settlement: Settlement): Promise<Booking>;
  /** Returns everything that was set aside. Does nothing after settle. */
  release(requestId: string): Promise<void>;
  /**
   * Closes a call of this process that cannot be settled, by recovery's rule: what was last noted is charged, the rest goes back
   * (requirements M12). Does nothing after settle.
   */
  abandon(requestId: string): Promise<void>;
  /** Lets go of a reservation that is kept: from now on any process may resume it. */
  entrust(requestId: string): void;
  /** Takes over a kept reservation, so that settle and release find all that it holds; one that is closed stays closed. */
  resume(requestId: string): Promise<void>;
  /** Changes a balance by hand, with the actor and the reason in the ledger. */
  adjust(adjustment: Adjustment): Promise<Adjusted>;
  /** Turns a code into quota, gifts and commission, all of it or nothing, once per code (requirements M06, M07). */
  redeem(order: RedeemOrder): Promise<Redeemed>;
  /** Corrects the commission of a user or records a payment, with the actor and the reason in the ledger. */
  changeCommission(change: CommissionChange): Promise<CommissionChanged>;
  /** Grants what a registration brings to the new user and to the inviter; repeating it does nothing. */
  grantSignup(gifts: SignupGifts): Promise<void>;
  /**
   * Brings evidence about an order, or a refund of it, to the books: its row, balances, ledger, history and log in one transaction. A
   * repetition changes nothing (requirements Y04).
   */
  changeOrder(change: OrderChange): Promise<OrderVerdict>;
  /** Moves quota between two accounts, all of it or nothing, once (requirements O05). */
  transfer(order: Transfer): Promise<Transferred>;
  /** Closes what dead processes left open. */
  recover(): Promise<{ closed: number }>;
  /** Books what is queued, gives the lease back. */
  close(): Promise<void>;
}

export interface LedgerDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Boot id of this process; never used twice. */
  readonly node: string;
  /** Told of failures that no caller waits for: a lease that could not be renewed, a checkpoint that was lost. */
  readonly onError?: (error: unknown) => void;
}

const LEASE_SEC = 60;
const RENEW_MS = 20_000;

/** What this process has set aside for one call. */
interface Held {
  parties: Pick<ReserveOrder, "userId" | "tokenId" | "limits" | "plans">;
  /** Of its channel; undefined = of none. */
  channelLimits: readonly LimitRef[] | undefined;
  amount: bigint;
  /** Of what was noted last; 0 = nothing was. */
  channelId: number;
  seen: Seen | undefined;
  isNoting: boolean;
}

const NEW = { channelLimits: undefined, channelId: 0, seen: undefined, isNoting: false } as const;

export function createLedger(deps: LedgerDeps): Ledger {
  const backend =
    deps.store.dialect === "sqlite"
      ? createSqliteBackend(deps.store, deps.clock, deps.onError)
      : createPostgresBackend(deps.store, deps.node);
  return new LedgerClient(deps, backend);
}

class LedgerClient implements Ledger {
  readonly #deps: LedgerDeps;
  readonly #backend: LedgerBackend;
  readonly #groups: GroupCommit;
  readonly #held = new Map<string, Held>();
  readonly #timer: NodeJS.Timeout;
  /** The first lease; no reservation is made before it stands. */
  #lease: Promise<void> | undefined;
  #hasLease = false;
  #adjustments = 0;

  constructor(deps: LedgerDeps, backend: LedgerBackend) {
    this.#deps = deps;
    this.#backend = backend;
    const { clock, node } = deps;
    const onGivenUp = (operation: Operation) => this.#takeBack(operation);
    this.#groups = createGroupCommit({ backend, clock, node, onGivenUp });
    this.#timer = setInterval(() => void this.#keepAlive(), RENEW_MS).unref();
  }

  async reserve(order: ReserveOrder): Promise<ReserveVerdict> {
    assertAmount(order.amount);
    if (order.amount > MAX_AMOUNT) return "user_quota";
    if (!this.#hasLease) await this.#leased();
    const { requestId, userId, tokenId, amount, limits, zone, plans, isKept } = order;
    const modelName = plainText(order.modelName);
    const plain = { kind: "reserve", requestId, userId, tokenId, amount, modelName } as const;
    const isPlain = limits === undefined && plans === undefined;
    const usual = isPlain ? plain : { ...plain, limits, zone, plans };
    const operation = isKept === undefined ? usual : { ...usual, isKept };
    const isAlone = this.#held.size === 0;
    const outcome = expectKind("reserve", await this.#groups.submit(operation, { isAlone }));
    if (outcome.rests !== undefined) order.hear?.(outcome.rests);
    if (outcome.verdict === "reserved") {
      const parties = isPlain ? { userId, tokenId } : { userId, tokenId, limits, plans };
      this.#held.set(requestId, { parties, amount, ...NEW });
    }
    return outcome.verdict;
  }

  async extend(requestId: string, more: bigint, told?: ExtendTold): Promise<boolean> {
    assertAmount(more);
    const held = this.#held.get(requestId);
    if (!held || held.amount + more > MAX_AMOUNT) return false;
    const target = held.amount + more;
    const operation = { kind: "extend", requestId, ...held.parties, target, zone: told?.zone } as const;
    const outcome = expectKind("extend", await this.#groups.submit(operation));
    if (outcome.refusal !== undefined) told?.hear(outcome.refusal);
    if (outcome.granted && target > held.amount) held.amount = target;
    return outcome.granted;
  }

  async hold(
    requestId: string,
    { limits: take, zone }: { readonly limits: readonly LimitRef[]; readonly zone: string },
  ): Promise<LimitRefusal | undefined> {
    const held = this.#held.get(requestId);
    const before = held?.channelLimits ?? [];
    if (!held || take.length + before.length === 0) return undefined;
    const drop = before.filter(({ limitId }) => take.every((ref) => ref.limitId !== limitId));
    const { parties } = held;
    // Beforehand: when it is not known whether they were taken, what closes the call names them.
    held.parties = { ...parties, limits: [...(parties.limits ?? []), ...take] };
    held.channelLimits = [...before, ...take];
    const operation = { kind: "hold", requestId, ...held.parties, take, drop, zone } as const;
    const { refusal } = expectKind("hold", await this.#groups.submit(operation));
    held.channelLimits = refusal ? before : take;
    return refusal;
  }

  checkpoint(requestId: string, seen: Seen): void {
    const held = this.#held.get(requestId);
    if (!held) return;
    held.seen = seen;
    held.channelId = seen.channelId;
    // One note at a time: what comes meanwhile is in the next one.
    if (!held.isNoting) void this.#note(requestId, held);
  }

  async settle(settlement: Settlement): Promise<Booking> {
    assertAmount(settlement.charge);
    const { requestId, userId, tokenId, channelId, charge } = settlement;
    const operation = {
      kind: "settle",
      ...this.#held.get(requestId)?.parties,
      requestId,
      userId,
      tokenId,
      channelId,
      ...(settlement.keyId !== undefined && settlement.keyId !== 0 && { keyId: settlement.keyId }),
      ...(settlement.memberId !== undefined && { memberId: settlement.memberId }),
      charge,
      usage: wholeUsage(settlement.usage),
      ...(settlement.cost !== undefined && { cost: settlement.cost }),
      log: settlement.log && cleanLog(settlement.log),
    } as const;
    // Alone there is no other call to share a commit with.
    const isAlone = this.#held.size <= 1;
    const mayWait = settlement.mayWait === true && !isAlone;
    const options = { isOwed: true, mayWait, isAlone };
    const outcome = expectKind("settle", await this.#groups.submit(operation, options));
    this.#held.delete(requestId);
    return outcome.booking;
  }

  async release(requestId: string): Promise<void> {
    const held = this.#held.get(requestId);
    if (!held) return;
    const operation = { kind: "release", requestId, ...held.parties } as const;
    expectKind("release", await this.#groups.submit(operation, { isOwed: true }));
    this.#held.delete(requestId);
  }

  async abandon(requestId: string): Promise<void> {
    const held = this.#held.get(requestId);
    if (!held) return;
    const { parties, channelId } = held;
    const deadNode = this.#deps.node;
    const operation = { kind: "recover", requestId, ...parties, channelId, deadNode } as const;
    expectKind("recover", await this.#groups.submit(operation, { isOwed: true }));
    this.#held.delete(requestId);
  }

  entrust(requestId: string): void {
    this.#held.delete(requestId);
  }

  async resume(requestId: string): Promise<void> {
    const kept = this.#held.has(requestId) ? undefined : await findKept(this.#deps.store.db, requestId);
    if (kept !== undefined) this.#held.set(requestId, { ...kept, ...NEW });
  }

  async adjust(adjustment: Adjustment): Promise<Adjusted> {
    const requestId = adjustment.operationId ?? `adjust-${this.#deps.node}-${++this.#adjustments}`;
    const operation = {
      kind: "adjust",
      requestId,
      userId: adjustment.userId,
      tokenId: adjustment.tokenId ?? 0,
      adjustment,
    } as const;
    return expectKind("adjust", await this.#groups.submit(operation)).adjusted;
  }

  async redeem(order: RedeemOrder): Promise<Redeemed> {
    const { operationId: requestId, userId } = order;
    const operation = { kind: "redeem", requestId, userId, tokenId: 0, order } as const;
    return expectKind("redeem", await this.#groups.submit(operation)).redeemed;
  }

  async changeCommission(change: CommissionChange): Promise<CommissionChanged> {
    const requestId = change.operationId ?? `commission-${this.#deps.node}-${++this.#adjustments}`;
    const operation = { kind: "commission", requestId, userId: change.userId, tokenId: 0, change } as const;
    return expectKind("commission", await this.#groups.submit(operation)).changed;
  }

  async grantSignup(gifts: SignupGifts): Promise<void> {
    for (const amount of [gifts.forNewUser, gifts.forInvitee, gifts.forInviter]) assertAmount(amount);
    if (!hasGifts(gifts)) return;
    const { userId } = gifts;
    const operation = { kind: "signup", requestId: `signup-${userId}`, userId, tokenId: 0, gifts } as const;
    expectKind("signup", await this.#groups.submit(operation));
  }

  async changeOrder(change: OrderChange): Promise<OrderVerdict> {
    const { operationId: requestId, userId } = change;
    const operation = { kind: "order", requestId, userId, tokenId: 0, change } as const;
    return expectKind("order", await this.#groups.submit(operation)).verdict;
  }

  async transfer(order: Transfer): Promise<Transferred> {
    if (order.amount !== null) assertAmount(order.amount);
    const { operationId: requestId, fromId: userId } = order;
    const operation = { kind: "transfer", requestId, userId, tokenId: 0, order } as const;
    return expectKind("transfer", await this.#groups.submit(operation)).transferred;
  }

  async recover(): Promise<{ closed: number }> {
    await this.#leased();
    const { store, node } = this.#deps;
    return recoverDead({ db: store.db, backend: this.#backend, groups: this.#groups, node });
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#groups.close();
    if (this.#lease !== undefined) {
      await this.#backend.dropLease(this.#deps.node).catch((error: unknown) => this.#deps.onError?.(error));
    }
    await this.#backend.close();
  }

  /**
   * It is unknown whether a reservation that was given up is stored: its caller is refused and never closes it, and this process
   * is alive, so that recovery does not either (requirements M12, F06). Where there is none, a release does nothing.
   */
  #takeBack(operation: Operation): void {
    if (operation.kind !== "reserve") return;
    const { requestId, userId, tokenId, limits, plans } = operation;
    this.#groups
      .submit({ kind: "release", requestId, userId, tokenId, limits, plans }, { isOwed: true })
      .catch((error: unknown) => this.#deps.onError?.(error));
  }

  /** Takes the lease once; a caller that asked gets the failure, and the next caller tries again. */
  #leased(): Promise<void> {
    this.#lease ??= this.#backend.renewLease(this.#deps.node, LEASE_SEC).then(
      () => {
        this.#hasLease = true;
      },
      (error: unknown) => {
        this.#lease = undefined;
        throw error;
      },
    );
    return this.#lease;
  }

  /** Renews the lease, and closes what other nodes that died left open. */
  async #keepAlive(): Promise<void> {
    try {
      await this.#backend.renewLease(this.#deps.node, LEASE_SEC);
      await this.recover();
    } catch (error) {
      this.#deps.onError?.(error);
    }
  }

  async #note(requestId: string, held: Held): Promise<void> {
    held.isNoting = true;
    try {
      while (held.seen && this.#held.has(requestId)) {
        const seen = wholeSeen(held.seen);
        held.seen = undefined;
        await this.#groups.submit({ kind: "checkpoint", requestId, ...held.parties, seen });
      }
    } catch (error) {
      this.#deps.onError?.(error);
    } finally {
      held.isNoting = false;
    }
  }
}

function expectKind<Kind extends Operation["kind"]>(
  kind: Kind,
  outcome: Outcome,
): Extract<Outcome, { kind: Kind }> {
  if (outcome.kind !== kind) {
    throw new Error(
      outcome.kind === "failed" ? outcome.reason : `the ledger answered ${outcome.kind} to ${kind}`,
    );
  }
  // Kind is one of Outcome's kinds, and the comparison above has just found it.
  return outcome as Extract<Outcome, { kind: Kind }>;
}
