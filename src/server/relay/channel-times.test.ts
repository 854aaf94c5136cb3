// Time limits of one channel (requirements C41): an upstream that stands still in any phase is given up in the channel's own time, and another
// channel serves where nothing was delivered yet.
import { beforeEach, expect, test } from "vitest";
import { chatReply, chunk, json, type Step, silence } from "#test/emulators/fake-upstream.ts";
import { createRelayWorld, errorOf, QUESTION } from "#test/worlds/relay-world.ts";

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

async function slowChannel(time: (typeof TIMES)[number], priority = 0): Promise<void> {
  const id = await world.addChannel({ priority });
  await world.ctx.db
    .updateTable("channels")
    .set({ [time]: LIMIT_MS })
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
  await slowChannel(time, 5);
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
