// The address of an outbound proxy as operators write it. Pure: it opens and resolves nothing.
import { isIP } from "node:net";

export interface ProxyServer {
  /** The whole address with its credentials, in one spelling: names the proxy in memory, is a secret. */
  readonly name: string;
  /** Without credentials, for administrators: `socks5h://proxy.example.com:1080`. */
  readonly shown: string;
  readonly kind: "http" | "https" | "socks5";
  /** An IPv6 address without its brackets. */
  readonly host: string;
  readonly port: number;
  /** Who resolves the names of destinations: the proxy, or we, who then ask it for the address that was judged. */
  readonly resolves: "proxy" | "us";
  readonly login: Login | undefined;
}

/** Percent-decoded. */
export interface Login {
  readonly user: string;
  readonly password: string;
}

/** `direct` stops the search for a proxy, "" continues it. A refusal is a sentence for users, without the text it refuses. */
export type ProxyReading =
  | { readonly kind: "inherit" | "direct" }
  | { readonly kind: "proxy"; readonly proxy: ProxyServer }
  | { readonly kind: "unreadable"; readonly refusal: string };

const LONGEST = 1_000;
/** A user or password of SOCKS5 (RFC 1929). */
const LONGEST_PART_BYTES = 255;
/** Scheme → protocol, who resolves by default, default port (requirements C07). */
const SCHEMES: Readonly<Record<string, readonly [ProxyServer["kind"], ProxyServer["resolves"], number]>> = {
  http: ["http", "proxy", 80],
  https: ["https", "proxy", 443],
  socks5: ["socks5", "us", 1080],
  socks5h: ["socks5", "proxy", 1080],
  socks: ["socks5", "proxy", 1080],
};
const SHAPE =
  /^(?:([a-z][a-z0-9+.-]*):\/\/)?(?:([^@/?#]*)@)?(\[[0-9a-fA-F:.]+\]|[^\s:@/?#[\]]+)(?::(\d{1,5}))?\/?(?:\?dns=(proxy|local))?$/i;
const CONTROL = /[\p{Cc}]/u;

/**
 * Reads what an operator wrote: "" or `inherit`, `direct`, or an address such as `http://user:pass@host:8080`; without a scheme it is
 * `http`. `?dns=local` and `?dns=proxy` choose who resolves names.
 */
export function readProxy(text: string): ProxyReading {
  const trimmed = text.trim();
  if (trimmed === "" || trimmed.toLowerCase() === "inherit") return { kind: "inherit" };
  if (trimmed.toLowerCase() === "direct") return { kind: "direct" };
  const found = trimmed.length > LONGEST ? null : SHAPE.exec(trimmed);
  if (found === null) return unreadable("代理地址应为 类型://主机:端口，例如 http://127.0.0.1:7890");
  const [, scheme = "http", login, host = "", port, dns] = found;
  const row = Object.hasOwn(SCHEMES, scheme.toLowerCase()) ? SCHEMES[scheme.toLowerCase()] : undefined;
  if (row === undefined) return unreadable("代理类型只支持 http、https、socks5 和 socks5h");
  const [kind, usual, usualPort] = row;
  const number = port === undefined ? usualPort : Number(port);
  if (number < 1 || number > 65_535) return unreadable("代理端口应在 1 到 65535 之间");
  const read = readLogin(login, kind);
  if ("refusal" in read) return unreadable(read.refusal);
  const resolves = dns === undefined ? usual : dns === "local" ? "us" : "proxy";
  return { kind: "proxy", proxy: build({ kind, host, port: number, resolves, login: read.login }) };
}

function unreadable(refusal: string): ProxyReading {
  return { kind: "unreadable", refusal };
}

function build(parts: Omit<ProxyServer, "name" | "shown">): ProxyServer {
  const { kind, port, resolves, login } = parts;
  const host = parts.host.replace(/^\[|\]$/g, "").toLowerCase();
  const scheme = kind === "socks5" && resolves === "proxy" ? "socks5h" : kind;
  const at = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  const dns = kind !== "socks5" && resolves === "us" ? "?dns=local" : "";
  const before = login === undefined ? "" : `${encode(login.user)}:${encode(login.password)}@`;
  const name = `${scheme}://${before}${at}${dns}`;
  return { ...parts, host, name, shown: `${scheme}://${at}${dns}` };
}

function encode(text: string): string {
  return encodeURIComponent(text);
}

/** Credentials are percent-decoded before they are used (requirements C02). */
function readLogin(
  text: string | undefined,
  kind: ProxyServer["kind"],
): { readonly login: Login | undefined } | { readonly refusal: string } {
  if (text === undefined || text === "" || text === ":") return { login: undefined };
  const colon = text.indexOf(":");
  const user = decode(colon < 0 ? text : text.slice(0, colon));
  const password = decode(colon < 0 ? "" : text.slice(colon + 1));
  if (user === undefined || password === undefined)
    return { refusal: "代理的用户名或密码含有无法解码的 % 转义，% 本身应写作 %25" };
  if (CONTROL.test(user + password)) return { refusal: "代理的用户名和密码不能包含控制字符" };
  // Basic ends the user at the first colon (RFC 7617).
  if (kind !== "socks5" && user.includes(":")) return { refusal: "HTTP 代理的用户名不能包含冒号" };
  if (kind === "socks5" && [user, password].some((part) => Buffer.byteLength(part) > LONGEST_PART_BYTES))
    return { refusal: `SOCKS5 的用户名和密码各最多 ${LONGEST_PART_BYTES} 字节` };
  return { login: { user, password } };
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Whether a text names a proxy with explicitly no credentials: `http://@host`. */
export function dropsLogin(text: string): boolean {
  return /^\s*(?:[a-z0-9+.-]+:\/\/)?:?@/i.test(text);
}
