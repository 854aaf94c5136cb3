// Loaded before a server by `--import`: kills its own process before a chosen statement of a transaction of the ledger, as `kill -9` would, or
// with `&of=acts` of any transaction. The file that its address names holds the number, counted from when it appears; which statement it was
// is added to the file beside it; in another stands what each transaction ran that credits an order.
import { appendFileSync, readFileSync } from "node:fs";
import { Socket } from "node:net";
import { DatabaseSync, StatementSync } from "node:sqlite";
import threads, { isMainThread } from "node:worker_threads";

const { searchParams } = new URL(import.meta.url);
const armed = searchParams.get("at") ?? "";
const isOfActs = searchParams.get("of") === "acts";
/** Only a credit changes an order in the ledger here. */
const CREDIT = /^(ledger_updateOrders$|UPDATE orders SET )/;
let left = 0;
/** What connections in a transaction have run of it. */
const within = new WeakMap<object, Set<string>>();

/** 0 = no statement is chosen now. */
function chosen(): number {
  try {
    return Number(readFileSync(armed, "utf8"));
  } catch {
    return 0;
  }
}

/** Counts the statement; the process may be gone before it runs. */
function step(text: string, connection: object): void {
  if (/^begin/i.test(text)) within.set(connection, new Set());
  const ran = within.get(connection);
  if (!ran) return;
  const short = text.replace(/\s+/g, " ").slice(0, 60);
  ran.add(short);
  if (/^(commit|rollback)/i.test(text)) within.delete(connection);
  if (isLast()) {
    appendFileSync(`${armed}.log`, `${short}\n`);
    process.kill(process.pid, "SIGKILL");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  }
  if (/^commit/i.test(text) && [...ran].some((one) => CREDIT.test(one)))
    appendFileSync(`${armed}.credits`, `${JSON.stringify([...ran])}\n`);
}

/** Whether the statement is the chosen one. */
function isLast(): boolean {
  const number = chosen();
  if (number === 0 || left === 0) left = number;
  if (number === 0) return false;
  left -= 1;
  return left <= 0;
}

for (const verb of ["run", "get", "all", "iterate"] as const) {
  const original = StatementSync.prototype[verb] as (...values: unknown[]) => unknown;
  Object.defineProperty(StatementSync.prototype, verb, {
    value(this: StatementSync, ...values: unknown[]) {
      step(this.sourceSQL, DatabaseSync);
      return original.apply(this, values);
    },
  });
}
const exec = DatabaseSync.prototype.exec;
DatabaseSync.prototype.exec = function (sql) {
  step(sql, DatabaseSync);
  return exec.call(this, sql);
};

/** The statement in a message to PostgreSQL: a query's text, the text of one that is parsed, or the name that a bind calls for. "" = none. */
function statementIn(message: unknown): string {
  if (!Buffer.isBuffer(message) || message.length < 7) return "";
  const [text = "", name = ""] = message.toString("latin1", 5).split("\0");
  if (message[0] === "Q".charCodeAt(0)) return text;
  if (message[0] === "P".charCodeAt(0)) return isOfActs ? name : "";
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
    if (isOfActs ? text !== "" : /^(BEGIN|COMMIT|ROLLBACK|ledger_)/.test(text)) step(text, this);
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
