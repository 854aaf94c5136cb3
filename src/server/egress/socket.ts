// Outbound WebSockets: the address policy holds, redirects are not followed, messages are bounded and never compressed. It reads no
// message.
import { isIP } from "node:net";
import { WebSocket } from "ws";
import { guardedLookup, isAllowed } from "./lookup.ts";
import { hostOf, type Policy, portOf } from "./policy.ts";
import { BlockedError, type EgressFault, faultOf, type ReplyHeaders } from "./send.ts";

export interface SocketRequest {
  /** With the scheme `ws:` or `wss:`. */
  readonly url: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly handshakeTimeoutMs: number;
  /** A longer message ends the connection with 1009. */
  readonly maxMessageBytes: number;
  /** A loopback port this destination may use although the operator allowed none. */
  readonly loopbackPort?: number | undefined;
}

/** An open connection, paused: no message is lost before a listener is added. */
interface OpenedSocket {
  readonly kind: "open";
  readonly socket: WebSocket;
}

/** The server answered with HTTP and refused the handshake. */
interface RefusedSocket {
  readonly kind: "refused";
  readonly status: number;
  readonly headers: ReplyHeaders;
  /** The first bytes of its body. */
  readonly body: Buffer;
}

export type SocketResult = OpenedSocket | RefusedSocket | ({ readonly kind: "failed" } & EgressFault);

/** A running handshake. */
export interface Handshake {
  readonly result: Promise<SocketResult>;
  /** Aborts; the result is the fault `aborted`. Does nothing once the connection is open. */
  abort(): void;
}

/** An error message is read from the first bytes of the body. */
const REFUSAL_BYTES = 64 * 1024;

/** Opens a connection. Never throws: an address that cannot be used is the fault `blocked` or `protocol`. */
export function openSocket(policy: Policy, request: SocketRequest): Handshake {
  const url = new URL(request.url);
  const port = portOf(url);
  const host = hostOf(url);
  if (isIP(host) !== 0 && !isAllowed(policy, host, port)) {
    const fault = faultOf(new BlockedError(`${host}:${port}`));
    return { result: Promise.resolve({ kind: "failed", ...fault }), abort: () => undefined };
  }
  const socket = new WebSocket(url, {
    headers: headersOf(request.headers),
    lookup: guardedLookup(policy, port),
    // Also against NODE_TLS_REJECT_UNAUTHORIZED=0 (requirements R22).
    rejectUnauthorized: true,
    followRedirects: false,
    perMessageDeflate: false,
    maxPayload: request.maxMessageBytes,
  });
  return handshake(socket, request.handshakeTimeoutMs);
}

function handshake(socket: WebSocket, timeoutMs: number): Handshake {
  let settle: (result: SocketResult) => void = () => undefined;
  let isSettled = false;
  const result = new Promise<SocketResult>((resolve) => {
    settle = (found) => {
      isSettled = true;
      clearTimeout(timer);
      resolve(found);
    };
  });
  const fail = (code: EgressFault["code"], detail: string) => {
    if (isSettled) return;
    settle({ kind: "failed", code, detail });
    socket.terminate();
  };
  const timer = setTimeout(() => fail("timeout", "no WebSocket handshake in time"), timeoutMs);
  socket.on("error", (error) => {
    if (!isSettled) settle({ kind: "failed", ...faultOf(error) });
  });
  socket.once("open", () => {
    socket.pause();
    settle({ kind: "open", socket });
  });
  socket.once("unexpected-response", (_, response) => {
    void readBegin(response).then((body) => {
      settle({ kind: "refused", status: response.statusCode ?? 0, headers: response.headers, body });
      socket.terminate();
    });
  });
  return { result, abort: () => fail("aborted", "") };
}

/** Groups the values of one name. */
function headersOf(pairs: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (let at = 0; at + 1 < pairs.length; at += 2) headers[pairs[at] ?? ""] = pairs[at + 1] ?? "";
  return headers;
}

async function readBegin(response: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const bytes of response) {
      chunks.push(bytes);
      size += bytes.length;
      if (size >= REFUSAL_BYTES) break;
    }
  } catch {
    // The bytes before the connection broke are enough.
  }
  return Buffer.concat(chunks).subarray(0, REFUSAL_BYTES);
}
