// How proxies fare: a breaker for each (requirements C14), and whose failure it is when a proxy says that the destination does not
// answer.
import type { EgressFault } from "#server/egress/send.ts";
import type { ProxyServer } from "./address.ts";

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
  openFor(model: string, now: number): ((id: number) => boolean) | undefined;
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
  readonly #ids = new Map<string, number>();
  readonly #targets = new TargetFailures();

  constructor(parts: ProxyHealthParts) {
    this.#parts = parts;
  }

  /** The number of a proxy for the breaker; 0 = none was ever opened by this name. */
  idOf(name: string | undefined): number {
    return name === undefined ? 0 : (this.#ids.get(name) ?? 0);
  }

  /** A tunnel is about to be opened. Its end must be reported once. */
  opening({ name }: ProxyServer, origin: string): TunnelReport {
    const { breaker, now } = this.#parts;
    const id = this.#ids.get(name) ?? this.#ids.size + 1;
    this.#ids.set(name, id);
    const permit = breaker.calling(id, NO_MODEL, now());
    return (fault) => {
      if (fault === undefined) {
        breaker.answered(id, NO_MODEL, permit, now());
        return undefined;
      }
      const [blame, judged] = this.#judge(name, origin, fault);
      if (blame === "proxy")
        breaker.failed(id, NO_MODEL, { askedMs: 0, isSaturated: false }, { permit, now: now() });
      else breaker.ended(id, NO_MODEL, permit);
      return judged;
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
  #judge(name: string, origin: string, fault: EgressFault): ["proxy" | "channel" | "nobody", EgressFault] {
    if (fault.isProxy !== true) return ["nobody", fault];
    if (fault.code !== "proxy_target" && fault.code !== "tls") return ["proxy", fault];
    const nowMs = this.#parts.now();
    const { byOtherWay, ofOtherOrigin } = this.#targets.around(name, origin, nowMs);
    this.#targets.add(name, origin, nowMs);
    const { isProxy: _, ...channels } = fault;
    if (byOtherWay && fault.code === "proxy_target") return ["channel", channels];
    return [ofOtherOrigin ? "proxy" : "nobody", fault];
  }
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
