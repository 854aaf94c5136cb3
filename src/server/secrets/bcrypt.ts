// Passwords of imported accounts, which are bcrypt hashes until their owner logs in once (requirements A07). Verified in a
// thread of their own, one at a time.
import { Worker } from "node:worker_threads";
import type { BcryptQuestion } from "./bcrypt-worker.ts";

/** `$2a$10$…`, and the other letters of the family; costs above 15 would take minutes, and no program writes them. */
const FORM = /^\$2[abxy]\$(0[4-9]|1[0-5])\$[./A-Za-z0-9]{53}$/;

export function isBcrypt(stored: string): boolean {
  return FORM.test(stored);
}

let last: Promise<unknown> = Promise.resolve();

/** Whether a password belongs to a bcrypt hash; only the first 72 bytes count, as they did where it was made. */
export function verifyBcrypt(password: string, hash: string): Promise<boolean> {
  const turn = last.then(() => compareInThread({ password, hash }));
  last = turn.catch(() => undefined);
  return turn;
}

function compareInThread(workerData: BcryptQuestion): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./bcrypt-worker.ts", import.meta.url), { workerData });
    worker.once("message", (isRight: boolean) => resolve(isRight));
    worker.once("error", reject);
    worker.once("exit", () => reject(new Error("the password thread ended without an answer")));
  });
}
