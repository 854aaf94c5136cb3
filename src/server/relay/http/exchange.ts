// A request and its answer as the relay uses them: those of node:http, or messages on a WebSocket. Types.
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";

/** A request to become a WebSocket: node:http's, named here so that other files need not import it. */
export type UpgradeRequest = IncomingMessage;

/** What the relay uses of a request: one of node:http, or a message on a WebSocket (realtime/bridge-call.ts). */
export interface RelayRequest {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly socket: { readonly remoteAddress?: string | undefined };
  readonly readableLength: number;
  readonly readableEnded: boolean;
  readonly destroyed: boolean;
  read(): Buffer;
  pause(): unknown;
  resume(): unknown;
  destroy(): unknown;
  iterator(options: { readonly destroyOnReturn: boolean }): AsyncIterator<Buffer>;
  on(event: "data" | "end" | "close" | "error", listener: (chunk: Buffer) => void): RelayRequest;
  off(event: "data" | "end", listener: (chunk: Buffer) => void): RelayRequest;
}

/** The connection below an answer. */
interface AnswerSocket {
  readonly writableCorked: number;
  readonly writableLength: number;
  readonly writableHighWaterMark: number;
  write(bytes: Uint8Array): boolean;
  resetAndDestroy(): unknown;
}

/** What the relay uses of an answer: one of node:http, or messages on a WebSocket. */
export interface RelayResponse {
  shouldKeepAlive: boolean;
  readonly headersSent: boolean;
  readonly chunkedEncoding: boolean;
  /** null = its bytes go through it alone. */
  readonly socket: AnswerSocket | null;
  readonly writableEnded: boolean;
  readonly writableFinished: boolean;
  readonly writableLength: number;
  readonly writableNeedDrain: boolean;
  /** `head`: names and values in turn. */
  writeHead(status: number, head: string[]): unknown;
  write(bytes: Uint8Array | string): boolean;
  end(bytes?: Uint8Array | string): unknown;
  destroy(): unknown;
  setTimeout(ms: number): unknown;
  listenerCount(event: string): number;
  on(event: "close" | "error" | "timeout", listener: () => void): unknown;
  once(event: "close" | "drain", listener: () => void): unknown;
  prependOnceListener(event: "finish", listener: () => void): unknown;
}
