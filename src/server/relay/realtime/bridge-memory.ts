// What the sockets of Responses hold: messages that arrive, the bodies of their calls, and the conversation so far of each. All together have
// a share of the memory; conversations make room first, upon which their clients send everything again (requirements C61, D02).

/** Of one socket: its last response, and all that was said until then. */
export class Conversation {
  readonly #memory: SocketMemory;
  #last: { readonly id: string; readonly items: Buffer } | undefined;

  constructor(memory: SocketMemory) {
    this.#memory = memory;
  }

  /** The items until this response, without brackets; undefined = it is not the last one, or was too long to be kept. */
  until(id: string): Buffer | undefined {
    return this.#last?.id === id ? this.#last.items : undefined;
  }

  /** Keeps a response as the last one, with all items until then; not when they are too many. */
  keep(id: string, items: Buffer): void {
    this.forget();
    if (items.length > MOST_KEPT_BYTES) return;
    this.#last = { id, items };
    this.#memory.keep(this, items.length);
  }

  forget(): void {
    if (this.#last === undefined) return;
    this.#memory.forget(this, this.#last.items.length);
    this.#last = undefined;
  }
}

const MOST_KEPT_BYTES = 4 * 1024 * 1024;

export class SocketMemory {
  readonly #mostBytes: number;
  #bytes = 0;
  /** The one that was not used for longest is first. */
  readonly #kept = new Set<Conversation>();

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** Counts bytes that a socket needs now. Returns whether there is room for them. */
  take(bytes: number): boolean {
    this.#bytes += bytes;
    for (const conversation of this.#kept) {
      if (this.#bytes <= this.#mostBytes) break;
      conversation.forget();
    }
    return this.#bytes <= this.#mostBytes;
  }

  give(bytes: number): void {
    this.#bytes -= bytes;
  }

  keep(conversation: Conversation, bytes: number): void {
    this.#kept.add(conversation);
    this.take(bytes);
  }

  forget(conversation: Conversation, bytes: number): void {
    this.#kept.delete(conversation);
    this.give(bytes);
  }
}
