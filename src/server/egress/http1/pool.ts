// The connections of a process: an idle one of the same exit and origin takes the next call, else another is opened. HTTP/1.1 answers
// carry no name: what decides which connection is used again keeps an answer too many from the next caller (requirements C18 to C22).
// Their number is not capped; admissions are.
import type { Exit } from "#server/egress/exits.ts";
import { type EgressRequest, type Flow, faultOf, type Sink } from "#server/egress/send.ts";
import { type Connector, type Origin, readOrigin } from "./connect.ts";
import { Call, Connection, type Keeper } from "./connection.ts";
import { requestHead } from "./head.ts";

/** How often the deadlines of all connections are looked at. */
const LOOK_MS = 500;
/** Waits up to this are not left to that look: none ends later than a tenth of its time (requirements C41). */
const LONGEST_SHORT_MS = 12 * LOOK_MS;
/** After its last byte a connection rests: an answer too many most often follows at once. */
const REST_MS = 20;
/** Caps end a shift that no check noticed, and let changes of DNS through. */
const MOST_USES = 1_000;
const MOST_AGE_MS = 600_000;
/** Both vary by this share, so that connections which began together do not end together. */
const SPREAD = 0.1;

/** The connections of one exit to one origin. */
interface Pool {
  readonly exit: Exit;
  readonly to: Origin;
  /** In the order in which they became idle. The newest rested one is taken, so that surplus connections stay idle and are closed. */
  readonly idle: Connection[];
  readonly stopped: StoppedReuse;
  open: number;
}

export interface Desync {
  readonly owner: string;
  readonly origin: string;
  /** The last calls of the connection: their answers may have been another's. */
  readonly calls: readonly string[];
}

export interface PoolParts {
  readonly connector: Connector;
  /** Unit: ms. */
  readonly restMs?: number | undefined;
  /** In [0, 1); only tests replace chance. */
  readonly random?: (() => number) | undefined;
  onDesync?(desync: Desync): void;
  /** A connection could not be opened. */
  onUnreachable?(exit: Exit, origin: string): void;
}

export class ConnectionPool implements Keeper {
  readonly #parts: PoolParts;
  readonly #restMs: number;
  readonly #pools = new Map<Exit, Map<string, Pool>>();
  readonly #connections = new Set<Connection>();
  /** Connections that became idle in this iteration of the event loop. */
  readonly #released: Connection[] = [];
  /** Calls that have got an idle connection, and watch it for a turn of the loop. */
  readonly #turns = new Turns<{ call: Call; pool: Pool; connection: Connection }>((it) => this.#begin(it));
  /** The pools of calls that may have to be made again. */
  readonly #poolOf = new WeakMap<Call, Pool>();
  readonly #shortWaits = new ShortWaits<Connection>();
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: PoolParts) {
    this.#parts = parts;
    this.#restMs = parts.restMs ?? REST_MS;
  }

  /** Starts a call. Never throws: a call that cannot begin is a fault, reported later like any other. */
  send(exit: Exit, request: EgressRequest, sink: Sink): Flow {
    const call = new Call(request, sink);
    this.#try(call, () => {
      const pool = this.#pool(exit, request.origin);
      call.head = requestHead(request, pool.to.authority);
      this.#poolOf.set(call, pool);
      this.#start(call, pool);
    });
    return call;
  }

  /** Ends all connections; running calls get a fault. */
  close(): void {
    for (const connection of this.#connections) connection.destroy();
  }

  /** Ends the idle connections of a target that has changed; running ones end with their calls. */
  closeIdle(isMeant: (exit: Exit) => boolean): void {
    for (const [exit, pools] of this.#pools) {
      if (!isMeant(exit)) continue;
      for (const { idle } of pools.values()) for (const connection of [...idle]) connection.destroy();
    }
  }

  /** Whether connections of this owner are not used again at the moment. */
  isReuseStopped(owner: string): boolean {
    const nowMs = performance.now();
    for (const [exit, pools] of this.#pools)
      if (exit.owner === owner)
        for (const { stopped } of pools.values()) if (stopped.isStopped(nowMs)) return true;
    return false;
  }

  hasConnections(exit: Exit): boolean {
    return this.#pools.has(exit);
  }

  onIdle(connection: Connection): void {
    if (this.#released.push(connection) === 1) setImmediate(this.#offer);
  }

  onClosed(connection: Connection): void {
    this.#connections.delete(connection);
    this.#shortWaits.end(connection);
    if (this.#connections.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    const pool = this.#find(connection);
    if (pool === undefined) return;
    pool.open -= 1;
    const at = pool.idle.indexOf(connection);
    if (at >= 0) pool.idle.splice(at, 1);
    this.#dropUnused(pool);
  }

  onDesync(connection: Connection): void {
    const { exit, to, calls } = connection;
    this.#find(connection)?.stopped.stop(performance.now());
    this.#parts.onDesync?.({ owner: exit.owner, origin: to.text, calls: calls.filter((id) => id !== "") });
  }

  onSuspicion(connection: Connection, isSuspect: boolean): void {
    this.#find(connection)?.stopped.suspect(isSuspect);
  }

  onAgain(call: Call): void {
    const pool = this.#poolOf.get(call);
    if (pool !== undefined) this.#try(call, () => this.#connect(call, pool));
  }

  onUnreachable({ exit, to }: Connection): void {
    this.#parts.onUnreachable?.(exit, to.text);
  }

  onWait(connection: Connection, ms: number): void {
    this.#shortWaits.begin(connection, ms);
  }

  #pool(exit: Exit, origin: string): Pool {
    const pools = this.#pools.get(exit) ?? new Map<string, Pool>();
    const known = pools.get(origin);
    if (known !== undefined) return known;
    return { exit, to: readOrigin(origin), idle: [], stopped: new StoppedReuse(), open: 0 };
  }

  #find({ exit, to }: Connection): Pool | undefined {
    return this.#pools.get(exit)?.get(to.text);
  }

  /** A pool whose reuse was stopped is remembered without connections. */
  #dropUnused({ exit, to, open, stopped }: Pool): void {
    const isRemembered = !exit.isOnce && !exit.isForgotten && stopped.isRemembered(performance.now());
    if (open > 0 || isRemembered) return;
    const pools = this.#pools.get(exit);
    pools?.delete(to.text);
    if (pools?.size === 0) this.#pools.delete(exit);
  }

  #try(call: Call, start: () => void): void {
    try {
      start();
    } catch (error) {
      const fault = faultOf(error);
      queueMicrotask(() => call.fail(fault));
    }
  }

  #start(call: Call, pool: Pool): void {
    const connection = this.#takeIdle(pool);
    if (connection === undefined) this.#connect(call, pool);
    else this.#turns.push({ call, pool, connection });
  }

  /** The newest connection that has rested; it is no longer among the idle ones. */
  #takeIdle({ idle, stopped }: Pool): Connection | undefined {
    if (idle.length === 0) return undefined;
    const nowMs = performance.now();
    if (stopped.isStopped(nowMs)) return undefined;
    for (;;) {
      const at = newest(idle, nowMs - this.#restMs);
      const [connection] = at < 0 ? [] : idle.splice(at, 1);
      if (connection === undefined || connection.isReady) return connection;
      connection.destroy();
    }
  }

  /** The turn has passed: what was in the kernel was read (requirements C20). */
  #begin({ call, pool, connection }: { call: Call; pool: Pool; connection: Connection }): void {
    const isUsable = connection.isReady && !pool.stopped.isStopped(performance.now());
    if (call.isOver) {
      if (isUsable) this.onIdle(connection);
      else connection.destroy();
    } else if (isUsable) call.begin(connection);
    else {
      if (connection.isReady) connection.destroy();
      this.#try(call, () => this.#start(call, pool));
    }
  }

  /**
   * Offers the connections that became idle in this iteration of the event loop. Not at once: TLS delivers each record separately, a full
   * buffer is read again, and servers end connections right after an answer; a call that took one in between would get these events.
   */
  readonly #offer = (): void => {
    const nowMs = performance.now();
    for (const connection of this.#released) {
      connection.idleSinceMs = nowMs;
      const pool = this.#find(connection);
      if (pool === undefined || pool.stopped.isStopped(nowMs)) connection.destroy();
      else pool.idle.push(connection);
    }
    this.#released.length = 0;
  };

  #connect(call: Call, pool: Pool): void {
    const { exit, to } = pool;
    const spread = () => 1 + SPREAD * (2 * (this.#parts.random ?? Math.random)() - 1);
    const connection = new Connection({
      keeper: this,
      connector: this.#parts.connector,
      exit,
      to,
      mostUses: Math.round(MOST_USES * spread()),
      mostAgeMs: MOST_AGE_MS * spread(),
    });
    const pools = this.#pools.get(exit) ?? new Map<string, Pool>();
    this.#pools.set(exit, pools.set(to.text, pool));
    pool.open += 1;
    this.#connections.add(connection);
    this.#timer ??= setInterval(() => this.#look(), LOOK_MS).unref();
    call.begin(connection);
  }

  #look(): void {
    const now = performance.now();
    for (const connection of this.#connections) connection.check(now);
  }
}

const MINUTE_MS = 60_000;
/** How long an upstream that sent what no call asked for gets a connection for each call; twice as long each time. */
const FIRST_STOP_MS = 10 * MINUTE_MS;
const LONGEST_STOP_MS = 24 * 60 * MINUTE_MS;

/** Whether connections of one pool may be used again (requirements C19). */
export class StoppedReuse {
  #untilMs = 0;
  #stopMs = 0;
  /** Connections that may be about to turn out out of step. */
  #suspects = 0;

  /** Stops reuse, for twice as long as the time before. Unit: ms of performance.now(). */
  stop(nowMs: number): void {
    // Connections that were open together tell the same thing once.
    if (nowMs < this.#untilMs) return;
    this.#stopMs = Math.min(this.#stopMs === 0 ? FIRST_STOP_MS : 2 * this.#stopMs, LONGEST_STOP_MS);
    this.#untilMs = nowMs + this.#stopMs;
  }

  suspect(isSuspect: boolean): void {
    this.#suspects += isSuspect ? 1 : -1;
  }

  isStopped(nowMs: number): boolean {
    return this.#suspects > 0 || nowMs < this.#untilMs;
  }

  /** For a day after the last stop the next one is longer. */
  isRemembered(nowMs: number): boolean {
    return this.#stopMs > 0 && nowMs < this.#untilMs + LONGEST_STOP_MS;
  }
}

/** Looks at each whose wait is short in its own time. */
export class ShortWaits<Waiting extends Pick<Connection, "check">> {
  readonly #timers = new Map<Waiting, { readonly timer: NodeJS.Timeout; readonly atMs: number }>();

  /** A wait of so many ms has begun. */
  begin(one: Waiting, ms: number): void {
    if (ms > LONGEST_SHORT_MS) return;
    const atMs = performance.now() + ms;
    const known = this.#timers.get(one);
    // Streams begin a wait with each piece: a timer that runs out before its end stays, and looks again.
    if (known !== undefined && known.atMs <= atMs) return;
    clearTimeout(known?.timer);
    this.#timers.set(one, { atMs, timer: setTimeout(() => this.#look(one), ms + 1).unref() });
  }

  /** It waits no more. */
  end(one: Waiting): void {
    clearTimeout(this.#timers.get(one)?.timer);
    this.#timers.delete(one);
  }

  #look(one: Waiting): void {
    this.#timers.delete(one);
    this.begin(one, one.check(performance.now()));
  }
}

/** The index of the last entry that is idle since this time or longer, in entries of ascending order; -1 = none. */
export function newest(idle: readonly { readonly idleSinceMs: number }[], untilMs: number): number {
  let low = 0;
  let high = idle.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((idle[middle]?.idleSinceMs ?? 0) <= untilMs) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/**
 * Gives each entry back after the event loop has read from all sockets once. An immediate alone does not: one that is set while sockets
 * are read runs before the next reading.
 */
export class Turns<Entry> {
  #fresh: Entry[] = [];
  #seasoned: Entry[] = [];
  #isSet = false;
  readonly #onTurn: (entry: Entry) => void;

  constructor(onTurn: (entry: Entry) => void) {
    this.#onTurn = onTurn;
  }

  push(entry: Entry): void {
    this.#fresh.push(entry);
    this.#set();
  }

  #set(): void {
    if (this.#isSet) return;
    this.#isSet = true;
    setImmediate(this.#run);
  }

  readonly #run = (): void => {
    const due = this.#seasoned;
    this.#seasoned = this.#fresh;
    this.#fresh = [];
    this.#isSet = false;
    if (this.#seasoned.length > 0) this.#set();
    for (const entry of due) this.#onTurn(entry);
  };
}
