// Conversations that are made short (`/v1/responses/compact`), with OpenAI's own SDK: charged as a call, and gone on from by the channel
// that made them short (requirements C68).
import OpenAI from "openai";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { addKeys, newKey, removeKeys } from "#server/store/channel-keys.ts";
import { json } from "#test/emulators/fake-upstream.ts";
import { type ResponsesEmulator, startResponses } from "#test/emulators/responses-emulator.ts";
import { createRelayWorld, errorOf } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();
const model = "gpt-4o";
const OPENAI = 1;
const CHAT = 31;
const ANTHROPIC = 14;
const makers: ResponsesEmulator[] = [];

beforeAll(async () => {
  for (let n = 0; n < 3; n += 1) makers.push(await startResponses(`m${n}`));
});
afterAll(async () => {
  for (const maker of makers) await maker.close();
});
beforeEach(async () => {
  await world.ctx.db.deleteFrom("stored_responses").execute();
  await world.setOption("ResponsesStateEnabled", "true");
  for (const maker of makers) maker.reset();
});

const sdk = () => new OpenAI({ baseURL: `${world.url}/v1`, apiKey: `sk-${world.token.key}`, maxRetries: 0 });
const addMakers = async () => {
  for (const { url } of makers) await world.addChannel({ type: OPENAI, models: model, baseUrl: url });
};
const madeBy = (text: string) => makers.findIndex(({ name }) => text.includes(name));
const input = [{ role: "user" as const, content: "hi" }];
const compact = () => sdk().responses.compact({ model, input });
type Compacted = Awaited<ReturnType<typeof compact>>;
const goOn = ({ output }: Compacted) =>
  // The SDK's own types of what comes and of what is sent differ by absent members.
  sdk().responses.create({
    model,
    input: [...output, { role: "user", content: "and?" }] as OpenAI.Responses.ResponseInput,
  });

describe("a conversation that is made short", () => {
  it("is charged as a call, and sent as the client wrote it", async () => {
    await addMakers();
    const { charged, open, entries, log } = await world.costOf(async () => {
      const made = await compact();
      expect(made).toMatchObject({ object: "response.compaction", usage: { total_tokens: 15 } });
      const maker = makers[madeBy(made.id)];
      expect(maker?.calls().at(-1)).toBe("POST /v1/responses/compact");
      expect(maker?.last()).toEqual({ model, input });
    });
    expect([open, entries, charged]).toEqual([0, 1, log?.quota]);
    expect(log).toMatchObject({ prompt_tokens: 10, completion_tokens: 5, estimated: 0, is_stream: 0 });
  });

  it("is gone on from by the channel that made it short, always", async () => {
    await addMakers();
    const seen = new Set<number>();
    for (let turn = 0; turn < 12; turn += 1) {
      const made = await compact();
      const maker = madeBy(made.id);
      seen.add(maker);
      const next = await goOn(made);
      expect([madeBy(next.id), next.output_text]).toEqual([maker, "hi and?"]);
    }
    expect(seen.size).toBeGreaterThan(1);
  });

  it("goes elsewhere without what only its maker can read, when that cannot be called", async () => {
    await addMakers();
    const made = await compact();
    const maker = madeBy(made.id);
    const { db, candidates } = world.ctx;
    const { channel_id } = await db.selectFrom("stored_responses").selectAll().executeTakeFirstOrThrow();
    await db.updateTable("channels").set({ status: 2 }).where("id", "=", channel_id).execute();
    await candidates.reload();
    const next = await goOn(made);
    expect(madeBy(next.id)).not.toBe(maker);
    expect(next.output_text).toBe("hi and?");
    expect(makers[madeBy(next.id)]?.last()).toMatchObject({
      input: [{ type: "message" }, { content: "and?" }],
    });
  });

  it("twice, by two of them, goes to the last one without what the other made", async () => {
    await addMakers();
    const first = await compact();
    let second = await compact();
    for (let tries = 0; tries < 100 && madeBy(second.id) === madeBy(first.id); tries += 1)
      second = await compact();
    expect(madeBy(second.id)).not.toBe(madeBy(first.id));
    const next = await goOn({ ...second, output: [...first.output, ...second.output] });
    expect(madeBy(next.id)).toBe(madeBy(second.id));
    expect(next.output_text).toBe("hi hi and?");
  });

  it("is read by one key of a channel alone", async () => {
    const { db, secrets, candidates } = world.ctx;
    const [maker] = makers;
    const id = await world.addChannel({ type: OPENAI, models: model, baseUrl: maker?.url ?? "" });
    const key = "sk-compact-two-0123456789";
    const second = {
      ...newKey(1_800_000_000),
      key_hash: secrets.hash(key),
      key_sealed: secrets.seal(key, "channels.key"),
    };
    await db.transaction().execute((tx) => addKeys(tx, id, [second], 1_800_000_000));
    await db.updateTable("channels").set({ key_mode: "round_robin" }).where("id", "=", id).execute();
    await candidates.reload();
    const made = await compact();
    for (let turn = 0; turn < 4; turn += 1) await goOn(made);
    expect(new Set(maker?.keys()).size).toBe(1);
    const { key_id } = await db
      .selectFrom("stored_responses")
      .selectAll()
      .orderBy("id")
      .executeTakeFirstOrThrow();
    await db.transaction().execute((tx) => removeKeys(tx, id, [key_id], 1_800_000_000));
    await candidates.reload();
    await goOn(made);
    expect(new Set(maker?.keys()).size).toBe(2);
    expect(maker?.last()).toMatchObject({ input: [{ type: "message" }, { content: "and?" }] });
  });

  it("may be at its upstream: it goes to the channel that made the response", async () => {
    await addMakers();
    for (let turn = 0; turn < 6; turn += 1) {
      const { id } = await sdk().responses.create({ model, input: "hi" });
      const made = await sdk().responses.compact({ model, previous_response_id: id });
      expect(madeBy(made.id)).toBe(madeBy(id));
    }
    await expect(
      sdk().responses.compact({ model, previous_response_id: "resp_never" }),
    ).rejects.toMatchObject({ status: 400, code: "previous_response_not_found" });
  });
});

describe("it is refused", () => {
  it.each([
    ["whose wire is chat alone", CHAT],
    ["of another wire", ANTHROPIC],
  ])("by a channel %s; another one is tried", async (_, type) => {
    await world.addChannel({ type, models: model, priority: 2 });
    const { charged, open, entries } = await world.costOf(async () => {
      await expect(compact()).rejects.toMatchObject({ status: 400, code: "unsupported_relay_mode" });
    });
    expect({ charged, open, entries }).toEqual({ charged: 0, open: 0, entries: 0 });
    expect(world.upstream.journal).toEqual([]);
    await addMakers();
    expect((await compact()).object).toBe("response.compaction");
  });

  it("by an upstream that has no such path; another one is tried, and its Responses are served on", async () => {
    world.upstream.script(json({ detail: "Not Found" }, 404));
    await world.addChannel({ type: OPENAI, models: model, priority: 2 });
    await expect(compact()).rejects.toMatchObject({ status: 400, code: "unsupported_relay_mode" });
    await addMakers();
    expect((await compact()).object).toBe("response.compaction");
    world.upstream.script(json({ object: "response", id: "resp_own", output: [] }));
    expect((await sdk().responses.create({ model, input: "hi" })).id).toBe("resp_own");
    expect(world.upstream.journal.at(-1)?.path).toBe("/v1/responses");
  });

  it("without anything to make short, in the background, and where responses are not kept", async () => {
    await addMakers();
    const ask = (body: object) => world.ask({ model, ...body }, { path: "/v1/responses/compact" });
    expect(await errorOf(await ask({}))).toMatchObject({ status: 400, param: "input" });
    expect(await errorOf(await ask({ input, background: true }))).toMatchObject({ param: "background" });
    expect(await errorOf(await ask({ input, conversation: "conv_1" }))).toMatchObject({
      param: "conversation",
    });
    await world.setOption("ResponsesStateEnabled", "false");
    expect(await errorOf(await ask({ input }))).toMatchObject({ status: 501, code: "api_not_implemented" });
  });
});
