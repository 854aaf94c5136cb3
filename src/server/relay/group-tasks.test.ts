// Work in the background by tokens that name groups in an order (requirements K15): a group none of whose channels can do it, or whose
// channels all refuse it, is passed over, and each channel is called once.
import { beforeEach, expect, test } from "vitest";
import { pollTasks } from "#server/tasks/poll.ts";
import { json } from "#test/emulators/fake-upstream.ts";
import { createRelayWorld, errorOf } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();
const MODEL = "sora-2";
const OPENAI = 1;
const ANTHROPIC = 14;
const CASES = [
  ["/v1/responses", { input: "hi", background: true }],
  ["/v1/videos", { prompt: "a cat", seconds: "4" }],
] as const;
const work = json({
  ...{ id: "up-1", object: "response", status: "completed", output: [] },
  usage: { input_tokens: 9, output_tokens: 5, total_tokens: 14 },
});
const refusal = json({ error: { message: "slow down" } }, 429);

beforeEach(async () => {
  await world.setOption("ResponsesStateEnabled", "true");
  await world.setOption("RetryTimes", "0");
  await world.setOption("ModelRatio", JSON.stringify({ [MODEL]: 50 }));
  await world.setOption("GroupRatio", JSON.stringify({ default: 1, other: 1, dear: 4, cheap: 0.5 }));
  await world.setOption("UserUsableGroups", JSON.stringify({ other: "", dear: "", cheap: "" }));
  await world.changeToken({ groups: "other,dear,cheap" });
  await world.addChannel({ models: MODEL, type: ANTHROPIC, group: "other", key: "sk-other-0123456789" });
});

const add = (group: string, name: string) =>
  world.addChannel({ models: MODEL, type: OPENAI, group, key: `sk-${name}-0123456789` });
const called = () =>
  world.upstream.journal.map(({ headers }) => /sk-([\w]+)/.exec(String(headers.authorization))?.[1]);

test.each(CASES)("%s goes on to the next group", async (path, body) => {
  for (const [group, name] of [
    ["dear", "dear1"],
    ["dear", "dear2"],
    ["cheap", "cheap1"],
  ] as const)
    await add(group, name);
  world.upstream.script((res, asked) =>
    (String(asked.headers.authorization).includes("dear") ? refusal : work)(res, asked),
  );
  const { open, entries, log } = await world.costOf(async () => {
    expect((await world.ask({ model: MODEL, ...body }, { path })).status).toBe(200);
    expect([called().slice(0, 2).toSorted(), called().slice(2)]).toEqual([["dear1", "dear2"], ["cheap1"]]);
    await world.ctx.db.updateTable("tasks").set({ next_at: 0 }).execute();
    await pollTasks(world.ctx);
  });
  expect({ open, entries }).toEqual({ open: 0, entries: 1 });
  expect(log?.content).toContain("（分组 cheap）");
});

test.each(CASES)("%s that no group can do is refused, and leaves nothing", async (path, body) => {
  const { open, charged } = await world.costOf(async () => {
    const refused = await errorOf(await world.ask({ model: MODEL, ...body }, { path }));
    expect([400, 503]).toContain(refused.status);
  });
  expect([open, charged, called()]).toEqual([0, 0, []]);
  await add("cheap", "cheap1");
  world.upstream.script(refusal);
  expect((await world.ask({ model: MODEL, ...body }, { path })).status).toBe(429);
  expect([called(), (await world.money()).open]).toEqual([["cheap1"], 0]);
  expect(await world.ctx.db.selectFrom("tasks").select("id").where("is_booked", "=", 0).execute()).toEqual(
    [],
  );
});
