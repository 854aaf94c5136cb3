// Outbound WebSockets: the address policy holds, redirects are not followed, messages are bounded and never compressed. It reads no
// message.

import { connect, isIP, type Socket, type TcpNetConnectOpts } from "node:net";
import { connect as connectTls } from "node:tls";
import { type ClientOptions, WebSocket } from "ws";
import type { Exit } from "./exits.ts";
import { type Connector, readOrigin } from "./http1/connect.ts";
import { guardedLookup, isAllowed } from "./lookup.ts";
import { hostOf, portOf } from "./policy.ts";
import {
  BlockedError,
  type EgressFault,
  FaultError,
  faultOf,
  type ReplyHeaders,
  type Route,
} from "./send.ts";

export interface SocketRequest {
  /** With the scheme `ws:` or `wss:`. */
  readonly url: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly handshakeTimeoutMs: number;
  /** A longer message ends the connection with 1009. */
  readonly maxMessageBytes: number;
  readonly route?: Route | undefined;
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

/** Where a socket leaves, and what opens tunnels. */
export interface SocketWay {
  readonly exit: Exit;
  readonly connector: Connector;
}

/** Opens a connection. Never throws: an address that cannot be used is the fault `blocked` or `protocol`. */
export function openSocket(way: SocketWay, request: SocketRequest): Handshake {
  const url = new URL(request.url);
  const port = portOf(url);
  const host = hostOf(url);
  const { policy, path, connectMs } = way.exit;
  if (path === undefined && isIP(host) !== 0 && !isAllowed(policy, host, port)) {
    const fault = faultOf(new BlockedError(`${host}:${port}`));
    return { result: Promise.resolve({ kind: "failed", ...fault }), abort: () => undefined };
  }
  const socket = new WebSocket(url, {
    headers: headersOf(request.headers),
    lookup: guardedLookup(policy, port),
    ...(path !== undefined
      ? { createConnection: tunnelTo(way.connector, { path, connectMs }, url.origin) }
      : connectMs !== undefined && { createConnection: directWithin(connectMs, url) }),
    // Also against NODE_TLS_REJECT_UNAUTHORIZED=0 (requirements R22).
    rejectUnauthorized: true,
    followRedirects: false,
    perMessageDeflate: false,
    maxPayload: request.maxMessageBytes,
  });
  // A limit of its own ends connecting; the handshake's time begins behind it.
  return handshake(socket, request.handshakeTimeoutMs + (connectMs ?? 0));
}

/** What `ws` calls instead of connecting itself: TCP and TLS stand within the target's own time (requirements C41). Unit: ms. */
function directWithin(ms: number, { protocol }: URL) {
  const isTls = protocol === "wss:";
  const open = (asked: TcpNetConnectOpts) => {
    const { path: _, ...to } = asked as TcpNetConnectOpts & { path?: string }; // The request's path; here it would name a local socket.
    const servername = isIP(to.host ?? "") === 0 ? to.host : "";
    const socket = isTls ? connectTls({ ...to, servername }) : connect(to);
    const late = { code: "connect_timeout", detail: "no connection in time" } as const;
    const timer = setTimeout(() => socket.destroy(new FaultError(late)), ms);
    const stop = () => clearTimeout(timer);
    return socket.once(isTls ? "secureConnect" : "connect", stop).once("close", stop);
  };
  // By type `ws` hands over options of either kind of socket; it connects by host and port.
  return open as unknown as NonNullable<ClientOptions["createConnection"]>;
}

/** What `ws` calls instead of connecting itself: the socket is handed over when its tunnel stands. */
function tunnelTo(connector: Connector, way: Parameters<Connector["dial"]>[0], origin: string) {
  // Node takes a socket by callback when none is returned (`http.request`, createConnection); `ws` knows only the returned one by type.
  return ((_: unknown, onSocket: (error: Error | null, socket?: Socket) => void) => {
    connector.dial(way, readOrigin(origin), (result) => {
      if ("code" in result) onSocket(new FaultError(result));
      else {
        onSocket(null, result.socket);
        // The request takes the socket in a tick of its own; only then may bytes flow.
        process.nextTick(() => result.socket.resume());
      }
    });
  }) as unknown as NonNullable<ClientOptions["createConnection"]>;
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
