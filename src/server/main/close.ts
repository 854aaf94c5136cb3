// Closes a server so that no client is hung up on that was accepted, or that may go on sending on an open connection.
import { Server } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";

/** Idle connections stay open this long: a client that uses one meanwhile is answered, and told that it closes. */
const IDLE_MS = 500;
/** What has begun to arrive of a request gets this long for the rest of its head. */
const HEAD_MS = 2_000;
/** A turn of the event loop that is shorter has left nothing unread; busier ones are waited for, but not for ever. */
const QUIET_TURN_MS = 1;
const MAX_TURNS = 100;

/** Closing as every server of Node does it: HTTP's own would cut idle connections at once and no longer end silent ones. */
const stopListening: (this: Server, done: () => void) => void = Object.getPrototypeOf(Server.prototype).close;

/**
 * Stops listening and resolves when the last connection is gone; answers must say `Connection: close` from now on. Idle
 * connections close within a second (requirements G02).
 */
export async function closeGently(server: Server): Promise<void> {
  server.keepAliveTimeout = IDLE_MS;
  server.keepAliveTimeoutBuffer = 0;
  server.headersTimeout = HEAD_MS;
  await quietTurn();
  const closed = new Promise<void>((resolve) => stopListening.call(server, () => resolve()));
  const sweep = setTimeout(() => void quietTurn().then(() => server.closeIdleConnections()), IDLE_MS);
  await closed;
  clearTimeout(sweep);
}

/**
 * Resolves right after the event loop has taken in what was waiting: connections that the system has accepted, requests that have
 * arrived. Closing at any other moment would answer them with a reset.
 */
async function quietTurn(): Promise<void> {
  await nextTurn();
  for (let turn = 0; turn < MAX_TURNS; turn += 1) {
    const startMs = performance.now();
    await nextTurn();
    if (performance.now() - startMs < QUIET_TURN_MS) return;
  }
}
