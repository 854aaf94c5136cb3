// All outbound connections: each is checked by the address policy when its name is resolved, and pinned to the checked address.
import type { EgressRule } from "#server/config.ts";
import { ConnectionPool } from "./http1/pool.ts";
import { createPolicy, type JudgedUrl, judgeUrl, type Policy } from "./policy.ts";
import type { EgressRequest, Flow, Sink } from "./send.ts";
import { type Handshake, openSocket, type SocketRequest } from "./socket.ts";
import { sendBySocket } from "./socket-send.ts";

export interface Egress {
  /** Starts a call; the sink gets its result. */
  send(request: EgressRequest, sink: Sink): Flow;
  /** Opens a WebSocket. */
  connect(request: SocketRequest): Handshake;
  /** Checks an address that a user typed, before it is saved. */
  judge(text: string, loopbackPort?: number): JudgedUrl;
  /** The address policy, for connections that are not HTTP. */
  readonly policy: Policy;
  /** Ends all connections except WebSockets, which their openers close. */
  close(): void;
}

export interface EgressOptions {
  /** EGRESS_ALLOW. */
  readonly allow: readonly EgressRule[];
  /** Ports of this process's listeners; no call may relay to itself. */
  readonly ownPorts?: readonly number[];
}

/** Creates the egress of a process. */
export function createEgress({ allow, ownPorts = [] }: EgressOptions): Egress {
  const pools = new Map<number | "public" | undefined, { agent: ConnectionPool; policy: Policy }>();
  // Connections are shared by origin: a destination that may use a loopback port has a pool of its own, so that no other channel can
  // use its connections. Addresses of callers have one too, so that they never use a channel's connections.
  const poolFor = (key: number | "public" | undefined) => {
    let pool = pools.get(key);
    if (pool === undefined) {
      const policy =
        key === "public"
          ? createPolicy({ allow: [], ownPorts })
          : createPolicy({ allow, ownPorts, loopbackPort: key });
      pool = { policy, agent: new ConnectionPool(policy) };
      pools.set(key, pool);
    }
    return pool;
  };
  return {
    send(request, sink) {
      const { agent, policy } = poolFor(request.publicOnly ? "public" : request.loopbackPort);
      return isSocket(request.origin) ? sendBySocket(policy, request, sink) : agent.send(request, sink);
    },
    connect: (request) => openSocket(poolFor(request.loopbackPort).policy, request),
    judge: (text, loopbackPort) => judgeUrl(text, poolFor(loopbackPort).policy),
    policy: poolFor(undefined).policy,
    close() {
      for (const { agent } of pools.values()) agent.close();
      pools.clear();
    },
  };
}

function isSocket(origin: string): boolean {
  return origin.startsWith("ws:") || origin.startsWith("wss:");
}
