// Models whose price counts calls or seconds, as the operator says (requirements X15); and a price list that is published while a stream
// runs (requirements X03). On both databases.
import { describe, expect, test } from "vitest";
import { chatReply, chunk, heldStream, json, usageChunk } from "#test/emulators/fake-upstream.ts";
import { publishList, seedPriceVersion } from "#test/seeds/price-recipes.ts";
import { asRoot, databases } from "#test/worlds/app.ts";
import { createRelayWorld, MODEL, QUESTION } from "#test/worlds/relay-world.ts";

const USAGE = { prompt_tokens: 1000, completion_tokens: 500, total_tokens: 1500 };
/** 0.1 dollars a call. */
const RATIO = 50;
const CALL = 50_000;

describe.each(databases)("prices of calls on $name", (database) => {
  const world = createRelayWorld({ database });

  const setPrice = async (ratio: number, unit: string) => {
    await world.setOption("ModelRatio", JSON.stringify({ [MODEL]: ratio }));
    await world.setOption("ModelUnits", JSON.stringify({ [MODEL]: unit }));
  };
  const ask = (more: object = {}) =>
    world.costOf(async () => {
      const answer = await world.ask({ ...QUESTION, max_tokens: 1_000, ...more });
      await answer.text();
    });

  test("a call that is charged as one costs the same however long it is", async () => {
    await world.addChannel();
    await setPrice(RATIO, "call");
    for (const tokens of [1, 90_000]) {
      world.upstream.script(json(chatReply("hi", { ...USAGE, completion_tokens: tokens })));
      const { charged, log } = await ask({ max_tokens: 100_000 });
      expect(charged).toBe(CALL);
      expect(log?.content).toContain("按次计费，模型倍率 50，分组倍率 1；(1 × 1000) × 50 × 1 = 50000");
    }
  });

  test("so does a stream, which asks for no more while it runs", async () => {
    await world.addChannel();
    await setPrice(RATIO, "call");
    // As much as one call takes, and nothing for a longer one.
    await world.changeToken({ unlimited_quota: 0, remain_quota: CALL });
    world.upstream.script((res) => {
      res.writeHead(200, { "content-type": "text/event-stream" });
      for (let n = 0; n < 3_000; n += 1) res.write(chunk({ content: "word " }));
      res.end(`${usageChunk({ ...USAGE, completion_tokens: 3_000 })}data: [DONE]\n\n`);
    });
    expect(await ask({ stream: true, max_tokens: undefined })).toMatchObject({ charged: CALL, open: 0 });
  });

  test("a call that fails before there is output costs nothing, and one without enough quota is refused", async () => {
    await world.addChannel();
    await setPrice(RATIO, "call");
    world.upstream.script(json({ error: { message: "no" } }, 500));
    expect(await ask()).toMatchObject({ charged: 0, open: 0 });
    world.upstream.script(json(chatReply("hi", USAGE)));
    await world.changeToken({ unlimited_quota: 0, remain_quota: CALL - 1 });
    expect(await ask()).toMatchObject({ charged: 0, open: 0 });
  });

  test("sound is charged by its seconds where its price counts them", async () => {
    await world.addChannel({ models: "house-asr" });
    await world.setOption("ModelRatio", '{"house-asr":0.5}');
    await world.setOption("ModelUnits", '{"house-asr":"second"}');
    world.upstream.script(json({ text: "hello", duration: 8.5 }));
    const form = new FormData();
    form.set("model", "house-asr");
    form.set("response_format", "verbose_json");
    form.set("file", new Blob([new Uint8Array(64_000)]), "a.mp3");
    const { charged, log } = await world.costOf(async () => {
      const answer = await fetch(`${world.url}/v1/audio/transcriptions`, {
        method: "POST",
        headers: { authorization: `Bearer sk-${world.token.key}` },
        body: form,
      });
      expect(answer.status).toBe(200);
      await answer.text();
    });
    expect(charged).toBe(4_250);
    expect(log?.content).toContain(
      "按时长（秒）计费，模型倍率 0.5，分组倍率 1；(8.5 × 1000) × 0.5 × 1 = 4250",
    );
  });

  test("a row is saved with what its price counts, in money, and taken back with it", async () => {
    await world.setOption("ModelRatio", "{}");
    await world.setOption("ModelUnits", "{}");
    const none = Object.fromEntries(
      [
        "completion_ratio",
        "cache_ratio",
        "cache_write_ratio",
        "audio_ratio",
        "audio_completion_ratio",
        "image_ratio",
        "image_completion_ratio",
      ].map((name) => [name, ""]),
    );
    const body = { model: MODEL, mark: "", unit: "call", ratios: { ...none, model_ratio: String(RATIO) } };
    const saved = await world.app.call(asRoot, "PUT", "/api/price/model", body);
    expect(saved.data).toMatchObject({
      unit: "call",
      is_unit_own: true,
      money: { unit: "call", input: "0.1", output: "" },
    });
    await world.addChannel();
    world.upstream.script(json(chatReply("hi", USAGE)));
    expect(await ask()).toMatchObject({ charged: CALL });
    const undone = await world.app.call(asRoot, "POST", `/api/price/version/${saved.data.version}/undo`, {
      reason: "看错了",
    });
    expect(undone.success).toBe(true);
    expect(world.ctx.options.get("ModelUnits")).toEqual({});
    expect(await ask()).toMatchObject({ charged: 1000 * 15 + 500 * 30 });
  });

  test("a stream that runs while a list is published keeps its price, the next call has the new one", async () => {
    await world.setOption("ModelRatio", "{}");
    await world.setOption("ModelUnits", "{}");
    await world.addChannel();
    const stream = heldStream(USAGE);
    world.upstream.script(stream.step);
    const { charged } = await world.costOf(async () => {
      const answer = await world.ask({ ...QUESTION, max_tokens: 1_000, stream: true });
      await stream.begun;
      const published = await publishList(world.app, { [MODEL]: { input: 60, output: 180 } });
      expect(published.success).toBe(true);
      stream.end();
      expect(await answer.text()).toContain("[DONE]");
    });
    expect(charged).toBe(1000 * 15 + 500 * 30);
    world.upstream.script(json(chatReply("hi", USAGE)));
    expect(await ask()).toMatchObject({ charged: 1000 * 30 + 500 * 90 });
  });

  test("a call that goes on to another channel keeps the price it was reserved by, and is told of its version", async () => {
    for (const table of ["ModelRatio", "CompletionRatio"] as const) await world.setOption(table, "{}");
    await world.setOption("RetryTimes", "1");
    await world.addChannel();
    await world.addChannel();
    const version = await seedPriceVersion(world.ctx);
    world.upstream.script(
      async (res) => {
        const published = await publishList(world.app, { [MODEL]: { input: 90, output: 180 } });
        expect(published.success).toBe(true);
        res.writeHead(500).end("{}");
      },
      json(chatReply("hi", USAGE)),
      json(chatReply("hi", USAGE)),
    );
    const kept = await ask();
    expect(kept).toMatchObject({ charged: 1000 * 15 + 500 * 30, log: { price_version: version } });
    const next = await ask();
    expect(next).toMatchObject({ charged: 1000 * 45 + 500 * 90, log: { price_version: version + 1 } });
    await world.setOption("RetryTimes", "0");
  });
});
