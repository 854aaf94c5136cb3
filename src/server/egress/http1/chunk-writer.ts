// The body of a request that is made while it is sent: each piece is a chunk of its own (RFC 9112 7.1).
import type { Socket } from "node:net";
import type { BodyWriter, EgressRequest } from "#server/egress/send.ts";

const LINE_END = "\r\n";
const LAST = `0${LINE_END}${LINE_END}`;

/** How long the upstream may take for a piece, and for the head of its answer. Unit: ms; 0 = no limit. */
type Times = Pick<EgressRequest, "idleTimeoutMs" | "headersTimeoutMs">;
/** Told how long the upstream may take from now on; `isDone` = the body is complete. */
type Wait = (ms: number, isDone: boolean) => void;

export class ChunkWriter implements BodyWriter {
  readonly #socket: Socket;
  readonly #times: Times;
  readonly #wait: Wait;

  constructor(socket: Socket, times: Times, wait: Wait) {
    this.#socket = socket;
    this.#times = times;
    this.#wait = wait;
  }

  write(piece: Uint8Array): boolean {
    // A chunk of no bytes would end the body.
    if (piece.length === 0) return true;
    const socket = this.#socket;
    socket.cork();
    socket.write(piece.length.toString(16) + LINE_END, "latin1");
    socket.write(piece);
    const hasRoom = socket.write(LINE_END, "latin1");
    socket.uncork();
    if (!hasRoom) this.#wait(this.#times.idleTimeoutMs, false);
    return hasRoom;
  }

  onDrain(listener: () => void): void {
    this.#socket.once("drain", () => {
      this.#wait(0, false);
      listener();
    });
  }

  end(): void {
    this.#socket.write(LAST, "latin1");
    this.#wait(this.#times.headersTimeoutMs, true);
  }
}
