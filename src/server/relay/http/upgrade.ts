// Answers, in HTTP, to upgrades to WebSocket that are not taken.
import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import { errorFormats } from "./error-format.ts";

/** Refuses an upgrade; its connection ends. */
export function refuseUpgrade(socket: Duplex, requestId: string, fault: RelayFault): void {
  const body = JSON.stringify(errorFormats.openai.body(fault, requestId));
  const retryAfter = fault.retryAfterMs > 0 ? `retry-after: ${Math.ceil(fault.retryAfterMs / 1000)}\r\n` : "";
  socket.end(
    `HTTP/1.1 ${fault.status} ${STATUS_CODES[fault.status] ?? ""}\r\nconnection: close\r\ncontent-type: application/json; charset=utf-8\r\n` +
      `x-oneapi-request-id: ${requestId}\r\n${retryAfter}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    // The HTTP server no longer tracks this socket: only this closes it when its client does not.
    () => socket.destroy(),
  );
}
