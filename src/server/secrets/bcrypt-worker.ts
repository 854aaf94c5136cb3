// The thread that compares one password with one bcrypt hash and ends: pure JavaScript, some 100 ms that no stream waits for.
import { parentPort, workerData } from "node:worker_threads";
import { compareSync } from "bcryptjs";

export interface BcryptQuestion {
  readonly password: string;
  readonly hash: string;
}

// Given by bcrypt.ts, which alone starts this thread.
const { password, hash } = workerData as BcryptQuestion;
parentPort?.postMessage(compareSync(password, hash));
