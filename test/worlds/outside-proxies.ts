// The two proxies that others wrote, HTTP and SOCKS5, with a login, as tests of all outgoing paths use them: behind each the names of vendors
// are this machine, and nowhere else.
import { readProxy } from "#server/egress/proxy/address.ts";
import { type ProxyWorld, startChainProxy, startSocksProxy } from "#test/emulators/proxies.ts";

export const USER = "proxy-user-canary";
export const PASSWORD = "proxy-password-canary";
/** Resolves at the proxies alone. */
export const HOST = "vendor.example";

/** A kind of proxy; `scheme` lets the proxy resolve names. */
export interface OutsideProxy {
  readonly name: string;
  readonly scheme: string;
  start(login: string): Promise<ProxyWorld>;
}

export const OUTSIDE: readonly OutsideProxy[] = [
  { name: "proxy-chain (HTTP)", scheme: "http", start: startChainProxy },
  { name: "simple-socks (SOCKS5)", scheme: "socks5h", start: startSocksProxy },
];

/** The address of one that runs. */
export const addressOf = ({ scheme }: OutsideProxy, { port }: ProxyWorld) =>
  `${scheme}://${USER}:${PASSWORD}@127.0.0.1:${port}`;

let gone = 0;

/** A proxy that is not there. Each has an address of its own on this machine: what one did wrong rests no other. */
export function goneProxy({ scheme }: OutsideProxy): string {
  gone += 1;
  const text = `${scheme}://${USER}-${gone}:${PASSWORD}@127.1.${gone >> 8}.${gone & 255}:1`;
  if (readProxy(text).kind !== "proxy") throw new Error("no address of a proxy");
  return text;
}

/** What of a proxy's login must stand nowhere. */
export const SECRETS = [USER, PASSWORD, Buffer.from(`${USER}:${PASSWORD}`).toString("base64")];

/** The same server under a name that only the proxies know. */
export const named = (url: string, host = HOST) => url.replace("127.0.0.1", host);

/** As proxies are asked for it, `host:port`. */
export const placeOf = (url: string, host = HOST) => `${host}:${new URL(url).port}`;
