// Network addresses: the client's, and whether an address lies in a CIDR. Pure.

/** An address as a number; IPv4 inside IPv6 counts as IPv4. */
interface Address {
  readonly value: bigint;
  readonly bits: 32 | 128;
}

interface Range {
  readonly first: bigint;
  readonly shift: bigint;
  readonly bits: 32 | 128;
}

function parseV4(text: string): bigint | undefined {
  const parts = text.split(".");
  if (parts.length !== 4) return undefined;
  let value = 0n;
  for (const part of parts) {
    if (!/^\d{1,3}$/.test(part) || Number(part) > 255) return undefined;
    value = value * 256n + BigInt(part);
  }
  return value;
}

/** The 16-bit groups of one side of `::`; undefined when one is malformed. */
function groups(text: string): bigint[] | undefined {
  if (text === "") return [];
  const found: bigint[] = [];
  for (const part of text.split(":")) {
    const v4 = part.includes(".") ? parseV4(part) : undefined;
    if (v4 !== undefined) found.push(v4 >> 16n, v4 & 0xffffn);
    else if (/^[0-9a-fA-F]{1,4}$/.test(part)) found.push(BigInt(`0x${part}`));
    else return undefined;
  }
  return found;
}

function parseV6(text: string): bigint | undefined {
  const sides = text.replace(/%.*$/, "").split("::");
  const head = groups(sides[0] ?? "");
  const tail = sides.length === 2 ? groups(sides[1] ?? "") : [];
  if (!head || !tail || sides.length > 2) return undefined;
  const missing = 8 - head.length - tail.length;
  if (sides.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const all = [...head, ...Array.from({ length: missing }, () => 0n), ...tail];
  return all.reduce((value, group) => (value << 16n) | group, 0n);
}

const MAPPED_PREFIX = 0xffffn << 32n;

export function parseAddress(text: string): Address | undefined {
  const v4 = parseV4(text);
  if (v4 !== undefined) return { value: v4, bits: 32 };
  const v6 = text.includes(":") ? parseV6(text) : undefined;
  if (v6 === undefined) return undefined;
  if (v6 >> 32n === MAPPED_PREFIX >> 32n) return { value: v6 & 0xffff_ffffn, bits: 32 };
  return { value: v6, bits: 128 };
}

function parseRange(cidr: string): Range | undefined {
  const [text = "", prefix] = cidr.trim().split("/");
  const address = parseAddress(text);
  if (!address) return undefined;
  const length = prefix === undefined ? address.bits : Number(prefix);
  if (!Number.isInteger(length) || length < 0 || length > address.bits) return undefined;
  const shift = BigInt(address.bits - length);
  return { first: address.value >> shift, shift, bits: address.bits };
}

/** Whether a text is an address or CIDR. */
export function isCidr(text: string): boolean {
  return parseRange(text) !== undefined;
}

/** Whether an address lies in any of the CIDRs; an unreadable address lies in none. */
export function isInRanges(addressText: string, cidrs: readonly string[]): boolean {
  if (cidrs.length === 0) return false;
  const address = parseAddress(addressText);
  if (!address) return false;
  return cidrs.some((cidr) => {
    const range = parseRange(cidr);
    return range !== undefined && range.bits === address.bits && address.value >> range.shift === range.first;
  });
}

/** Who asks, as far as the connection and its proxies tell; who that is in our books is the caller or the actor. */
export interface Client {
  /** Address of the client, IPv4-in-IPv6 written as IPv4. */
  readonly address: string;
  /** The client speaks https, according to a trusted proxy. */
  readonly isHttps: boolean;
  /** The host name the client asked for. */
  readonly host: string;
  /** The client is on this machine, as far as can be told. */
  readonly isLocal: boolean;
}

const LOCAL_PEERS = new Set(["127.0.0.1", "::1", "::ffff:127.0.0.1"]);
const LOCAL_HOST = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/;
/** What proxies and what stands before them add. */
export const FORWARDING_HEADERS = [
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-forwarded-port",
  "x-forwarded-server",
  "x-forwarded-scheme",
  "x-forwarded-ssl",
  "x-forwarded",
  "x-real-ip",
  "forwarded",
  "forwarded-for",
  "via",
  "true-client-ip",
  "x-client-ip",
  "x-cluster-client-ip",
  "x-proxyuser-ip",
  "x-original-forwarded-for",
  "x-original-host",
  "x-envoy-external-address",
  "x-azure-clientip",
  "x-amzn-trace-id",
  "x-arr-ssl",
  "cf-connecting-ip",
  "cf-ray",
  "fastly-client-ip",
  "fly-client-ip",
  "cdn-loop",
  "front-end-https",
] as const;

/** An address of this machine that is reached from it alone. */
export function isLoopback(peer: string): boolean {
  return LOCAL_PEERS.has(peer);
}

/** A name under which this machine reaches itself. */
export function isLocalHost(host: string): boolean {
  return LOCAL_HOST.test(host);
}

/**
 * Whether the client is on this machine, and neither a proxy on it, which adds a forwarding header or asks for a public name, nor a
 * browser on it that a page of another name was rebound to it.
 */
export function isLocal(peer: string, header: (name: string) => string | undefined): boolean {
  return (
    isLoopback(peer) &&
    isLocalHost(header("host") ?? "") &&
    FORWARDING_HEADERS.every((name) => header(name) === undefined)
  );
}

/**
 * Finds the client's address. Forwarding headers count only when the peer is a trusted proxy; then the right-most hop that is
 * not trusted itself is the client, or the peer when that hop is no address (requirements L02).
 */
export function identifyClient(
  peer: string,
  header: (name: string) => string | undefined,
  trustedProxies: readonly string[],
): Client {
  const host = header("host") ?? "";
  const direct = { address: plain(peer), isHttps: false, host, isLocal: isLocal(peer, header) };
  if (!isInRanges(peer, trustedProxies)) return direct;
  // No hop is skipped because it cannot be read: the one before it is what the client claims.
  const hops = (header("x-forwarded-for") ?? "").split(",").map(addressOf);
  const hop = hops.findLast((each) => !isInRanges(each, trustedProxies)) ?? hops[0] ?? "";
  const client = parseAddress(hop) === undefined ? peer : hop;
  const proto = (header("x-forwarded-proto") ?? "").split(",").at(-1)?.trim().toLowerCase();
  const forwardedHost = (header("x-forwarded-host") ?? "").split(",").at(-1)?.trim();
  return { ...direct, address: plain(client), isHttps: proto === "https", host: forwardedHost || host };
}

/** A hop without the port that some proxies add: `1.2.3.4:5678`, `[::1]:5678`. */
function addressOf(hop: string): string {
  const text = hop.trim();
  return /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
}

/** Drops the `::ffff:` of IPv4 in IPv6 and the zone of a link-local address. */
function plain(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, "").replace(/%.*$/, "");
}

/** What limits count: the address itself, or the /64 of an IPv6 address (requirements L01). */
export function limitKey(address: string): string {
  const parsed = parseAddress(address);
  return parsed?.bits === 128 ? `${(parsed.value >> 64n).toString(16)}::/64` : address;
}
