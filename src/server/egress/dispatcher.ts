// The one door out: undici agents whose every connection is judged by the address policy when the name is resolved, and
// pinned to the address that was judged. Never caps connections (design 4.7); admissions are capped instead.
import { type LookupAddress, type LookupAllOptions, lookup as resolve } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { Agent, buildConnector } from "undici";
import type { EgressRule } from "#server/config.ts";
import { createPolicy, type JudgedUrl, judgeUrl, type Policy } from "./policy.ts";
import { BlockedError, dispatchOn, type EgressRequest, type Flow, type Sink } from "./send.ts";

export interface Egress {
  /** Starts a call; the sink hears what comes of it. */
  send(request: EgressRequest, sink: Sink): Flow;
  /** Judges an address that somebody typed, before it is saved. */
  judge(text: string, loopbackPort?: number): JudgedUrl;
  /** What may be reached, for connections that are not HTTP. */
  readonly policy: Policy;
  /** Ends all connections. */
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
  const doors = new Map<number | undefined, { agent: Agent; policy: Policy }>();
  // Connections are shared by origin: a destination that may use a loopback port has an agent of its own, so that no
  // other channel can ride on its connections.
  const doorFor = (loopbackPort: number | undefined) => {
    let door = doors.get(loopbackPort);
    if (door === undefined) {
      const policy = createPolicy({ allow, ownPorts, loopbackPort });
      door = { policy, agent: createAgent(policy) };
      doors.set(loopbackPort, door);
    }
    return door;
  };
  return {
    send: (request, sink) => dispatchOn(doorFor(request.loopbackPort).agent, request, sink),
    judge: (text, loopbackPort) => judgeUrl(text, doorFor(loopbackPort).policy),
    policy: doorFor(undefined).policy,
    async close() {
      await Promise.all([...doors.values()].map(({ agent }) => agent.destroy()));
      doors.clear();
    },
  };
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

function isAllowed(policy: Policy, address: string, port: number): boolean {
  const verdict = policy.judge(address, port);
  return verdict === "public" || verdict === "allowed";
}

/** How a name becomes addresses; another one than the system's only in tests. */
export type Resolver = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** Resolves a name and passes on the addresses that may be reached; the socket connects to one of exactly these. */
export function guardedLookup(policy: Policy, port: number, find: Resolver = resolve): LookupFunction {
  return (hostname, options, callback) => {
    find(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) {
        callback(error, "", 0);
        return;
      }
      const allowed = addresses.filter(({ address }) => isAllowed(policy, address, port));
      const [first] = allowed;
      if (first === undefined) callback(new BlockedError(`${hostname}:${port}`), "", 0);
      else if (options.all === true) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };
}
