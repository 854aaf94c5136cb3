// Where calls leave: from the route of a target to a policy and perhaps a proxy (requirements C08). Connections belong to an exit, so
// that those of two channels or two proxies are never mixed (requirements C15).
import type { EgressRule } from "#server/config.ts";
import { createPolicy, isLoopbackHost, type Policy } from "./policy.ts";
import { type ProxyReading, type ProxyServer, readProxy } from "./proxy/address.ts";
import { type EnvironmentProxies, environmentProxy } from "./proxy/environment.ts";
import { proxyFailure } from "./proxy/handshake.ts";
import type { ProxyHealth } from "./proxy/health.ts";
import { markOf } from "./proxy/numbers.ts";
import type { ProxyPath } from "./proxy/tunnel.ts";
import { FaultError, type Route } from "./send.ts";

export interface Exit {
  /** What its connections have in common, in one text without credentials. */
  readonly name: string;
  readonly owner: string;
  readonly policy: Policy;
  /** undefined = direct. */
  readonly path: ProxyPath | undefined;
  /** No connection is used for a second call. */
  readonly isOnce: boolean;
  /** undefined = as all. Unit: ms. */
  readonly connectMs: number | undefined;
  /** The target has changed: connections end with their calls. */
  isForgotten: boolean;
}

export interface ExitsParts {
  /** EGRESS_ALLOW. */
  readonly allow: readonly EgressRule[];
  /** EGRESS_PROXY_ALLOW: for proxies alone, besides EGRESS_ALLOW. */
  readonly proxyAllow: readonly EgressRule[];
  readonly ownPorts: readonly number[];
  /** undefined = the environment is not asked. */
  readonly environment: EnvironmentProxies | undefined;
  readonly health: ProxyHealth;
  /** Whether an exit has connections. */
  isUsed(exit: Exit): boolean;
}

/** What a call says about where it goes. */
export interface Destination {
  readonly origin: string;
  readonly route?: Route | undefined;
  readonly publicOnly?: true | undefined;
}

const PLAIN: Route = { owner: "", proxies: [] };
const DIRECT: ProxyReading = { kind: "direct" };
const INHERIT: ProxyReading = { kind: "inherit" };
/** Origins of one channel; more come from callers' media. */
const ORIGINS_PER_ROUTE = 50;
/** With so many exits those that are not in use are dropped, and again when as many are left twice over. */
const SWEEP_AT = 1_000;

export class Exits {
  readonly #parts: ExitsParts;
  readonly #byName = new Map<string, Exit>();
  #sweepAt = SWEEP_AT;
  #byRoute = new WeakMap<Route, Map<string, Exit>>();
  readonly #ownProxies = new WeakMap<Route, ProxyReading>();
  /** The proxy of targets that name none; "" = there is none. */
  #proxyForAll = "";
  readonly #policies = new Map<number | undefined, Policy>();
  readonly #publicPolicy: Policy;
  readonly #proxyPolicy: Policy;

  constructor(parts: ExitsParts) {
    const { allow, proxyAllow, ownPorts } = parts;
    this.#parts = parts;
    this.#publicPolicy = createPolicy({ allow: [], ownPorts });
    this.#proxyPolicy = createPolicy({ allow: [...allow, ...proxyAllow], ownPorts });
  }

  /** The policy of channels' destinations. */
  policyFor(loopbackPort: number | undefined): Policy {
    const { allow, ownPorts } = this.#parts;
    const policy = this.#policies.get(loopbackPort) ?? createPolicy({ allow, ownPorts, loopbackPort });
    this.#policies.set(loopbackPort, policy);
    return policy;
  }

  get proxyPolicy(): Policy {
    return this.#proxyPolicy;
  }

  /** Throws: FaultError when the setting that decides cannot be read: never direct instead. */
  exitFor({ origin, route = PLAIN, publicOnly }: Destination): Exit {
    // Addresses of callers are any number, and two callers never share a connection to one.
    if (publicOnly === true) return this.#make(route, this.#proxyFor(route, origin), true);
    let known = this.#byRoute.get(route);
    if (known === undefined || known.size >= ORIGINS_PER_ROUTE) {
      known = new Map();
      this.#byRoute.set(route, known);
    }
    const found = known.get(origin);
    if (found !== undefined && !found.isForgotten) return found;
    const exit = this.#intern(this.#make(route, this.#proxyFor(route, origin), false));
    known.set(origin, exit);
    return exit;
  }

  /** A destination's proxy; undefined = direct, or unreadable. */
  proxyOf(route: Route, origin: string): ProxyServer | undefined {
    const own = this.#ownOf(route);
    const reading = own.kind !== "inherit" || !URL.canParse(origin) ? own : this.#ofAll(origin);
    return reading.kind === "proxy" ? reading.proxy : undefined;
  }

  #proxyFor(route: Route, origin: string): ProxyServer | undefined {
    const own = this.#ownOf(route);
    const reading = own.kind === "inherit" ? this.#ofAll(origin) : own;
    if (reading.kind === "unreadable")
      throw new FaultError(proxyFailure("proxy_unreachable", "the proxy setting cannot be read"));
    return reading.kind === "proxy" ? reading.proxy : undefined;
  }

  /** Sets the proxy of targets that name none; "" = none. */
  setProxyForAll(proxy: string): void {
    this.#proxyForAll = proxy;
    this.#byRoute = new WeakMap();
    this.forget(undefined);
  }

  /** The targets of an owner, or all, have changed: their connections are not used again. */
  forget(owner: string | undefined): void {
    for (const [name, exit] of this.#byName) {
      if (owner !== undefined && exit.owner !== owner) continue;
      exit.isForgotten = true;
      this.#byName.delete(name);
    }
  }

  /** Drops exits that are not in use. No call pays for it but the one that makes an exit too many. */
  #sweep(): void {
    for (const [name, exit] of this.#byName) {
      if (this.#parts.isUsed(exit)) continue;
      // Routes that know it get another one, which is forgotten with its owner's.
      exit.isForgotten = true;
      this.#byName.delete(name);
    }
    this.#sweepAt = Math.max(SWEEP_AT, 2 * this.#byName.size);
  }

  /** What the target itself says. It is read once: keys are chosen by it. */
  #ownOf(route: Route): ProxyReading {
    const known = this.#ownProxies.get(route);
    if (known !== undefined) return known;
    const readings = route.proxies.filter((text) => text !== "").map(readProxy);
    const own = readings.find(({ kind }) => kind !== "inherit") ?? INHERIT;
    this.#ownProxies.set(route, own);
    return own;
  }

  #ofAll(origin: string): ProxyReading {
    // Behind a proxy for all, this machine would become the proxy's own.
    const url = new URL(origin);
    if (isLoopbackHost(url.hostname.replace(/^\[|\]$/g, ""))) return DIRECT;
    const { environment } = this.#parts;
    const forAll = this.#proxyForAll === "" ? undefined : readProxy(this.#proxyForAll);
    if (forAll !== undefined && forAll.kind !== "inherit") return forAll;
    return environment === undefined ? DIRECT : environmentProxy(environment, url);
  }

  #make(route: Route, proxy: ProxyServer | undefined, isPublic: boolean): Exit {
    const { owner, loopbackPort, connectMs } = route;
    const policy = isPublic ? this.#publicPolicy : this.policyFor(loopbackPort);
    const isOnce = isPublic || route.isOnce === true;
    const name = [isOnce, loopbackPort, owner, proxy && markOf(proxy), connectMs].join(" ");
    const path = proxy && {
      proxy,
      policy,
      proxyPolicy: this.#proxyPolicy,
      resolves: isPublic ? "us" : proxy.resolves,
      isCallers: isPublic,
      health: this.#parts.health,
    };
    return { name, owner, policy, path, isOnce, connectMs, isForgotten: false };
  }

  #intern(made: Exit): Exit {
    const known = this.#byName.get(made.name);
    if (known !== undefined) return known;
    if (this.#byName.size >= this.#sweepAt) this.#sweep();
    this.#byName.set(made.name, made);
    return made;
  }
}
