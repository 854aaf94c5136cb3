// The connections of one policy: an idle one of the same origin takes the next call, else another is opened. Their number is not capped;
// admissions are.

import type { Policy } from "#server/egress/policy.ts";
import { type EgressRequest, type Flow, faultOf, type Sink } from "#server/egress/send.ts";
import { Connector, type Origin, readOrigin } from "./connect.ts";
import { Call, Connection, type Keeper } from "./connection.ts";
import { requestHead } from "./head.ts";

/** How often deadlines are checked. */
const LOOK_MS = 500;
/** Shorter timeouts are checked by a timer of their own. */
const SOON_MS = 2_000;

/** The connections to one origin. */
interface Pool {
  readonly to: Origin;
  /** A stack: the last used one is taken first, so that surplus connections stay idle and are closed. */
  readonly idle: Connection[];
  open: number;
}

export class ConnectionPool implements Keeper {
  readonly #connector: Connector;
  readonly #pools = new Map<string, Pool>();
  readonly #connections = new Set<Connection>();
  /** Connections that became idle in this iteration of the event loop. */
  readonly #released: Connection[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(policy: Policy) {
    this.#connector = new Connector(policy);
  }

  /** Starts a call. Never throws: a call that cannot begin is a fault, reported later like any other. */
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

  /** Ends all connections; running calls get a fault. */
  close(): void {
    for (const connection of this.#connections) connection.destroy();
  }

  onIdle(connection: Connection): void {
    if (this.#released.push(connection) === 1) setImmediate(this.#offer);
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
   * Offers the connections that became idle in this iteration of the event loop. Not at once: TLS delivers each record separately, a full
   * buffer is read again, and servers end connections right after an answer; a call that took one in between would get these events.
   */
  readonly #offer = (): void => {
    for (const connection of this.#released) this.#pools.get(connection.origin)?.idle.push(connection);
    this.#released.length = 0;
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
