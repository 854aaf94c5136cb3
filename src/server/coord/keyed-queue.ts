// Questions that are put to the database for every call, a few at once for each key: the client that calls most waits in a queue of its
// own, and others do not wait behind it (requirements R25).

/** More of one key would wait in the database for each other, and keep connections from the questions of others. */
const AT_ONCE = 3;

interface Waiting<Answer> {
  readonly question: () => Promise<Answer>;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

interface Queue<Answer> {
  asking: number;
  waiting: Waiting<Answer>[];
}

export class KeyedQueue<Answer> {
  readonly #queues = new Map<string, Queue<Answer>>();
  readonly #isNo: (answer: Answer) => boolean;

  /** `isNo` recognises the answers that hold for all waiting callers: nothing is left, for any of them. */
  constructor(isNo: (answer: Answer) => boolean) {
    this.#isNo = isNo;
  }

  /** Asks when the callers before it on its key were answered. Throws: what a question threw, also one of those before it. */
  ask(key: string, question: () => Promise<Answer>): Promise<Answer> {
    const queue = this.#queues.get(key) ?? { asking: 0, waiting: [] };
    this.#queues.set(key, queue);
    return new Promise((resolve, reject) => {
      queue.waiting.push({ question, resolve, reject });
      this.#advance(key, queue);
    });
  }

  #advance(key: string, queue: Queue<Answer>): void {
    while (queue.asking < AT_ONCE) {
      const next = queue.waiting.shift();
      if (next === undefined) break;
      queue.asking += 1;
      void this.#put(key, queue, next);
    }
    if (queue.asking === 0) this.#queues.delete(key);
  }

  async #put(
    key: string,
    queue: Queue<Answer>,
    { question, resolve, reject }: Waiting<Answer>,
  ): Promise<void> {
    try {
      const answer = await question();
      resolve(answer);
      if (this.#isNo(answer)) for (const other of queue.waiting.splice(0)) other.resolve(answer);
    } catch (error) {
      reject(error);
      for (const other of queue.waiting.splice(0)) other.reject(error);
    }
    queue.asking -= 1;
    this.#advance(key, queue);
  }
}
