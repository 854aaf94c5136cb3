// Loaded before a server by `--import`: kills its own process before a chosen statement of a transaction of the ledger, as `kill -9` would. The
// file that its address names holds the number, counted from when it appears; which statement it was is added to the file beside it.
import { appendFileSync, readFileSync } from "node:fs";
import { Socket } from "node:net";
import { DatabaseSync, StatementSync } from "node:sqlite";
import threads, { isMainThread } from "node:worker_threads";

const armed = new URL(import.meta.url).searchParams.get("at") ?? "";
let left = 0;
let isIn = false;

/** 0 = no statement is chosen now. */
function chosen(): number {
  try {
    return Number(readFileSync(armed, "utf8"));
  } catch {
    return 0;
  }
}

/** Counts the statement; the process may be gone before it runs. */
function step(text: string): void {
  if (text.startsWith("BEGIN")) isIn = true;
  if (!isIn) return;
  if (text.startsWith("COMMIT") || text.startsWith("ROLLBACK")) isIn = false;
  const number = chosen();
  if (number === 0 || left === 0) left = number;
  if (number === 0) return;
  left -= 1;
  if (left > 0) return;
  appendFileSync(`${armed}.log`, `${text.replace(/\s+/g, " ").slice(0, 60)}\n`);
  process.kill(process.pid, "SIGKILL");
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

for (const verb of ["run", "get", "all", "iterate"] as const) {
  const original = StatementSync.prototype[verb] as (...values: unknown[]) => unknown;
  Object.defineProperty(StatementSync.prototype, verb, {
    value(this: StatementSync, ...values: unknown[]) {
      step(this.sourceSQL);
      return original.apply(this, values);
    },
  });
}
const exec = DatabaseSync.prototype.exec;
DatabaseSync.prototype.exec = function (sql) {
  step(sql);
  return exec.call(this, sql);
};

/** The statement in a message to PostgreSQL: a query's text, or the name that a bind calls for. "" = neither. */
function statementIn(message: unknown): string {
  if (!Buffer.isBuffer(message) || message.length < 7) return "";
  const [text = "", name = ""] = message.toString("latin1", 5).split("\0");
  if (message[0] === "Q".charCodeAt(0)) return text;
  return message[0] === "B".charCodeAt(0) ? name : "";
}

// The driver is part of the server's own file: what it sends is all that can be seen of it. Only the ledger's connection begins and ends
// with a text and has such names between.
const write = Socket.prototype.write as (this: Socket, ...values: unknown[]) => boolean;
Object.defineProperty(Socket.prototype, "write", {
  // Node replaces it when a socket ends.
  configurable: true,
  writable: true,
  value(this: Socket, ...values: unknown[]) {
    const text = statementIn(values[0]);
    if (/^(BEGIN|COMMIT|ROLLBACK|ledger_)/.test(text)) step(text);
    return write.apply(this, values);
  },
});

// Threads have command lines of their own.
if (isMainThread) {
  const { Worker } = threads;
  threads.Worker = class extends Worker {
    constructor(file: string | URL, options: threads.WorkerOptions = {}) {
      super(file, { ...options, execArgv: [...(options.execArgv ?? []), "--import", import.meta.url] });
    }
  };
  const { syncBuiltinESMExports } = await import("node:module");
  syncBuiltinESMExports();
}
