// Signs that the server is reached through something else on its machine, kept for as long as the password that ships is in use: what
// comes through a proxy looks like this machine, and one that adds nothing to a request cannot be told from it by that request.

import { FORWARDING_HEADERS, isLocalHost, isLoopback } from "#server/address.ts";
import type { Coord } from "#server/coord/coord.ts";
import type { Events } from "#server/events.ts";
import type { Db } from "#server/store/db.ts";
import { findOption, insertOptionOnce } from "#server/store/options.ts";

/** What was seen first; absent = nothing yet. Not an option that people can see. */
export const PROXY_SEEN = "ProxySeen";

/** Of a request, what can tell of a proxy. */
export interface Approach {
  readonly peer: string;
  readonly httpVersion: string;
  header(name: string): string | undefined;
}

/**
 * What of a request from this machine tells that somebody else sent it on; undefined = nothing. nginx speaks HTTP/1.0 and asks for the
 * address it was given where nobody told it otherwise.
 */
export function proxySign({ peer, httpVersion, header }: Approach): string | undefined {
  if (!isLoopback(peer)) return undefined;
  const found = FORWARDING_HEADERS.find((name) => header(name) !== undefined);
  if (found !== undefined) return `a header ${found}`;
  if (httpVersion === "1.0") return "a request of HTTP/1.0";
  return isLocalHost(header("host") ?? "") ? undefined : "a Host that is not this machine's";
}

export interface ProxySigns {
  /** Looks at a request; whatever it finds holds from that moment on in this process. */
  look(approach: Approach): void;
  /** Whether a sign was seen by any process, also before a restart. */
  isSeen(): Promise<boolean>;
}

/** Builds the watch. What it finds is stored once, for all nodes and starts. */
export function createProxySigns(deps: { db: Db; coord: Coord; events: Events }): ProxySigns {
  const { db, events } = deps;
  let isSeen = false;
  async function keep(sign: string): Promise<void> {
    if (await insertOptionOnce(db, PROXY_SEEN, sign)) events.proxySeen({ sign });
  }
  return {
    look(approach) {
      if (isSeen) return;
      const sign = proxySign(approach);
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
