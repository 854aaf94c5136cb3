// Signs that the server is reached through a proxy on its machine, watched for as long as the default password is in use: such requests
// look like local ones, and a proxy that adds no header cannot be recognised by a single request.
import { FORWARDING_HEADERS, isLocalHost, isLoopback } from "#server/address.ts";
import type { Coord } from "#server/coord/coord.ts";
import type { Events } from "#server/events.ts";
import type { Db } from "#server/store/db.ts";
import { findOption, insertOptionOnce } from "#server/store/options.ts";

/** The first sign; absent = none yet. Not an option that administrators can see. */
export const PROXY_SEEN = "ProxySeen";

/** The parts of a request that can show a proxy. */
export interface RequestOrigin {
  readonly peer: string;
  readonly httpVersion: string;
  header(name: string): string | undefined;
}

/**
 * The sign that a request from this machine was forwarded by a proxy; undefined = none. By default nginx sends the address of its
 * upstream as the Host, and speaks HTTP/1.0 before 1.29.7.
 */
export function proxySign({ peer, httpVersion, header }: RequestOrigin): string | undefined {
  if (!isLoopback(peer)) return undefined;
  const found = FORWARDING_HEADERS.find((name) => header(name) !== undefined);
  if (found !== undefined) return `a header ${found}`;
  if (httpVersion === "1.0") return "a request of HTTP/1.0";
  if (!isLocalHost(header("host") ?? "")) return "a Host that is not this machine's";
  return isFromElsewhere(header) ? "a page of ours at an address that is not this machine's" : undefined;
}

/**
 * Whether a browser has our page from another address than this machine's: a proxy that adds nothing and asks for this machine still
 * passes on what browsers say. A page of another site is none of ours, and says so.
 */
function isFromElsewhere(header: RequestOrigin["header"]): boolean {
  const origin = header("origin") ?? "";
  if ((header("sec-fetch-site") ?? "same-origin") !== "same-origin") return false;
  return /^https?:/.test(origin) && URL.canParse(origin) && !isLocalHost(new URL(origin).host);
}

export interface ProxySigns {
  /** Examines a request; a sign counts from that moment on in this process. */
  look(origin: RequestOrigin): void;
  /** Whether a sign was seen by any process, also before a restart. */
  isSeen(): Promise<boolean>;
}

/** A sign is stored once, for all nodes and later starts. */
export function createProxySigns(deps: { db: Db; coord: Coord; events: Events }): ProxySigns {
  const { db, events } = deps;
  let isSeen = false;
  async function keep(sign: string): Promise<void> {
    if (await insertOptionOnce(db, PROXY_SEEN, sign)) events.proxySeen({ sign });
  }
  return {
    look(origin) {
      if (isSeen) return;
      const sign = proxySign(origin);
      if (sign === undefined) return;
      isSeen = true;
      keep(sign).catch((error: unknown) => events.backgroundFailed({ task: "proxy signs", error }));
    },
    async isSeen() {
      isSeen ||= (await findOption(db, PROXY_SEEN)) !== undefined;
      return isSeen;
    },
  };
}
