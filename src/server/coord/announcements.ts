// Tells other processes what has changed. A change that is stored stays, even when no other process can be told of it: then they are
// told later.

const AGAIN_MS = 500;

export interface AnnouncementsParts {
  /** Tells all other processes once. */
  send(text: string): Promise<unknown>;
  onError(error: unknown): void;
}

export class Announcements {
  readonly #parts: AnnouncementsParts;
  readonly #owed = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(parts: AnnouncementsParts) {
    this.#parts = parts;
  }

  /** Resolves when the other processes were told, or will be told later. Never throws. */
  async tell(text: string): Promise<void> {
    try {
      await this.#parts.send(text);
    } catch (error) {
      this.#parts.onError(error);
      this.#owed.add(text);
      if (!this.#isClosed) this.#timer ??= setTimeout(() => void this.#tellOwed(), AGAIN_MS).unref();
    }
  }

  /** What is still owed is lost. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  async #tellOwed(): Promise<void> {
    const texts = [...this.#owed];
    this.#owed.clear();
    this.#timer = undefined;
    for (const text of texts) await this.tell(text);
  }
}
