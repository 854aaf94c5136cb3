// Time limits of one channel, or of one of its keys (requirements C41): an upstream that stands still in any phase is given up in the channel's own time, and another
// channel serves where nothing was delivered yet.
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { addKeys, newKey } from "#server/store/channel-keys.ts";
import { chatReply, chunk, json, type Step, silence } from "#test/emulators/fake-upstream.ts";
import { beginTalk } from "#test/emulators/realtime-client.ts";
import { type ChannelSeed, createRelayWorld, errorOf, QUESTION } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();
type Limited = "channel" | "key";
const LIMIT_MS = 400;
const OUT_OF_REACH_MS = 100_000;
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

/** A channel with a limit; `of: "key"` = its two keys have it, and its own is out of reach. */
async function slowChannel(
  time: (typeof TIMES)[number],
  { limitMs = LIMIT_MS, of = "channel", ...seed }: ChannelSeed & { limitMs?: number; of?: Limited } = {},
): Promise<void> {
  const { db, secrets, candidates } = world.ctx;
  const id = await world.addChannel(seed);
  const limits = { [time]: of === "key" ? OUT_OF_REACH_MS : limitMs };
  await db.updateTable("channels").set(limits).where("id", "=", id).execute();
  if (of === "key") {
    const key = `${seed.key ?? "sk"}-canary-second-of-${id}`;
    const sealed = { key_hash: secrets.hash(key), key_sealed: secrets.seal(key, "channels.key") };
    await db.transaction().execute((tx) => addKeys(tx, id, [{ ...newKey(1), ...sealed }], 1));
    await db
      .updateTable("channel_keys")
      .set({ [time]: limitMs })
      .where("channel_id", "=", id)
      .execute();
  }
  await candidates.reload();
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

test("a key without a limit has the channel's, and one that is not slow is not given up", async () => {
  await slowChannel("idle_ms", { of: "key" });
  await world.ctx.db.updateTable("channel_keys").set({ idle_ms: 0 }).execute();
  await world.ctx.db.updateTable("channels").set({ total_ms: LIMIT_MS, keys_version: 9 }).execute();
  await world.ctx.candidates.reload();
  world.upstream.script(half, json(chatReply("in time")));
  const startedMs = performance.now();
  expect(await errorOf(await world.ask(QUESTION))).toMatchObject({ status: 504 });
  expect(performance.now() - startedMs).toBeLessThan(LATE_MS);
  expect(await (await world.ask(QUESTION)).text()).toContain("in time");
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

/** All that a conversation in real time is told until it ends. */
async function saidIn(model: string): Promise<string> {
  const client = beginTalk(world.url, world.token.key, model);
  await client.closed;
  return JSON.stringify(client.events);
}

interface Phase {
  readonly name: string;
  readonly time: (typeof TIMES)[number];
  readonly step: Step;
  readonly stream: boolean;
  /** What the client reads. */
  readonly told: string;
  readonly seed?: ChannelSeed;
  /** It is a conversation in real time. */
  readonly isTalk?: true;
}

test.each<Limited>(["channel", "key"])(
  "a standstill in each phase is told as its fault, at the limit of its %s within a tenth",
  {
    timeout: 120_000,
  },
  async (of) => {
    const limitMs = 2_000;
    const phases: readonly Phase[] = [
      {
        name: "connect",
        time: "connect_ms",
        step: silence,
        stream: false,
        told: "连接上游超时",
        seed: { baseUrl: await mute() },
      },
      {
        name: "socket",
        time: "connect_ms",
        step: silence,
        stream: false,
        told: "连接上游超时",
        seed: {
          type: 18,
          key: "spark-app|spark-secret|spark-key",
          baseUrl: (await mute()).replace("https", "wss"),
        },
      },
      {
        name: "gpt-realtime",
        time: "connect_ms",
        step: silence,
        stream: true,
        told: "连接上游超时",
        seed: { type: 1, baseUrl: await mute() },
        isTalk: true,
      },
      { name: "head", time: "first_byte_ms", step: silence, stream: true, told: "等待上游响应超时" },
      { name: "event", time: "first_byte_ms", step: head, stream: true, told: "等待上游响应超时" },
      { name: "idle", time: "idle_ms", step: half, stream: false, told: "上游响应中断超时" },
      { name: "pieces", time: "idle_ms", step: begun, stream: true, told: "上游响应中断超时" },
      { name: "silence", time: "total_ms", step: silence, stream: false, told: "等待上游响应超时" },
      { name: "whole", time: "total_ms", step: half, stream: false, told: "上游响应中断超时" },
      { name: "stream", time: "total_ms", step: dripping, stream: true, told: "上游响应中断超时" },
    ];
    for (const { name, time, seed } of phases)
      await slowChannel(time, { limitMs, of, models: name, ...seed });
    const ratios = JSON.stringify(Object.fromEntries(phases.map(({ name }) => [name, 1])));
    await world.setOption("ModelRatio", ratios);
    const steps = new Map(phases.map(({ name, step }) => [name, step]));
    world.upstream.script((res, asked) => steps.get(asked.json.model)?.(res, asked));
    const took = async ({ name, stream, told, isTalk }: Phase) => {
      const startedMs = performance.now();
      const text =
        isTalk === true
          ? await saidIn(name)
          : await (await world.ask({ ...QUESTION, model: name, stream })).text();
      expect(text, name).toContain(told);
      return performance.now() - startedMs;
    };
    // On a loaded machine one of a few tries is in time; none is ever too early.
    let late = phases;
    for (let round = 0; round < 8 && late.length > 0; round += 1) {
      const times = await Promise.all(late.map(took));
      for (const [at, ms] of times.entries())
        expect(ms, late[at]?.name).toBeGreaterThanOrEqual(0.9 * limitMs);
      late = late.filter((_, at) => (times[at] ?? 0) > 1.1 * limitMs);
    }
    expect(late.map(({ name }) => name)).toEqual([]);
  },
);

test.each<Limited>(["channel", "key"])(
  "the events of a response in the background end by the limits of its %s, whether it is new or followed again",
  async (of) => {
    const created = { type: "response.created", response: { id: `resp_slow_${of}`, status: "queued" } };
    const standing: Step = (res) => {
      res.writeHead(200, { "content-type": "text/event-stream" });
      res.write(`event: ${created.type}\ndata: ${JSON.stringify(created)}\n\n`);
    };
    await world.setOption("ResponsesStateEnabled", "true");
    const begin = (model: string) =>
      world.ask(
        { model, input: "long", background: true, stream: true, max_output_tokens: 10 },
        { path: "/v1/responses" },
      );
    const startedMs = performance.now();
    await slowChannel("first_byte_ms", { of, type: 1, models: "gpt-4o" });
    world.upstream.script(silence);
    expect(await errorOf(await begin("gpt-4o"))).toMatchObject({ status: 504 });
    await slowChannel("idle_ms", { of, type: 1, models: "gpt-4" });
    world.upstream.script(standing, standing);
    await expect((await begin("gpt-4")).text()).rejects.toThrow();
    const again = await fetch(`${world.url}/v1/responses/resp_slow_${of}?stream=true`, {
      headers: { authorization: `Bearer sk-${world.token.key}` },
    });
    expect(again.status).toBe(200);
    await expect(again.text()).rejects.toThrow();
    expect(performance.now() - startedMs).toBeLessThan(LATE_MS);
  },
);
