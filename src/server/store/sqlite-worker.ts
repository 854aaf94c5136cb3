// Worker thread: owns one SQLite connection and runs what it is told, one message after another. No other thread of the
// process touches the database, so no disk ever holds up the event loop.
import { parentPort, workerData } from "node:worker_threads";
import { isSyncFault } from "./fault.ts";
import type { WorkerOptions, WorkerReply, WorkerRequest } from "./sqlite-messages.ts";
import { describe, type EarlyReply, SqliteSession } from "./sqlite-session.ts";
import { trimMemory } from "./trim.ts";

/** By then the statements of a start have been run. */
const STARTED_MS = 1_000;

function answer(
  session: SqliteSession,
  request: Exclude<WorkerRequest, { kind: "load" }>,
  send: EarlyReply["send"],
): unknown {
  switch (request.kind) {
    case "query":
      return session.query(request.sql, request.values);
    case "run":
      return session.run(request.module, request.input, send);
    case "close":
      return session.close();
  }
}

function serve(port: NonNullable<typeof parentPort>): void {
  let session: SqliteSession;
  try {
    // The thread is started by sqlite-thread.ts alone, which passes WorkerOptions.
    session = new SqliteSession(workerData as WorkerOptions);
  } catch (error) {
    port.postMessage({ id: 0, fault: describe(error) } satisfies WorkerReply);
    port.close();
    return;
  }
  port.postMessage({ id: 0, value: undefined } satisfies WorkerReply);
  setTimeout(trimMemory, STARTED_MS).unref();
  port.on("message", (request: WorkerRequest) => {
    const succeed = (value: unknown) => port.postMessage({ id: request.id, value } satisfies WorkerReply);
    const fail = (error: unknown) =>
      port.postMessage({ id: request.id, fault: describe(error) } satisfies WorkerReply);
    if (request.kind === "load") {
      session.load(request.module).then(succeed, fail);
      return;
    }
    try {
      const send = (early: unknown) => port.postMessage({ id: request.id, early } satisfies WorkerReply);
      succeed(answer(session, request, send));
    } catch (error) {
      // It ends this thread, and that the process: whatever came after it would rest on what may not be there (requirements F04).
      if (isSyncFault(error)) throw error;
      fail(error);
    }
    if (request.kind === "run") session.afterReply(request.module);
    if (request.kind === "close") port.close();
  });
}

if (parentPort) serve(parentPort);
