// Time limits of one channel (requirements C41): an upstream that stands still in any phase is given up in the channel's own time, and another
// channel serves where nothing was delivered yet.
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { chatReply, chunk, json, type Step, silence } from "#test/emulators/fake-upstream.ts";
import { type ChannelSeed, createRelayWorld, errorOf, QUESTION } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();
const LIMIT_MS = 400;
/** Upon a loaded machine; all other limits are minutes. */
const LATE_MS = 20_000;
const TIMES = ["connect_ms", "first_byte_ms", "idle_ms", "total_ms"] as const;

const head: Step = (res) => void res.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
const begun: Step = (res) => {
  res.writeHead(200, { "content-type": "text/event-stream" });
  res.write(chunk({ content: "hi" }));
};
const dripping: Step = (res) => {
  res.writeHead(200, { "content-type": "text/event-stream" });
  const timer = setInterval(() => res.write(chunk({ content: "hi" })), 50);
  res.on("close", () => clearInterval(timer));
};
const half: Step = (res) => void res.writeHead(200, { "content-type": "application/json" }).write("{");

beforeEach(() => world.setOption("RetryTimes", "0"));

async function slowChannel(
  time: (typeof TIMES)[number],
  { limitMs = LIMIT_MS, ...seed }: ChannelSeed & { readonly limitMs?: number } = {},
): Promise<void> {
  const id = await world.addChannel(seed);
  await world.ctx.db
    .updateTable("channels")
    .set({ [time]: limitMs })
    .where("id", "=", id)
    .execute();
  await world.ctx.candidates.reload();
}

test.each<[string, (typeof TIMES)[number], Step, boolean]>([
  ["sends no head of a stream", "first_byte_ms", silence, true],
  ["sends a head and no event", "first_byte_ms", head, true],
  ["sends nothing", "total_ms", silence, false],
  ["stops in the middle of an answer", "total_ms", half, false],
  ["stops in the middle of an answer, for too long between two pieces", "idle_ms", half, false],
])("one that %s is given up by its %s, and another serves", async (_, time, step, stream) => {
  await slowChannel(time, { priority: 5 });
  await world.addChannel({ priority: 1 });
  await world.setOption("RetryTimes", "1");
  world.upstream.script(step, json(chatReply("from the other")));
  const startedMs = performance.now();
  const response = await world.ask({ ...QUESTION, stream });
  expect(await response.text()).toContain("from the other");
  const tookMs = performance.now() - startedMs;
  expect(tookMs).toBeGreaterThanOrEqual(0.9 * LIMIT_MS);
  expect(tookMs).toBeLessThan(LATE_MS);
});

test.each<[string, (typeof TIMES)[number], Step]>([
  ["stands still after it began", "idle_ms", begun],
  ["stands still after it began, as a whole", "total_ms", begun],
  ["never ends", "total_ms", dripping],
])("a stream that %s ends by its %s, with what came", async (_, time, step) => {
  await slowChannel(time);
  world.upstream.script(step);
  const startedMs = performance.now();
  const text = await (await world.ask({ ...QUESTION, stream: true })).text();
  expect(text).toContain("hi");
  expect(text).not.toContain("[DONE]");
  expect(performance.now() - startedMs).toBeLessThan(LATE_MS);
});

test("alone it is a fault of the upstream, told as one", async () => {
  await slowChannel("total_ms");
  world.upstream.script(silence);
  expect(await errorOf(await world.ask(QUESTION))).toMatchObject({ status: 504 });
});

/** A listener that takes connections and never says anything: a handshake with it does not end. */
async function mute(): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => void sockets.add(socket.on("error", () => undefined)));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  // A listener on a port has an address of this kind.
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

interface Phase {
  readonly name: string;
  readonly time: (typeof TIMES)[number];
  readonly step: Step;
  readonly stream: boolean;
  /** What the client reads. */
  readonly told: string;
  readonly baseUrl?: string;
}

test("a standstill in each phase is told as its fault, at its limit within a tenth", {
  timeout: 120_000,
}, async () => {
  const limitMs = 2_000;
  const phases: readonly Phase[] = [
    {
      name: "connect",
      time: "connect_ms",
      step: silence,
      stream: false,
      told: "连接上游超时",
      baseUrl: await mute(),
    },
    { name: "head", time: "first_byte_ms", step: silence, stream: true, told: "等待上游响应超时" },
    { name: "event", time: "first_byte_ms", step: head, stream: true, told: "等待上游响应超时" },
    { name: "idle", time: "idle_ms", step: half, stream: false, told: "上游响应中断超时" },
    { name: "pieces", time: "idle_ms", step: begun, stream: true, told: "上游响应中断超时" },
    { name: "silence", time: "total_ms", step: silence, stream: false, told: "等待上游响应超时" },
    { name: "whole", time: "total_ms", step: half, stream: false, told: "上游响应中断超时" },
    { name: "stream", time: "total_ms", step: dripping, stream: true, told: "上游响应中断超时" },
  ];
  for (const { name, time, baseUrl } of phases)
    await slowChannel(time, { limitMs, models: name, ...(baseUrl !== undefined && { baseUrl }) });
  const ratios = JSON.stringify(Object.fromEntries(phases.map(({ name }) => [name, 1])));
  await world.setOption("ModelRatio", ratios);
  const steps = new Map(phases.map(({ name, step }) => [name, step]));
  world.upstream.script((res, asked) => steps.get(asked.json.model)?.(res, asked));
  const took = async ({ name, stream, told }: Phase) => {
    const startedMs = performance.now();
    const text = await (await world.ask({ ...QUESTION, model: name, stream })).text();
    expect(text, name).toContain(told);
    return performance.now() - startedMs;
  };
  // On a loaded machine one of a few tries is in time; none is ever too early.
  let late = phases;
  for (let round = 0; round < 8 && late.length > 0; round += 1) {
    const times = await Promise.all(late.map(took));
    for (const [at, ms] of times.entries()) expect(ms, late[at]?.name).toBeGreaterThanOrEqual(0.9 * limitMs);
    late = late.filter((_, at) => (times[at] ?? 0) > 1.1 * limitMs);
  }
  expect(late.map(({ name }) => name)).toEqual([]);
});
