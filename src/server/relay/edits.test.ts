// Edits are text like completions: the body passes, and input and instruction are what the prompt costs (requirements W8.1).
import { describe, expect, it } from "vitest";
import { json } from "#test/emulators/fake-upstream.ts";
import { createRelayWorld, errorOf, MODEL } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();
const path = "/v1/edits";
const BODY = `{"model":"${MODEL}", "input":"hello world", "instruction":"hello world", "n":2}`;
const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
const reply = {
  object: "edit",
  created: 1,
  choices: [
    { text: "hello, world", index: 0 },
    { text: "Hello world", index: 1 },
  ],
};

describe("edits", () => {
  it("pass as they came, and cost the reported usage", async () => {
    await world.addChannel();
    world.upstream.script(json({ ...reply, usage }));
    const { charged, log, entries } = await world.costOf(async () => {
      const response = await world.ask(BODY, { path });
      expect([response.status, await response.json()]).toEqual([200, { ...reply, usage }]);
    });
    expect(world.upstream.journal.map((asked) => [asked.path, asked.text])).toEqual([[path, BODY]]);
    // Ratio 15, completion ratio 2.
    expect({ charged, entries }).toEqual({ charged: (10 + 5 * 2) * 15, entries: 1 });
    expect(log).toMatchObject({ prompt_tokens: 10, completion_tokens: 5, estimated: 0 });
  });

  it("are counted here where no usage is reported: input, instruction and answers", async () => {
    await world.addChannel();
    world.upstream.script(json(reply));
    const { log, charged } = await world.costOf(() => world.ask(BODY, { path }));
    expect(log).toMatchObject({ prompt_tokens: 4, completion_tokens: 5, estimated: 1 });
    expect(charged).toBe((4 + 5 * 2) * 15);
  });

  it("take the model's upstream name, and an answer without choices is none", async () => {
    await world.addChannel({ models: "mine", mapping: { mine: MODEL } });
    world.upstream.script(json({ object: "edit" }));
    const { charged } = await world.costOf(async () => {
      const response = await world.ask({ model: "mine", instruction: "x" }, { path });
      expect(await errorOf(response)).toMatchObject({ status: 502, code: "bad_response" });
    });
    expect([world.upstream.journal[0]?.json?.model, charged]).toEqual([MODEL, 0]);
  });

  it("need an instruction", async () => {
    await world.addChannel();
    const response = await world.ask({ model: MODEL, input: "hello" }, { path });
    expect(await errorOf(response)).toMatchObject({ status: 400, param: "instruction" });
    expect(world.upstream.journal).toEqual([]);
  });

  it("go to channels that serve them", async () => {
    await world.addChannel({ type: 14, priority: 9 });
    expect(await errorOf(await world.ask(BODY, { path }))).toMatchObject({
      status: 400,
      code: "unsupported_relay_mode",
    });
    await world.addChannel();
    world.upstream.script(json({ ...reply, usage }));
    expect((await world.ask(BODY, { path })).status).toBe(200);
  });
});
