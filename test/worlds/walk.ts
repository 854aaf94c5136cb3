// The server in a process of its own that tells which of its files one streamed call runs, as JSON: a list for the main thread and one
// for the threads that hold SQLite's connections. Started by walk.test.ts with a directory for its data.
import { once } from "node:events";
import type { Server } from "node:http";
import { Session } from "node:inspector/promises";
import { join, relative } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createApp, createHttpServer } from "#server/app.ts";
import { readConfig } from "#server/config.ts";
import { createContext } from "#server/context.ts";
import { chunk, createFakeUpstream, DONE, sse, usageChunk } from "#test/emulators/fake-upstream.ts";
import { manage, serverEnvironment } from "./process.ts";

/** Coverage of one thread as V8 tells it. */
interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly { readonly ranges: readonly { readonly count: number }[] }[];
  }[];
}

const ROOT = join(import.meta.dirname, "../..");
/** What only some of the calls run is no part of the walk: timers, a checkpoint. */
const CALLS = 4;
const WARM_UP = 3;
const SETTLED_MS = 100;
const QUESTION = { model: "gpt-4", stream: true, messages: [{ role: "user", content: "hello world" }] };

/** The files of `src` of which a function ran since the last look. */
function filesRun({ result }: Coverage): string[] {
  return result
    .filter(({ functions }) => functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0))
    .filter(({ url }) => url.startsWith("file:"))
    .map(({ url }) => relative(ROOT, fileURLToPath(url)))
    .filter((path) => path.startsWith("src/"));
}

/** Looks at one thread: what it ran since the last look. */
type Look = () => Promise<string[]>;

const START = { callCount: true, detailed: false };

async function watchMain(session: Session): Promise<Look> {
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", START);
  return async () => filesRun(await session.post("Profiler.takePreciseCoverage"));
}

/** The worker threads that run now: with SQLite those that hold its connections. */
async function watchWorkers(session: Session): Promise<Look> {
  const workers: string[] = [];
  const waiting = new Map<number, (value: Coverage) => void>();
  session.on("NodeWorker.attachedToWorker", ({ params }) => workers.push(params.sessionId));
  session.on("NodeWorker.receivedMessageFromWorker", ({ params }) => {
    const { id, result } = JSON.parse(params.message);
    waiting.get(id)?.(result);
  });
  let last = 0;
  const ask = async (sessionId: string, method: string, params?: object) => {
    last += 1;
    const message = JSON.stringify({ id: last, method, params });
    const answer = new Promise<Coverage>((resolve) => waiting.set(last, resolve));
    await session.post("NodeWorker.sendMessageToWorker", { message, sessionId });
    return answer;
  };
  const askAll = (method: string, params?: object) =>
    Promise.all(workers.map((sessionId) => ask(sessionId, method, params)));
  await session.post("NodeWorker.enable", { waitForDebuggerOnStart: false });
  await askAll("Profiler.enable");
  await askAll("Profiler.startPreciseCoverage", START);
  return async () => [...new Set((await askAll("Profiler.takePreciseCoverage")).flatMap(filesRun))];
}

/** Creates the channel, and a token with a limit; returns its key. */
async function furnish(url: string, upstreamUrl: string): Promise<string> {
  const channel = { type: 1, name: "walk", key: "sk-upstream", models: QUESTION.model, group: "default" };
  await manage(url, "POST", "/api/channel/", { ...channel, base_url: upstreamUrl });
  const limit = { remain_quota: 10_000_000, unlimited_quota: false, expired_time: -1 };
  const token = await manage(url, "POST", "/api/token/", { name: "walk", ...limit });
  if (typeof token === "object" && token !== null && "key" in token) return String(token.key);
  throw new Error("the new token came without a key");
}

async function listen(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return `http://127.0.0.1:${address.port}`;
}

async function call(url: string, key: string): Promise<void> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(QUESTION),
  });
  const text = await response.text();
  if (!text.includes(DONE)) throw new Error(`no stream: ${text}`);
}

/** What every call ran, of the lists that some calls ran. */
function always(lists: readonly string[][]): string[] {
  const [first = [], ...others] = lists;
  return first.filter((path) => others.every((list) => list.includes(path))).toSorted();
}

const [dataDir = ""] = process.argv.slice(2);
const upstream = await createFakeUpstream();
const words = ["This", " is", " a", " stream"].map((content) => chunk({ content }));
const usage = usageChunk({ prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 });
upstream.script(sse(...words, chunk({}, "stop"), usage, DONE));

const session = new Session();
session.connect();
const lookAtMain = await watchMain(session);
const ctx = await createContext(readConfig({ ...serverEnvironment(dataDir, 0), LOG_LEVEL: "silent" }));
const server = createHttpServer(createApp(ctx));
const url = await listen(server);
const key = await furnish(url, upstream.url);
const lookAtWorkers = await watchWorkers(session);
const main: string[][] = [];
const workers: string[][] = [];
for (let at = -WARM_UP; at < CALLS; at += 1) {
  await Promise.all([lookAtMain(), lookAtWorkers()]);
  await call(url, key);
  // A settlement is acknowledged before the last byte; what follows it (the log's event) is not waited for by the client.
  await setTimeout(SETTLED_MS);
  if (at < 0) continue;
  main.push(await lookAtMain());
  workers.push(await lookAtWorkers());
}
process.stdout.write(JSON.stringify({ main: always(main), workers: always(workers) }));
process.exit();
