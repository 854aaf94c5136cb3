// What is said with a proxy until a tunnel stands: the pure part. A handshake is fed what the proxy says, in any pieces, and tells what
// to answer, or that the tunnel stands, or what went wrong.
import type { EgressFault } from "#server/egress/send.ts";

/** The end of a tunnel as the proxy is told it. */
export interface TunnelTarget {
  /** A name or an address; an IPv6 address without brackets. */
  readonly host: string;
  readonly port: number;
}

export type Step =
  | { readonly kind: "more" }
  | { readonly kind: "say"; readonly bytes: Buffer }
  | { readonly kind: "open" }
  | { readonly kind: "failed"; readonly fault: EgressFault };

export interface ProxyHandshake {
  /** What is said first. */
  begin(): Buffer;
  /** Reads the next piece. Not called again after `open` or `failed`. */
  feed(bytes: Buffer): Step;
}

export const MORE: Step = { kind: "more" };

/** A failure of the proxy, not of what is behind it (requirements C13). */
export function proxyFailure(
  code: "proxy_unreachable" | "proxy_auth" | "proxy_refused" | "proxy_target" | "proxy_protocol",
  detail: string,
): EgressFault {
  return { code, detail, isProxy: true };
}

export function failed(code: Parameters<typeof proxyFailure>[0], detail: string): Step {
  return { kind: "failed", fault: proxyFailure(code, detail) };
}

/** Bytes of the tunnel that came before a request was sent: they could become an answer before the question (requirements C04). */
export function earlyBytes(): Step {
  return failed("proxy_protocol", "bytes behind the proxy's answer");
}
