// The handshake with an HTTP proxy: CONNECT (RFC 9110 9.3.6). Pure.
import { isIP } from "node:net";
import type { Login } from "./address.ts";
import { earlyBytes, failed, MORE, type ProxyHandshake, type Step, type TunnelTarget } from "./handshake.ts";

const HEAD_LIMIT_BYTES = 16 * 1024;
/** Heads of 1xx before the answer. */
const MOST_INTERIM = 16;
/** The reason phrase may be missing. HTTP/1.0 is common. */
const STATUS_LINE = /^HTTP\/1\.[01] ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/;
const VERSION = "HTTP/1.";
/** A gateway's words for: what is behind me does not answer. */
const TARGET_FAILED = new Set([502, 504]);
/** A control character that no line may have. */
const NO_LINE = /[^\t\x20-\x7e\x80-\xff]/;

/** Asks an HTTP proxy for a tunnel. It has neither the channel's credential nor a client's header. */
export class ConnectHandshake implements ProxyHandshake {
  readonly #head: string;
  #begun = Buffer.alloc(0);
  #interim = 0;

  constructor({ host, port }: TunnelTarget, login: Login | undefined) {
    const at = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
    const basic = login && Buffer.from(`${login.user}:${login.password}`).toString("base64");
    const authorization = basic === undefined ? "" : `Proxy-Authorization: Basic ${basic}\r\n`;
    this.#head = `CONNECT ${at} HTTP/1.1\r\nHost: ${at}\r\n${authorization}\r\n`;
  }

  begin(): Buffer {
    return Buffer.from(this.#head, "latin1");
  }

  feed(bytes: Buffer): Step {
    this.#begun = Buffer.concat([this.#begun, bytes]);
    for (;;) {
      const text = this.#begun.toString("latin1", 0, HEAD_LIMIT_BYTES);
      const end = text.indexOf("\r\n\r\n");
      if (end < 0) return this.#judgeBegin(text);
      const head = text.slice(0, end).split("\r\n");
      const status = Number(STATUS_LINE.exec(head[0] ?? "")?.[1] ?? 0);
      if (status === 0 || head.some((line) => NO_LINE.test(line))) return unreadable();
      this.#begun = this.#begun.subarray(end + 4);
      if (status === 101) return failed("proxy_protocol", "the proxy switched to another protocol");
      if (status >= 200) return this.#judge(status, head);
      this.#interim += 1;
      if (this.#interim > MOST_INTERIM) return failed("proxy_protocol", "too many heads before an answer");
    }
  }

  /** A head that can never become a valid one is refused at once: its proxy may wait for us. */
  #judgeBegin(text: string): Step {
    if (text.length >= HEAD_LIMIT_BYTES) return failed("proxy_protocol", "a head that does not end");
    if (!VERSION.startsWith(text.slice(0, VERSION.length))) return unreadable();
    const lines = text.split("\r\n");
    const last = lines.pop() ?? "";
    if (lines[0] !== undefined && !STATUS_LINE.test(lines[0])) return unreadable();
    if (NO_LINE.test(last.replace(/\r$/, "")) || lines.some((line) => NO_LINE.test(line)))
      return unreadable();
    return MORE;
  }

  #judge(status: number, head: readonly string[]): Step {
    if (status < 300) return this.#begun.length > 0 ? earlyBytes() : { kind: "open" };
    if (status === 407) return failed("proxy_auth", `407 to CONNECT${schemesIn(head)}`);
    return failed(TARGET_FAILED.has(status) ? "proxy_target" : "proxy_refused", `${status} to CONNECT`);
  }
}

function unreadable(): Step {
  return failed("proxy_protocol", "no HTTP answer to CONNECT");
}

/** The schemes a proxy wants, where Basic is not among them: nothing else is spoken. */
function schemesIn(head: readonly string[]): string {
  const wanted = head.flatMap(
    (line) => /^proxy-authenticate:\s*([A-Za-z][\w-]{0,30})/i.exec(line)?.[1] ?? [],
  );
  if (wanted.length === 0 || wanted.some((scheme) => scheme.toLowerCase() === "basic")) return "";
  return `, the proxy wants ${wanted.slice(0, 4).join(", ")}, only Basic is supported`;
}
