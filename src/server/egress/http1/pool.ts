// Keeps the connections of one policy: an idle one of the same origin takes the next call, else another is opened. Never caps them;
// admissions are capped instead.

import type { Policy } from "#server/egress/policy.ts";
import { type EgressRequest, type Flow, faultOf, type Sink } from "#server/egress/send.ts";
import { Connector, type Origin, readOrigin } from "./connect.ts";
import { Call, Connection, type Keeper } from "./connection.ts";
import { requestHead } from "./head.ts";

/** How often it is looked at how long things take. */
const LOOK_MS = 500;
/** What may take less than this is looked at just in time. */
const SOON_MS = 2_000;

/** The connections to one origin. */
interface Pool {
  readonly to: Origin;
  /** The last one used comes first: those that are not needed grow old and are closed. */
  readonly idle: Connection[];
  open: number;
}

export class ConnectionPool implements Keeper {
  readonly #connector: Connector;
  readonly #pools = new Map<string, Pool>();
  readonly #connections = new Set<Connection>();
  /** Those that became idle in this turn of the loop. */
  readonly #resting: Connection[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(policy: Policy) {
    this.#connector = new Connector(policy);
  }

  /** Starts a call. Never throws: one that cannot even begin is a fault, told later like any other. */
  send(request: EgressRequest, sink: Sink): Flow {
    const call = new Call(request, sink);
    try {
      const { origin } = request;
      const pool = this.#pools.get(origin) ?? { to: readOrigin(origin), idle: [], open: 0 };
      const head = requestHead(request, pool.to.authority);
      call.begin(ready(pool) ?? this.#connect(origin, pool), head);
    } catch (error) {
      const fault = faultOf(error);
      queueMicrotask(() => call.fail(fault));
    }
    return call;
  }

  /** Ends all connections; calls that still run are told. */
  close(): void {
    for (const connection of this.#connections) connection.destroy();
  }

  onIdle(connection: Connection): void {
    if (this.#resting.push(connection) === 1) setImmediate(this.#offer);
  }

  onClosed(connection: Connection): void {
    this.#connections.delete(connection);
    if (this.#connections.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    const pool = this.#pools.get(connection.origin);
    if (pool === undefined) return;
    pool.open -= 1;
    if (pool.open === 0) this.#pools.delete(connection.origin);
    const at = pool.idle.indexOf(connection);
    if (at >= 0) pool.idle.splice(at, 1);
  }

  lookSoon(connection: Connection, ms: number): void {
    if (ms < SOON_MS) setTimeout(() => connection.check(performance.now()), ms + 1).unref();
  }

  /**
   * Lets those take calls that became idle in this turn of the loop. Not at once: TLS tells of each record by itself, a full buffer is
   * read again, and servers end connections right behind an answer; whoever took one in between would be told of that.
   */
  readonly #offer = (): void => {
    for (const connection of this.#resting) this.#pools.get(connection.origin)?.idle.push(connection);
    this.#resting.length = 0;
  };

  #connect(origin: string, pool: Pool): Connection {
    const connection = new Connection(origin, pool.to, { keeper: this, connector: this.#connector });
    this.#pools.set(origin, pool);
    pool.open += 1;
    this.#connections.add(connection);
    this.#timer ??= setInterval(() => this.#look(), LOOK_MS).unref();
    return connection;
  }

  #look(): void {
    const now = performance.now();
    for (const connection of this.#connections) connection.check(now);
  }
}

/** A connection that can take a call now. */
function ready({ idle }: Pool): Connection | undefined {
  for (let last = idle.pop(); last !== undefined; last = idle.pop()) {
    if (last.isReady) return last;
    last.destroy();
  }
  return undefined;
}
