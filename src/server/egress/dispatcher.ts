// All outbound connections: each is checked by the address policy when its name is resolved, and pinned to the checked address.
import { systemClock } from "#server/clock.ts";
import type { EgressRule, ProxyEnvironment } from "#server/config.ts";
import { type Exit, Exits } from "./exits.ts";
import { Connector } from "./http1/connect.ts";
import { ConnectionPool, type Desync } from "./http1/pool.ts";
import { type JudgedUrl, judgeName, judgeUrl, type Policy } from "./policy.ts";
import { readProxy } from "./proxy/address.ts";
import { readEnvironment } from "./proxy/environment.ts";
import { type ProxyBreaker, ProxyHealth } from "./proxy/health.ts";
import { type EgressRequest, type Flow, faultOf, type Route, type Sink } from "./send.ts";
import { type Handshake, openSocket, type SocketRequest } from "./socket.ts";
import { sendBySocket } from "./socket-send.ts";

export interface Egress {
  /** Starts a call; the sink gets its result. */
  send(request: EgressRequest, sink: Sink): Flow;
  /** Opens a WebSocket. */
  connect(request: SocketRequest): Handshake;
  /** Checks an address that a user typed, before it is saved. */
  judge(text: string, loopbackPort?: number): JudgedUrl;
  /** Checks the setting of a proxy before it is saved: a sentence for users, or undefined when it may be used (requirements C12). */
  refusalOfProxy(text: string): string | undefined;
  /** Until when the proxy of a target rests because it failed lately (ms since 1970, 0 = it does not; requirements C14); undefined = none failed. */
  restingProxies(): ((route: Route, origin: string) => number) | undefined;
  /** The upstream of this owner sent what no call asked for: each call gets a connection, for a while (requirements C19). */
  isReuseStopped(owner: string): boolean;
  /** The targets with this owner have changed, or are gone: their connections end. undefined = all owners. */
  forget(owner: string | undefined): void;
  /** Sets the proxy of all targets that have none of their own, "" = none; connections that rest end. */
  setProxyForAll(proxy: string): void;
  /** The address policy, for connections that are not HTTP. */
  readonly policy: Policy;
  /** Ends all connections except WebSockets, which their openers close. */
  close(): void;
}

export interface EgressOptions {
  /** EGRESS_ALLOW. */
  readonly allow: readonly EgressRule[];
  /** EGRESS_PROXY_ALLOW: what proxies alone may be besides. */
  readonly proxyAllow?: readonly EgressRule[] | undefined;
  /** Ports of this process's listeners; no call may relay to itself. */
  readonly ownPorts?: readonly number[];
  /** The proxies of the environment; undefined = it is not asked. */
  readonly proxyEnvironment?: ProxyEnvironment | undefined;
  readonly proxyBreaker?: ProxyBreaker | undefined;
  /** Unit: ms since 1970. */
  readonly now?: (() => number) | undefined;
  /** How long a connection rests between two calls. Unit: ms. */
  readonly restMs?: number | undefined;
  /** In [0, 1); only tests replace chance. */
  readonly random?: (() => number) | undefined;
  readonly onDesync?: ((desync: Desync) => void) | undefined;
}

/** Nothing is learnt of proxies. */
export const NO_BREAKER: ProxyBreaker = {
  calling: () => 0,
  answered: () => undefined,
  ended: () => undefined,
  failed: () => undefined,
  untilFor: () => 0,
  forget: () => undefined,
  size: 0,
};

/** Creates the egress of a process. */
export function createEgress(options: EgressOptions): Egress {
  const { allow, proxyAllow = [], ownPorts = [], proxyEnvironment } = options;
  const { proxyBreaker: breaker = NO_BREAKER, now = systemClock.now } = options;
  const health = new ProxyHealth({ breaker, now });
  const environment = proxyEnvironment && readEnvironment(proxyEnvironment);
  const isUsed = (exit: Exit) => pool.hasConnections(exit);
  const exits = new Exits({ allow, proxyAllow, ownPorts, environment, health, isUsed });
  const connector = new Connector();
  const pool = new ConnectionPool({
    connector,
    restMs: options.restMs,
    random: options.random,
    onDesync: (desync) => options.onDesync?.(desync),
    onUnreachable: (exit, origin) => exit.path === undefined && health.directFailed(origin),
  });
  return {
    send(request, sink) {
      try {
        const exit = exits.exitFor(request);
        if (isSocket(request.origin)) return sendBySocket({ exit, connector }, request, sink);
        return pool.send(exit, request, sink);
      } catch (error) {
        return failedLater(error, sink);
      }
    },
    connect(request) {
      try {
        const exit = exits.exitFor({ origin: new URL(request.url).origin, route: request.route });
        return openSocket({ exit, connector }, request);
      } catch (error) {
        return { result: Promise.resolve({ kind: "failed", ...faultOf(error) }), abort: () => undefined };
      }
    },
    judge: (text, loopbackPort) => judgeUrl(text, exits.policyFor(loopbackPort)),
    refusalOfProxy: (text) => refusalOfProxy(text, exits.proxyPolicy),
    restingProxies() {
      if (breaker.size === 0) return undefined;
      const nowMs = now();
      return (route, origin) => health.restsUntil(exits.proxyOf(route, origin), nowMs);
    },
    isReuseStopped: (owner) => pool.isReuseStopped(owner),
    forget(owner) {
      exits.forget(owner);
      pool.closeIdle((exit) => owner === undefined || exit.owner === owner);
    },
    setProxyForAll(proxy) {
      exits.setProxyForAll(proxy);
      pool.closeIdle(() => true);
    },
    policy: exits.policyFor(undefined),
    close() {
      pool.close();
    },
  };
}

function isSocket(origin: string): boolean {
  return origin.startsWith("ws:") || origin.startsWith("wss:");
}

/** A call that cannot begin is a fault, reported later like any other. */
function failedLater(error: unknown, sink: Sink): Flow {
  let isOver = false;
  const fault = faultOf(error);
  queueMicrotask(() => {
    if (!isOver) sink.onFault(fault);
  });
  return {
    isSent: false,
    pause: () => undefined,
    resume: () => undefined,
    abort() {
      isOver = true;
    },
  };
}

function refusalOfProxy(text: string, policy: Policy): string | undefined {
  const reading = readProxy(text);
  if (reading.kind === "unreadable") return reading.refusal;
  if (reading.kind !== "proxy") return undefined;
  const { host, port } = reading.proxy;
  if (!isRefusedLiteral(host, port, policy)) return undefined;
  return "不允许使用该代理地址：内网和本机的代理须在环境变量 EGRESS_PROXY_ALLOW 或 EGRESS_ALLOW 中放行";
}

/** A name is judged when it is resolved. */
function isRefusedLiteral(host: string, port: number, policy: Policy): boolean {
  const refusal = judgeName(host, port, policy);
  return refusal === "an inner address" || refusal === "a metadata service";
}
