// The body of a request that is made while it is sent: each piece is a chunk of its own (RFC 9112 7.1).
import type { Socket } from "node:net";
import type { BodyWriter } from "#server/egress/send.ts";

const LINE_END = "\r\n";
const LAST = `0${LINE_END}${LINE_END}`;

/** What a connection wants to know of a body on its way. */
interface Listener {
  /** The upstream does not take more at the moment. */
  onFull(): void;
  onDrain(): void;
  onEnd(): void;
}

export class ChunkWriter implements BodyWriter {
  readonly #socket: Socket;
  readonly #listener: Listener;

  constructor(socket: Socket, listener: Listener) {
    this.#socket = socket;
    this.#listener = listener;
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
    if (!hasRoom) this.#listener.onFull();
    return hasRoom;
  }

  onDrain(listener: () => void): void {
    this.#socket.once("drain", () => {
      this.#listener.onDrain();
      listener();
    });
  }

  end(): void {
    this.#socket.write(LAST, "latin1");
    this.#listener.onEnd();
  }
}
