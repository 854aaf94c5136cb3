// The handshake with a SOCKS5 proxy (RFC 1928, RFC 1929). Pure.
import { isIP } from "node:net";
import { groupsOf } from "#server/egress/policy.ts";
import type { Login } from "./address.ts";
import { earlyBytes, failed, MORE, type ProxyHandshake, type Step, type TunnelTarget } from "./handshake.ts";

const VERSION = 5;
const NO_LOGIN = 0;
const BY_LOGIN = 2;
const NO_METHOD = 0xff;
const CONNECT = 1;
const IPV4 = 1;
const NAME = 3;
const IPV6 = 4;
/** A length is one byte. */
export const LONGEST_NAME_BYTES = 255;

/** What the codes of a refusal mean; 3 to 6 speak of what is behind the proxy. */
const REPLIES = [
  "",
  "general failure",
  "not allowed",
  "network unreachable",
  "host unreachable",
  "refused",
  "expired on the way",
  "command not supported",
  "address type not supported",
];
const TARGET_REPLIES = new Set([3, 4, 5, 6]);

type Phase = "method" | "login" | "reply";

/** Asks a SOCKS5 proxy for a tunnel to a name of at most 255 bytes, or to an address. */
export class Socks5Handshake implements ProxyHandshake {
  readonly #target: TunnelTarget;
  readonly #login: Login | undefined;
  #phase: Phase = "method";
  #begun = Buffer.alloc(0);

  constructor(target: TunnelTarget, login: Login | undefined) {
    this.#target = target;
    this.#login = login;
  }

  begin(): Buffer {
    const methods = this.#login === undefined ? [NO_LOGIN] : [NO_LOGIN, BY_LOGIN];
    return Buffer.from([VERSION, methods.length, ...methods]);
  }

  feed(bytes: Buffer): Step {
    this.#begun = Buffer.concat([this.#begun, bytes]);
    if (this.#phase === "reply") return this.#readReply();
    const [version, code] = this.#begun;
    const isLogin = this.#phase === "login";
    // Some servers send their own version behind a login, where 1 belongs: the code alone tells.
    if (version !== undefined && !isLogin && version !== VERSION)
      return failed("proxy_protocol", "no SOCKS5 answer");
    if (code === undefined) return MORE;
    const hasMore = this.#begun.length > 2;
    this.#begun = Buffer.alloc(0);
    const step = isLogin ? this.#onLogin(code) : this.#onMethod(code);
    // What follows a refusal does not matter.
    return hasMore && step.kind !== "failed" ? earlyBytes() : step;
  }

  #onMethod(method: number): Step {
    if (method === NO_METHOD) return failed("proxy_auth", "the SOCKS5 proxy takes none of our methods");
    if (method === NO_LOGIN) return this.#ask();
    if (method !== BY_LOGIN || this.#login === undefined)
      return failed("proxy_protocol", "a SOCKS5 method nobody offered");
    this.#phase = "login";
    const user = Buffer.from(this.#login.user);
    const password = Buffer.from(this.#login.password);
    const lengths = [Buffer.from([1, user.length]), user, Buffer.from([password.length]), password];
    return { kind: "say", bytes: Buffer.concat(lengths) };
  }

  #onLogin(code: number): Step {
    return code === 0 ? this.#ask() : failed("proxy_auth", "the SOCKS5 proxy refused user or password");
  }

  #ask(): Step {
    this.#phase = "reply";
    const { host, port } = this.#target;
    const head = Buffer.from([VERSION, CONNECT, 0]);
    return {
      kind: "say",
      bytes: Buffer.concat([head, addressOf(host), Buffer.from([port >> 8, port & 0xff])]),
    };
  }

  #readReply(): Step {
    const [version, code, , type, first] = this.#begun;
    if (version !== undefined && version !== VERSION) return failed("proxy_protocol", "no SOCKS5 reply");
    // Some proxies end a refusal early: its code is enough.
    if (code !== undefined && code !== 0) {
      const detail = `SOCKS5 reply ${code} ${REPLIES[code] ?? ""}`.trimEnd();
      return failed(TARGET_REPLIES.has(code) ? "proxy_target" : "proxy_refused", detail);
    }
    if (type === undefined) return MORE;
    const bound = lengthOf(type, first);
    if (bound === undefined) return failed("proxy_protocol", "a SOCKS5 reply with an unknown address type");
    const length = 4 + bound + 2;
    if (Number.isNaN(length) || this.#begun.length < length) return MORE;
    return this.#begun.length > length ? earlyBytes() : { kind: "open" };
  }
}

/** Bytes of a reply's address: it may be a name or IPv6 (requirements C06). NaN = its length has not come; undefined = unknown type. */
function lengthOf(type: number, first: number | undefined): number | undefined {
  if (type === IPV4) return 4;
  if (type === IPV6) return 16;
  return type === NAME ? 1 + (first ?? Number.NaN) : undefined;
}

function addressOf(host: string): Buffer {
  const version = isIP(host);
  if (version === 4) return Buffer.from([IPV4, ...host.split(".").map(Number)]);
  if (version === 6) return Buffer.concat([Buffer.from([IPV6]), bytesOf6(host)]);
  const name = Buffer.from(host);
  return Buffer.concat([Buffer.from([NAME, name.length]), name]);
}

/** The sixteen bytes of an IPv6 address. */
function bytesOf6(host: string): Buffer {
  const bytes = Buffer.alloc(16);
  groupsOf(host.replace(/%.*$/, "")).forEach((group, at) => {
    bytes.writeUInt16BE(group, 2 * at);
  });
  return bytes;
}
