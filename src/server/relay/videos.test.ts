// Videos, end to end: reserved at the submission and settled once when they are done (requirements C52, C53, C55).
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { json, raw, reset, type Step } from "#test/emulators/fake-upstream.ts";
import { seedPriceVersion } from "#test/seeds/price-recipes.ts";
import { errorOf } from "#test/worlds/relay-world.ts";
import {
  ARK,
  createVideoWorld,
  done,
  KLING,
  OPENAI,
  ORDER,
  read,
  started,
  VIDEO_MODEL,
  VIDEO_PRICE,
} from "#test/worlds/video-world.ts";

const { world, sweep, get, submit, submitted, rowOf, books } = createVideoWorld();

describe("a video", () => {
  it("is reserved when it is submitted and settled once when it is done, as OpenAI's own SDK sees it", async () => {
    await world.addChannel({ models: VIDEO_MODEL, type: OPENAI });
    const client = new OpenAI({ apiKey: `sk-${world.token.key}`, baseURL: `${world.url}/v1`, maxRetries: 0 });
    world.upstream.script(started);
    const before = await world.money();
    const { entries } = await books();
    const made = await client.videos.create({
      model: VIDEO_MODEL,
      prompt: "a cat",
      seconds: "4",
      size: "1280x720",
    });
    expect(made).toMatchObject({
      object: "video",
      status: "queued",
      progress: 0,
      seconds: "4",
      size: "1280x720",
    });
    expect(world.upstream.journal[0]).toMatchObject({
      path: "/v1/videos",
      json: { model: VIDEO_MODEL, prompt: "a cat", seconds: "4", size: "1280x720" },
    });
    const during = await world.money();
    expect([before.quota - during.quota, during.open - before.open]).toEqual([200_000, 1]);
    world.upstream.script(json({ id: "up-1", status: "in_progress", progress: 200 }));
    await sweep();
    expect(await client.videos.retrieve(made.id)).toMatchObject({ status: "in_progress", progress: 99 });
    world.upstream.script(json({ id: "up-1", status: "completed", seconds: "4" }));
    await Promise.all([sweep(), sweep(), client.videos.retrieve(made.id), sweep()]);
    await sweep();
    const video = await client.videos.retrieve(made.id);
    expect(video).toMatchObject({ status: "completed", progress: 100, error: null });
    expect(video.completed_at).toBeGreaterThan(0);
    const after = await world.money();
    expect([before.quota - after.quota, after.open - before.open]).toEqual([200_000, 0]);
    expect((await books()).entries).toBe(entries + 1);
    expect(after.log).toMatchObject({ model_name: VIDEO_MODEL, quota: 200_000, is_stream: 0 });
    expect(after.log?.content).toContain("(4 × 1000) × 50 × 1 = 200000");
    const list = await client.videos.list();
    expect(list.data.map(({ id }) => id)).toEqual([made.id]);
    expect(await client.videos.delete(made.id)).toMatchObject({ id: made.id, deleted: true });
    expect((await client.videos.list()).data).toEqual([]);
    expect((await get(`/v1/videos/${made.id}`)).status).toBe(404);
  });

  it("costs what its resolution costs where that has a price, and is refused where the model has none", async () => {
    await world.addChannel({ models: `${VIDEO_MODEL},unpriced`, type: OPENAI });
    world.upstream.script(started, done);
    const { charged } = await world.costOf(async () => {
      await submitted({ model: VIDEO_MODEL, prompt: "p", duration: 5, size: "1080p" });
      await sweep();
    });
    expect(charged).toBe(2 * VIDEO_PRICE);
    await world.setOption("FallbackModelRatio", "30");
    const refused = await submit({ model: "unpriced", prompt: "p", size: "720p" });
    expect(await errorOf(refused)).toMatchObject({ status: 400, code: "model_price_missing" });
  });

  it("that is charged by the call costs the same however long it is", async () => {
    await world.addChannel({ models: VIDEO_MODEL, type: OPENAI });
    await world.setOption("ModelUnits", JSON.stringify({ [VIDEO_MODEL]: "call" }));
    world.upstream.script(started, done);
    const version = await seedPriceVersion(world.ctx);
    const { charged, log } = await world.costOf(async () => {
      await submitted({ model: VIDEO_MODEL, prompt: "p", duration: 5, size: "720p" });
      await seedPriceVersion(world.ctx);
      await sweep();
    });
    await world.setOption("ModelUnits", "{}");
    expect({ charged, version: log?.price_version }).toEqual({ charged: 50_000, version });
    expect(log?.content).toContain("按次计费，模型倍率 50，分组倍率 1；(1 × 1000) × 50 × 1 = 50000");
  });

  it("of Ark is charged by the tokens it reports, if they are plausible", async () => {
    await world.addChannel({ models: "seedance", type: ARK });
    for (const [tokens, expected] of [
      [108_900, 108_900],
      [0, 243_000],
      [99_000_000, 243_000],
    ] as const) {
      const usage = { completion_tokens: tokens };
      world.upstream.script(
        json({ id: "cgt-1" }),
        json({ id: "cgt-1", status: "succeeded", content: { video_url: "https://v/1" }, usage }),
      );
      const { charged, log } = await world.costOf(async () => {
        await submitted({ model: "seedance", prompt: "p", seconds: 5, size: "1920x1080" });
        await sweep();
      });
      expect([charged, log?.completion_tokens, log?.estimated]).toEqual([
        expected,
        expected,
        tokens === 108_900 ? 0 : 1,
      ]);
    }
  });

  it.each([
    [{ seconds: -1 }, "seconds"],
    [{ seconds: 0 }, "seconds"],
    [{ seconds: 1e9 }, "seconds"],
    [{ seconds: "5s" }, "seconds"],
    [{ seconds: "NaN" }, "seconds"],
    [{ seconds: 4.5 }, "seconds"],
    [{ seconds: "61" }, "seconds"],
    [{ seconds: ["5"] }, "seconds"],
    [{ duration: "1e1" }, "duration"],
    [{ seconds: 5, duration: 10 }, "duration"],
    [{ size: "99999x1" }, "size"],
    [{ size: "8k" }, "size"],
    [{ size: "1280x720", resolution: "1080p" }, "resolution"],
    [{ n: 4 }, "n"],
    [{ metadata: { mode: "pro" } }, "metadata.mode"],
    [{ metadata: { seed: {} } }, "metadata.seed"],
    [{ images: ["https://a/1", "https://a/2"] }, "images"],
    [{ image: "file:///etc/passwd" }, "input_reference"],
    [{ prompt: "" }, "prompt"],
    [{ prompt: 7 }, "prompt"],
    [{ model: "" }, "model"],
  ])("with %j is refused before anything is reserved", async (part, param) => {
    await world.addChannel({ models: VIDEO_MODEL, type: OPENAI });
    const { charged, open } = await world.costOf(async () => {
      expect(await errorOf(await submit({ ...ORDER, seconds: undefined, ...part }))).toMatchObject({
        status: 400,
        param,
      });
    });
    expect([charged, open, world.upstream.journal.length]).toEqual([0, 0, 0]);
    expect(await world.ctx.db.selectFrom("tasks").select("id").execute()).toEqual([]);
  });

  it("with NaN, and one whose body is no JSON, is refused", async () => {
    const init = { path: "/v1/videos" };
    expect((await world.ask(`{"model":"${VIDEO_MODEL}","prompt":"p","seconds":NaN}`, init)).status).toBe(400);
    const form = { ...init, headers: { "content-type": "multipart/form-data; boundary=x" } };
    expect((await world.ask("--x", form)).status).toBe(400);
  });

  it("from a form has the picture that came with it", async () => {
    await world.addChannel({ models: VIDEO_MODEL, type: OPENAI });
    world.upstream.script(started);
    const form = new FormData();
    for (const [name, value] of Object.entries(ORDER)) form.append(name, value);
    form.append("input_reference", new File(["ABC"], "a.png", { type: "image/png" }));
    form.append("metadata", '{"seed":7}');
    const response = await fetch(`${world.url}/v1/videos`, {
      method: "POST",
      headers: { authorization: `Bearer sk-${world.token.key}` },
      body: form,
    });
    expect(response.status).toBe(200);
    expect(world.upstream.journal[0]?.json).toMatchObject({
      input_reference: { image_url: "data:image/png;base64,QUJD" },
    });
  });

  it("that its token cannot pay for is not submitted", async () => {
    await world.addChannel({ models: VIDEO_MODEL, type: OPENAI });
    await world.changeToken({ unlimited_quota: 0, remain_quota: VIDEO_PRICE - 1 });
    expect(await errorOf(await submit())).toMatchObject({ status: 403 });
    expect(world.upstream.journal).toEqual([]);
    expect(await world.ctx.db.selectFrom("tasks").select("id").execute()).toEqual([]);
  });
});

describe("a submission", () => {
  it("goes to another channel after a clear refusal, and costs once", async () => {
    await world.setOption("RetryTimes", "2");
    for (let n = 0; n < 2; n += 1) await world.addChannel({ models: VIDEO_MODEL, type: OPENAI });
    world.upstream.script(json({ error: { message: "slow down" } }, 429), started, done);
    const { charged } = await world.costOf(async () => {
      await submitted();
      await sweep();
    });
    expect([charged, world.upstream.journal.length]).toEqual([VIDEO_PRICE, 3]);
  });

  it.each<[string, Step]>([
    ["the connection broke", reset],
    ["a gateway failed", raw("<html>", { "content-type": "text/html" }, 502)],
    ["the answer was HTML", raw("<html>", { "content-type": "text/html" })],
    ["the answer had no id", json({ id: "" })],
  ])("is never repeated when it may have been taken: %s", async (_, step) => {
    await world.setOption("RetryTimes", "5");
    for (let n = 0; n < 3; n += 1) await world.addChannel({ models: VIDEO_MODEL, type: OPENAI });
    world.upstream.script(step);
    const { charged, open } = await world.costOf(async () => {
      expect((await submit()).status).toBeGreaterThanOrEqual(500);
    });
    expect([charged, open, world.upstream.journal.length]).toEqual([0, 0, 1]);
    const [row] = await world.ctx.db.selectFrom("tasks").selectAll().execute();
    expect(row).toMatchObject({ state: "failed", code: "submit_unknown", is_booked: 1, outcome: "refund" });
  });

  it("that all channels refuse leaves nothing", async () => {
    await world.addChannel({ models: VIDEO_MODEL, type: KLING, key: "ak|sk" });
    world.upstream.script(json({ code: 1102, message: "no balance" }));
    const { charged, open } = await world.costOf(async () => {
      expect((await submit()).status).toBe(400);
    });
    expect([charged, open]).toEqual([0, 0]);
    expect(await world.ctx.db.selectFrom("tasks").select("id").execute()).toEqual([]);
    expect(world.upstream.journal[0]?.headers.authorization).toMatch(/^Bearer ey[\w-]+\.[\w-]+\.[\w-]+$/);
  });

  it("of a model that only channels without videos serve is told so", async () => {
    await world.addChannel({ models: VIDEO_MODEL, type: 14 });
    expect(await errorOf(await submit())).toMatchObject({ status: 503, code: "no_available_channel" });
  });

  it("that a process left in the middle is given up and refunded, never sent again", async () => {
    await world.addChannel({ models: VIDEO_MODEL, type: OPENAI });
    world.upstream.script(started);
    const id = await submitted();
    await world.ctx.db.updateTable("tasks").set({ state: "submitting", upstream_sealed: "" }).execute();
    await sweep();
    expect((await read(await get(`/v1/videos/${id}`))).status).toBe("queued");
    await sweep({ deadline_at: 1 });
    expect(await rowOf(id)).toMatchObject({ state: "failed", code: "submit_unknown", is_booked: 1 });
    expect((await world.money()).open).toBe(0);
    expect(world.upstream.journal).toHaveLength(1);
  });
});
