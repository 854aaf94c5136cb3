// Reads of the same rows at the same moment are made once: a key that thousands use is forgotten with every change of its owner, and its
// calls of that moment, each with a read of its own, would wait for each other's connections until they are refused (requirements I67). Caches
// nothing.

interface Reading<Answer> {
  /** What was known of changes when it began. */
  readonly version: number;
  readonly answer: Promise<Answer>;
  /** Begins when this one has ended, for who needs what is so now. */
  next: Promise<Answer> | undefined;
}

export class SharedReads<Answer> {
  readonly #running = new Map<string, Reading<Answer>>();
  readonly #version: () => number;

  /** `version` counts the changes that are known. */
  constructor(version: () => number) {
    this.#version = version;
  }

  /** The answer of the read that runs, if nothing has changed since it began; else of one that begins now. Throws: what it throws. */
  join(key: string, read: () => Promise<Answer>): Promise<Answer> {
    const running = this.#running.get(key);
    return running?.version === this.#version() ? running.answer : this.#start(key, read);
  }

  /** The answer of a read that begins after this moment, shared with others who wait for one. Throws: what it throws. */
  after(key: string, read: () => Promise<Answer>): Promise<Answer> {
    const running = this.#running.get(key);
    if (running === undefined) return this.#start(key, read);
    const begin = () => this.#start(key, read);
    running.next ??= running.answer.then(begin, begin);
    return running.next;
  }

  #start(key: string, read: () => Promise<Answer>): Promise<Answer> {
    const reading: Reading<Answer> = { version: this.#version(), answer: read(), next: undefined };
    this.#running.set(key, reading);
    const end = () => {
      if (this.#running.get(key) === reading) this.#running.delete(key);
    };
    reading.answer.then(end, end);
    return reading.answer;
  }
}
