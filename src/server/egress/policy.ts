// Which hosts and addresses may be reached (requirements S01). Pure: it resolves and opens nothing; the dispatcher checks the parsed
// address and again the resolved one at connect time.
import { BlockList, isIP } from "node:net";
import type { EgressRule } from "#server/config.ts";

/** `never` cannot be allowed; `private` can, by EGRESS_ALLOW or by the row of a provider. */
export type Verdict = "public" | "allowed" | "private" | "never";

export interface Policy {
  /** Checks one resolved address (no name) and port. An unreadable address is `never`. */
  judge(address: string, port: number): Verdict;
}

/** Unroutable, link-local, metadata, multicast, broadcast, and IPv6 forms that embed an IPv4 address. */
const NEVER = [
  "0.0.0.0/8",
  "169.254.0.0/16",
  "100.100.100.200/32", // Alibaba metadata
  "168.63.129.16/32", // Azure wire server
  "224.0.0.0/4",
  "240.0.0.0/4",
  "::/128",
  "::/96", // IPv4-compatible, deprecated; ::1 is judged before
  "fe80::/10",
  "ff00::/8",
  "fd00:ec2::254/128", // AWS metadata
  "64:ff9b:1::/48", // local NAT64
  "::ffff:0:0:0/96", // SIIT
  "2001::/32", // Teredo
  "2002::/16", // 6to4
];

/** Internal addresses: refused unless the operator allows them. */
const PRIVATE = [
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "::1/128",
  "100::/64",
  "2001:db8::/32",
  "3fff::/20", // documentation
  "5f00::/16", // segment routing
  "fc00::/7",
  "fec0::/10",
];

/** Names of metadata services, whatever they resolve to. */
const NEVER_NAMES = new Set([
  "metadata",
  "metadata.google.internal",
  "metadata.azure.internal",
  "instance-data",
]);

function blockList(...cidrs: readonly string[]): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [address = "", prefix] = cidr.split("/");
    const family = isIP(address) === 6 ? "ipv6" : "ipv4";
    list.addSubnet(address, prefix === undefined ? (family === "ipv6" ? 128 : 32) : Number(prefix), family);
  }
  return list;
}

const never = blockList(...NEVER);
const inside = blockList(...PRIVATE);
const loopback = blockList("127.0.0.0/8", "::1/128");

/** The eight 16-bit groups of an IPv6 address that `isIP` accepted. */
export function groupsOf(address: string): number[] {
  const [head = "", tail] = address.split("::");
  const read = (side: string) =>
    side === ""
      ? []
      : side.split(":").flatMap((part) => {
          if (!part.includes(".")) return [Number.parseInt(part, 16)];
          const [a = 0, b = 0, c = 0, d = 0] = part.split(".").map(Number);
          return [a * 256 + b, c * 256 + d];
        });
  const left = read(head);
  const right = tail === undefined ? [] : read(tail);
  const missing = Math.max(0, 8 - left.length - right.length);
  return [...left, ...new Array<number>(missing).fill(0), ...right];
}

/** Unwraps an IPv4 address inside IPv6 (mapped, or NAT64's well-known prefix). */
function unwrap(address: string): string {
  const bare = address.replace(/%.*$/, "");
  if (isIP(bare) !== 6) return bare;
  const groups = groupsOf(bare);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  const isNat64 =
    groups[0] === 0x64 && groups[1] === 0xff9b && groups.slice(2, 6).every((group) => group === 0);
  if (!isMapped && !isNat64) return bare;
  const [high = 0, low = 0] = groups.slice(6);
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}

export interface PolicyOptions {
  /** EGRESS_ALLOW. */
  readonly allow: readonly EgressRule[];
  /** Ports of this process's listeners: loopback is never allowed there. */
  readonly ownPorts?: readonly number[];
  /** One loopback port that the provider's own default address names (a local model server). */
  readonly loopbackPort?: number | undefined;
}

/** Makes the policy of one kind of destination. */
export function createPolicy({ allow, ownPorts = [], loopbackPort }: PolicyOptions): Policy {
  const rules = allow.map((rule) => ({ list: blockList(rule.cidr), port: rule.port }));
  return {
    judge(address, port) {
      const bare = unwrap(address);
      const family = familyOf(bare);
      if (family === undefined) return "never";
      const isLoopback = loopback.check(bare, family);
      if (isLoopback ? ownPorts.includes(port) : never.check(bare, family)) return "never";
      if (!inside.check(bare, family)) return "public";
      if (isLoopback && port === loopbackPort) return "allowed";
      return rules.some((rule) => allows(rule, bare, port)) ? "allowed" : "private";
    },
  };
}

/** The family of an address as BlockList names it; undefined = it is none. */
function familyOf(address: string): "ipv4" | "ipv6" | undefined {
  const version = isIP(address);
  if (version === 0) return undefined;
  return version === 6 ? "ipv6" : "ipv4";
}

function allows(rule: { list: BlockList; port: number | undefined }, bare: string, port: number): boolean {
  return (rule.port ?? port) === port && rule.list.check(bare, familyOf(bare));
}

export type JudgedUrl = { readonly url: URL } | { readonly refusal: string };

/**
 * Parses an address that a user typed: only http(s) and ws(s), no credentials, no metadata names, and a literal address must pass the
 * policy. A name passes here and is checked again when it is resolved. The refusal is a sentence for users.
 */
export function judgeUrl(text: string, policy: Policy): JudgedUrl {
  if (!URL.canParse(text)) return { refusal: "地址不是合法的 URL" };
  const url = new URL(text);
  if (!["http:", "https:", "ws:", "wss:"].includes(url.protocol))
    return { refusal: "地址须以 http:// 或 https:// 开头" };
  if (url.username !== "" || url.password !== "") return { refusal: "地址不能包含用户名或密码" };
  const host = hostOf(url);
  if (NEVER_NAMES.has(host.replace(/\.$/, ""))) return { refusal: "不允许访问该地址" };
  if (isIP(host) === 0) return { url };
  const verdict = policy.judge(host, portOf(url));
  if (verdict === "never") return { refusal: "不允许访问该地址" };
  if (verdict === "private")
    return { refusal: "不允许访问内网地址，如有需要请在环境变量 EGRESS_ALLOW 中放行" };
  return { url };
}

/** Endings of names that exist inside a network only. */
const INNER_NAME = /(^|\.)(localhost|local|internal|localdomain|home\.arpa)$/;

/**
 * Judges a destination as text, where its name is resolved by the proxy, or later (requirements C11): undefined = it may be asked for, else
 * why not. A literal address must pass the policy.
 */
export function judgeName(host: string, port: number, policy: Policy): string | undefined {
  if (isIP(host) !== 0)
    return ["public", "allowed"].includes(policy.judge(host, port)) ? undefined : "an inner address";
  const name = host.toLowerCase().replace(/\.$/, "");
  if (NEVER_NAMES.has(name)) return "a metadata service";
  if (!name.includes(".")) return "a name without a dot";
  return INNER_NAME.test(name) ? "an inner name" : undefined;
}

/** The host of a URL, an IPv6 address without its brackets. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, "");
}

/** The port of a URL, also where it is the scheme's own. */
export function portOf(url: URL): number {
  if (url.port !== "") return Number(url.port);
  return url.protocol === "https:" || url.protocol === "wss:" ? 443 : 80;
}

/** A provider whose own default address is this machine may be reached there, at that port (requirements S04). */
export function loopbackPortOf(usualAddress: string): number | undefined {
  if (!URL.canParse(usualAddress)) return undefined;
  const url = new URL(usualAddress);
  return isLoopbackHost(hostOf(url)) ? portOf(url) : undefined;
}

/** Whether a text is an IPv6 address. */
export function isAddress6(text: string): boolean {
  return isIP(text) === 6;
}

/** Whether a name or address always means this machine. */
export function isLoopbackHost(host: string): boolean {
  if (host === "localhost" || host.endsWith(".localhost")) return true;
  const version = isIP(host);
  return version !== 0 && loopback.check(host, version === 6 ? "ipv6" : "ipv4");
}
