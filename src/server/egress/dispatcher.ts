// The one door out: undici agents whose every connection is judged by the address policy when the name is resolved, and
// pinned to the address that was judged. Never caps connections (design 4.7); admissions are capped instead.
import { isIP } from "node:net";
// The whole package also brings fetch, caches and mocks: 2.5 MB of memory that nothing here uses.
import buildConnector from "undici/lib/core/connect.js";
import Agent from "undici/lib/dispatcher/agent.js";
import type { EgressRule } from "#server/config.ts";
import { guardedLookup, isAllowed } from "./lookup.ts";
import { createPolicy, type JudgedUrl, judgeUrl, type Policy } from "./policy.ts";
import { BlockedError, dispatchOn, type EgressRequest, type Flow, type Sink } from "./send.ts";
import { type Opening, openSocket, type SocketRequest } from "./socket.ts";
import { sendBySocket } from "./socket-send.ts";

export interface Egress {
  /** Starts a call; the sink hears what comes of it. */
  send(request: EgressRequest, sink: Sink): Flow;
  /** Opens a WebSocket. */
  connect(request: SocketRequest): Opening;
  /** Judges an address that somebody typed, before it is saved. */
  judge(text: string, loopbackPort?: number): JudgedUrl;
  /** What may be reached, for connections that are not HTTP. */
  readonly policy: Policy;
  /** Ends all connections but WebSockets, which belong to those who opened them. */
  close(): Promise<void>;
}

export interface EgressOptions {
  /** EGRESS_ALLOW. */
  readonly allow: readonly EgressRule[];
  /** Ports of our own listeners; nothing may relay to ourselves. */
  readonly ownPorts?: readonly number[];
}

const CONNECT_TIMEOUT_MS = 10_000;
/** Idle connections are kept this long; an upstream's own Keep-Alive hint wins when it is shorter. */
const KEEP_ALIVE_MS = 30_000;

/** Opens the door out. */
export function createEgress({ allow, ownPorts = [] }: EgressOptions): Egress {
  const doors = new Map<number | "public" | undefined, { agent: Agent; policy: Policy }>();
  // Connections are shared by origin: a destination that may use a loopback port has an agent of its own, so that no
  // other channel can ride on its connections. Addresses of callers have one too, so that none of them can ride on a channel's.
  const doorFor = (key: number | "public" | undefined) => {
    let door = doors.get(key);
    if (door === undefined) {
      const policy =
        key === "public"
          ? createPolicy({ allow: [], ownPorts })
          : createPolicy({ allow, ownPorts, loopbackPort: key });
      door = { policy, agent: createAgent(policy) };
      doors.set(key, door);
    }
    return door;
  };
  return {
    send(request, sink) {
      const { agent, policy } = doorFor(request.publicOnly ? "public" : request.loopbackPort);
      return isSocket(request.origin)
        ? sendBySocket(policy, request, sink)
        : dispatchOn(agent, request, sink);
    },
    connect: (request) => openSocket(doorFor(request.loopbackPort).policy, request),
    judge: (text, loopbackPort) => judgeUrl(text, doorFor(loopbackPort).policy),
    policy: doorFor(undefined).policy,
    async close() {
      await Promise.all([...doors.values()].map(({ agent }) => agent.destroy()));
      doors.clear();
    },
  };
}

function isSocket(origin: string): boolean {
  return origin.startsWith("ws:") || origin.startsWith("wss:");
}

function createAgent(policy: Policy): Agent {
  return new Agent({
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connect: createConnector(policy),
  });
}

/** One inner connector per port, since the look-up hook is told the name only. */
function createConnector(policy: Policy): buildConnector.connector {
  const byPort = new Map<number, buildConnector.connector>();
  return (options, callback) => {
    const port = Number(options.port) || (options.protocol === "https:" ? 443 : 80);
    // A literal address is never looked up.
    const host = options.hostname.replace(/^\[|\]$/g, "");
    if (isIP(host) !== 0 && !isAllowed(policy, host, port)) {
      callback(new BlockedError(`${host}:${port}`), null);
      return;
    }
    let connect = byPort.get(port);
    if (connect === undefined) {
      connect = buildConnector({
        timeout: CONNECT_TIMEOUT_MS,
        allowH2: false,
        // Also against NODE_TLS_REJECT_UNAUTHORIZED=0 (reliability R22).
        rejectUnauthorized: true,
        lookup: guardedLookup(policy, port),
      });
      byPort.set(port, connect);
    }
    connect(options, callback);
  };
}
