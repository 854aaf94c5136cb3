// Reads HTTP/1.1 messages from the bytes of one connection: content-length and chunked, nothing else. Costs little, so
// that the load generator and the upstream do not become the benchmark; never meant for other peers than those of the benchmark.

/** Receives each message in turn: one head, any number of pieces of its body, one end. */
export interface MessageSink {
  /** Start line and headers, without the empty line. */
  onHead(head: string): void;
  onBody(piece: Buffer): void;
  onEnd(): void;
}

type State = "head" | "fixed" | "size" | "chunk" | "gap" | "trailer";

const CR = 13;
const HEAD_END = Buffer.from("\r\n\r\n");
const LINE_END = Buffer.from("\r\n");
const NOTHING = Buffer.alloc(0);

export class MessageReader {
  /** HTTP chunks with data since the connection began. */
  chunks = 0;
  #state: State = "head";
  /** Bytes of the body or of the chunk that are still to come. */
  #left = 0;
  #rest: Buffer = NOTHING;
  readonly #sink: MessageSink;

  constructor(sink: MessageSink) {
    this.#sink = sink;
  }

  /** Takes what the socket brought. Throws: Error when it is not HTTP as we speak it. */
  push(data: Buffer): void {
    let bytes = this.#rest.length === 0 ? data : Buffer.concat([this.#rest, data]);
    this.#rest = NOTHING;
    while (bytes.length > 0) {
      const used = this.#step(bytes);
      if (used === 0) {
        this.#rest = bytes;
        return;
      }
      bytes = bytes.subarray(used);
    }
  }

  /** Consumes the next element; 0 = it is not complete yet. */
  #step(bytes: Buffer): number {
    switch (this.#state) {
      case "head":
        return this.#readHead(bytes);
      case "fixed":
      case "chunk":
        return this.#readBody(bytes);
      case "size":
        return this.#readSize(bytes);
      case "gap":
        if (bytes.length < 2) return 0;
        if (bytes[0] !== CR) throw new Error("a chunk is longer than it said");
        this.#state = "size";
        return 2;
      case "trailer":
        return this.#readTrailer(bytes);
    }
  }

  #readHead(bytes: Buffer): number {
    const end = bytes.indexOf(HEAD_END);
    if (end < 0) return 0;
    const head = bytes.toString("latin1", 0, end);
    this.#sink.onHead(head);
    const length = /\r\ncontent-length: *(\d+)/i.exec(head);
    if (length) {
      this.#left = Number(length[1]);
      this.#state = "fixed";
      if (this.#left === 0) this.#finish();
    } else if (/\r\ntransfer-encoding: *chunked/i.test(head)) {
      this.#state = "size";
    } else {
      this.#finish();
    }
    return end + HEAD_END.length;
  }

  #readBody(bytes: Buffer): number {
    const used = Math.min(this.#left, bytes.length);
    this.#left -= used;
    this.#sink.onBody(used === bytes.length ? bytes : bytes.subarray(0, used));
    if (this.#left > 0) return used;
    if (this.#state === "fixed") this.#finish();
    else this.#state = "gap";
    return used;
  }

  #readSize(bytes: Buffer): number {
    const end = bytes.indexOf(LINE_END);
    if (end < 0) return 0;
    const size = Number.parseInt(bytes.toString("latin1", 0, end), 16);
    if (!(size >= 0)) throw new Error("a chunk has no size");
    this.#left = size;
    this.#state = size === 0 ? "trailer" : "chunk";
    if (size > 0) this.chunks += 1;
    return end + LINE_END.length;
  }

  #readTrailer(bytes: Buffer): number {
    const end = bytes.indexOf(LINE_END);
    if (end < 0) return 0;
    if (end === 0) this.#finish();
    return end + LINE_END.length;
  }

  #finish(): void {
    this.#state = "head";
    this.#sink.onEnd();
  }
}
