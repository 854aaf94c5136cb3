// Questions that are put to the database for every call, a few at once for each key: whoever calls most waits in his own line, not
// everybody behind him (requirements R25).

/** More of one key would wait in the database for each other, and keep connections from the questions of others. */
const AT_ONCE = 3;

interface Waiting<Answer> {
  readonly question: () => Promise<Answer>;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

interface Line<Answer> {
  asking: number;
  waiting: Waiting<Answer>[];
}

export class KeyedQueue<Answer> {
  readonly #lines = new Map<string, Line<Answer>>();
  readonly #isNo: (answer: Answer) => boolean;

  /** `isNo` tells the answers that hold for all who wait: nothing is left, for any of them. */
  constructor(isNo: (answer: Answer) => boolean) {
    this.#isNo = isNo;
  }

  /** Asks when it is its turn among those of its key. Throws: what a question threw, also one of those before it. */
  ask(key: string, question: () => Promise<Answer>): Promise<Answer> {
    const line = this.#lines.get(key) ?? { asking: 0, waiting: [] };
    this.#lines.set(key, line);
    return new Promise((resolve, reject) => {
      line.waiting.push({ question, resolve, reject });
      this.#advance(key, line);
    });
  }

  #advance(key: string, line: Line<Answer>): void {
    while (line.asking < AT_ONCE) {
      const next = line.waiting.shift();
      if (next === undefined) break;
      line.asking += 1;
      void this.#put(key, line, next);
    }
    if (line.asking === 0) this.#lines.delete(key);
  }

  async #put(key: string, line: Line<Answer>, { question, resolve, reject }: Waiting<Answer>): Promise<void> {
    try {
      const answer = await question();
      resolve(answer);
      if (this.#isNo(answer)) for (const other of line.waiting.splice(0)) other.resolve(answer);
    } catch (error) {
      reject(error);
      for (const other of line.waiting.splice(0)) other.reject(error);
    }
    line.asking -= 1;
    this.#advance(key, line);
  }
}
