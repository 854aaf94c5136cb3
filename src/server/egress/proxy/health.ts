// How proxies fare: a breaker for each, and one for each place (requirements C14); and whose failure it is when a proxy says that the destination
// does not answer. Users of one proxy are proxies of their own, but when nothing answers at its host and port, all of them are down.
import type { EgressFault } from "#server/egress/send.ts";
import type { ProxyServer } from "./address.ts";
import { markOf, ProxyNumbers } from "./numbers.ts";

/** The circuit breaker of channels serves proxies too: the proxy's number as channel, and no model. */
export interface ProxyBreaker {
  /** How many proxies failed lately. */
  readonly size: number;
  calling(id: number, model: string, now: number): number;
  answered(id: number, model: string, permit: number, now: number): void;
  ended(id: number, model: string, permit: number): void;
  failed(
    id: number,
    model: string,
    failure: { readonly askedMs: number; readonly isSaturated: boolean },
    call: { readonly permit: number; readonly now: number },
  ): void;
  untilFor(id: number, model: string, now: number): number;
  /** Its past says nothing about it from now on. */
  forget(id: number): void;
}

export interface ProxyHealthParts {
  readonly breaker: ProxyBreaker;
  /** Unit: ms since 1970. */
  readonly now: () => number;
}

/** Ends the report of one tunnel: with a fault, which comes back with the right blame, or with none. */
export type TunnelReport = (fault: EgressFault | undefined) => EgressFault | undefined;

/** A proxy serves all models. */
export const NO_MODEL = "";
/** Within this time two failures explain each other. */
const TOGETHER_MS = 60_000;
const MOST_FAILURES = 500;
const DIRECT = "direct";

export class ProxyHealth {
  readonly #parts: ProxyHealthParts;
  readonly #numbers: ProxyNumbers;
  readonly #targets = new TargetFailures();

  constructor(parts: ProxyHealthParts) {
    this.#parts = parts;
    this.#numbers = new ProxyNumbers((id) => parts.breaker.forget(id));
  }

  /** Until when a proxy rests, for itself or with all at its place; 0 = it does not. Unit: ms since 1970. */
  restsUntil(proxy: ProxyServer | undefined, nowMs: number): number {
    if (proxy === undefined) return 0;
    return Math.max(this.#restsUntil(markOf(proxy), nowMs), this.#restsUntil(placeOf(proxy), nowMs));
  }

  #restsUntil(mark: string, nowMs: number): number {
    const id = this.#numbers.find(mark);
    return id === 0 ? 0 : this.#parts.breaker.untilFor(id, NO_MODEL, nowMs);
  }

  /** A tunnel is about to be opened. Its end must be reported once. */
  opening(proxy: ProxyServer, origin: string): TunnelReport {
    const mark = markOf(proxy);
    const own = this.#begin(mark);
    const place = this.#begin(placeOf(proxy));
    return (fault) => {
      if (fault === undefined) {
        own("well");
        place("well");
        return undefined;
      }
      const [blame, judged] = this.#judge(mark, origin, fault);
      own(blame === "proxy" ? "failed" : "unknown");
      // A proxy that refuses a user or a destination is there.
      const isThere = fault.isProxy === true || fault.code.startsWith("proxy_");
      place(fault.code === "proxy_unreachable" ? "failed" : isThere ? "well" : "unknown");
      return judged;
    };
  }

  /** A call to what has this mark, and how its end is told. */
  #begin(mark: string): (end: "well" | "failed" | "unknown") => void {
    const { breaker, now } = this.#parts;
    const id = this.#numbers.take(mark, now());
    const permit = breaker.calling(id, NO_MODEL, now());
    return (end) => {
      if (end === "well") breaker.answered(id, NO_MODEL, permit, now());
      else if (end === "unknown") breaker.ended(id, NO_MODEL, permit);
      else breaker.failed(id, NO_MODEL, { askedMs: 0, isSaturated: false }, { permit, now: now() });
    };
  }

  /** A direct connection to this origin failed. */
  directFailed(origin: string): void {
    this.#targets.add(DIRECT, origin, this.#parts.now());
  }

  /**
   * A proxy that cannot reach one destination may be well. It is the channel's failure when another way to the same origin failed within a
   * minute, and the proxy's when another origin failed behind it; else it counts against neither, and is told as the proxy's.
   */
  #judge(mark: string, origin: string, fault: EgressFault): ["proxy" | "channel" | "nobody", EgressFault] {
    if (fault.isProxy !== true) return ["nobody", fault];
    if (fault.code !== "proxy_target" && fault.code !== "tls") return ["proxy", fault];
    const nowMs = this.#parts.now();
    const { byOtherWay, ofOtherOrigin } = this.#targets.around(mark, origin, nowMs);
    this.#targets.add(mark, origin, nowMs);
    const { isProxy: _, ...channels } = fault;
    if (byOtherWay && fault.code === "proxy_target") return ["channel", channels];
    return [ofOtherOrigin ? "proxy" : "nobody", fault];
  }
}

/** Host and port: never the mark of a proxy, in which there is no blank. */
function placeOf({ host, port }: ProxyServer): string {
  return `${host} ${port}`;
}

/** Destinations that could not be reached lately, and by which way. */
class TargetFailures {
  #failures: { readonly way: string; readonly origin: string; readonly atMs: number }[] = [];

  add(way: string, origin: string, atMs: number): void {
    const recent = this.#failures.filter(
      (it) => isTogether(it.atMs, atMs) && (it.way !== way || it.origin !== origin),
    );
    this.#failures = [...recent, { way, origin, atMs }].slice(-MOST_FAILURES);
  }

  around(way: string, origin: string, nowMs: number): { byOtherWay: boolean; ofOtherOrigin: boolean } {
    const recent = this.#failures.filter(({ atMs }) => isTogether(atMs, nowMs));
    return {
      byOtherWay: recent.some((it) => it.origin === origin && it.way !== way),
      ofOtherOrigin: recent.some((it) => it.way === way && it.origin !== origin),
    };
  }
}

function isTogether(atMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - atMs) < TOGETHER_MS;
}
