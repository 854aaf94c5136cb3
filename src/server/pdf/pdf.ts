// PDF documents, made in a thread of their own, one at a time: no call to /v1 waits for one (requirements Y61).
import { Worker } from "node:worker_threads";
import { faults } from "#server/errors.ts";
import type { PdfDocument } from "./document.ts";

/** Each takes a fraction of a second; who comes after so many is asked to come again. */
const MAX_WAITING = 20;
/** Far more than the largest statement takes. */
const LIMIT_MS = 60_000;

let waiting = 0;
let last: Promise<unknown> = Promise.resolve();

/** The bytes of a document; the same document is the same bytes. Throws: when too many wait. */
export async function makePdf(document: PdfDocument): Promise<Buffer> {
  if (waiting >= MAX_WAITING) throw faults.refused("正在生成的文件太多，请稍后再试");
  waiting += 1;
  const turn = last.then(() => makeInThread(document));
  last = turn.catch(() => undefined);
  try {
    return await turn;
  } finally {
    waiting -= 1;
  }
}

function makeInThread(workerData: PdfDocument): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./pdf-worker.ts", import.meta.url), { workerData });
    const timer = setTimeout(() => void worker.terminate(), LIMIT_MS);
    worker.once("message", (bytes: Uint8Array) =>
      resolve(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)),
    );
    worker.once("error", reject);
    worker.once("exit", () => {
      clearTimeout(timer);
      reject(new Error("the thread of documents ended without one"));
    });
  });
}
