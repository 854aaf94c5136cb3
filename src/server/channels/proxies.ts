// The proxies of channels as they are stored and shown (requirements C08, C17). Credentials go in and never come out.
import { dropsLogin, type ProxyServer, readProxy } from "#server/egress/proxy/address.ts";
import type { Route } from "#server/egress/send.ts";
import { hideSecret } from "#server/log/texts.ts";
import type { Secrets } from "#server/secrets.ts";

const CONTEXT = "channels.proxy";

/** The name of a channel where connections are kept. */
export function ownerOf(channelId: number): string {
  return `channel ${channelId}`;
}

/** The id in a name that `ownerOf` made; undefined = it is none. */
export function channelOf(owner: string): number | undefined {
  const found = /^channel (\d+)$/.exec(owner);
  return found === null ? undefined : Number(found[1]);
}

/** Opens what is stored; its credentials are never told again. Throws: SealError. */
export function openProxy(secrets: Secrets, sealed: string): string {
  if (sealed === "") return "";
  const text = secrets.open(sealed, CONTEXT);
  hideProxy(text);
  return text;
}

/** Seals what an operator wrote, in one spelling; "" = none. */
export function sealProxy(secrets: Secrets, text: string): string {
  const reading = readProxy(text);
  if (reading.kind === "inherit") return "";
  const stored =
    reading.kind === "proxy" ? reading.proxy.name : reading.kind === "direct" ? "direct" : text.trim();
  hideProxy(stored);
  return secrets.seal(stored, CONTEXT);
}

function hideProxy(text: string): void {
  const reading = readProxy(text);
  if (reading.kind !== "proxy" || reading.proxy.login === undefined) return;
  hideSecret(text);
  hideSecret(reading.proxy.login.user);
  hideSecret(reading.proxy.login.password);
}

/** Whose calls go through a proxy. */
interface Sender {
  readonly channelId: number;
  /** As it is stored. */
  readonly keyHash: string;
}

const HASH_DIGITS = 16;

/**
 * A proxy with `{key_hash}` and `{channel_id}` filled into its user: sellers of exits keep one address for each user they are told
 * (requirements C63). `{random}` is filled in when a tunnel is opened.
 */
export function filledProxy(text: string, { channelId, keyHash }: Sender): string {
  if (!text.includes("key_hash") && !text.includes("channel_id")) return text;
  const reading = readProxy(text);
  if (reading.kind !== "proxy" || reading.proxy.login === undefined) return text;
  const hash = Buffer.from(keyHash, "base64url").toString("hex").slice(0, HASH_DIGITS);
  return reading.proxy.name.replace(/^[^:]+:\/\/[^:@]*/, (start) =>
    start.replaceAll("%7Bkey_hash%7D", hash).replaceAll("%7Bchannel_id%7D", String(channelId)),
  );
}

/** What one of several keys has of its own: a proxy ("" = the channel's), and how long connecting may take (ms). */
interface KeyWay {
  readonly proxy: string;
  readonly keyHash: string;
  readonly connectMs?: number | undefined;
}

/** Whether the calls of one of its keys go another way than those of the channel; `proxy` = the key's own, sealed or not. */
export function hasOwnWay(channel: { readonly proxy: string }, proxy: string): boolean {
  return proxy !== "" || channel.proxy.includes("key_hash");
}

/** The way of a channel's calls with one of its keys. */
export function routeWith(
  channel: { readonly id: number; readonly proxy: string; readonly route: Route },
  { proxy, keyHash, connectMs }: KeyWay,
): Route {
  const { route } = channel;
  const timed = !connectMs || connectMs === route.connectMs ? route : { ...route, connectMs };
  if (!hasOwnWay(channel, proxy)) return timed;
  const sender = { channelId: channel.id, keyHash };
  return { ...timed, proxies: [proxy, channel.proxy].map((text) => filledProxy(text, sender)) };
}

/** Host and port of the proxy that a way names itself; "" = it names none. */
export function proxyPlaceOf({ proxies }: Route): string {
  for (const text of proxies) {
    const reading = readProxy(text);
    if (reading.kind === "proxy") return `${reading.proxy.host} ${reading.proxy.port}`;
    if (reading.kind !== "inherit") return "";
  }
  return "";
}

/** A proxy as administrators see it: without its credentials. */
export interface ShownProxy {
  /** "" = as all, `direct`, or type and address. */
  readonly proxy: string;
  /** It has a user. */
  readonly proxy_login: boolean;
}

export function showProxy(text: string): ShownProxy {
  const reading = readProxy(text);
  if (reading.kind !== "proxy")
    return { proxy: reading.kind === "direct" ? "direct" : "", proxy_login: false };
  return { proxy: reading.proxy.shown, proxy_login: reading.proxy.login !== undefined };
}

/**
 * What an edit makes of the stored proxy: the same address without credentials keeps those that are stored, any other address needs its own
 * (they must not be sent elsewhere), and `type://@host:port` has none.
 */
export function editedProxy(typed: string, stored: string): string {
  const now = readProxy(typed);
  const before = readProxy(stored);
  if (now.kind !== "proxy" || before.kind !== "proxy") return typed;
  if (now.proxy.login !== undefined || dropsLogin(typed)) return typed;
  return isSamePlace(now.proxy, before.proxy) ? before.proxy.name : typed;
}

function isSamePlace(one: ProxyServer, other: ProxyServer): boolean {
  return one.shown === other.shown;
}
