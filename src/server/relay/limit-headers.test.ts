// Every answer tells what is left of the tightest limit of its caller, whatever it answers and by which format's names, also one that refuses
// (requirements L13); who has no limit is told nothing.
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { createFakeRealtime, type FakeRealtime } from "#test/emulators/fake-realtime.ts";
import { chatReply, json } from "#test/emulators/fake-upstream.ts";
import { type ResponsesEmulator, startResponses } from "#test/emulators/responses-emulator.ts";
import { databases } from "#test/worlds/app.ts";
import { BATCH_MODEL, batchOrder, createBatchWorld, named, requestLine } from "#test/worlds/batch-world.ts";
import { dropLimits, seedLimit } from "#test/worlds/limits.ts";
import { MODEL } from "#test/worlds/relay-world.ts";
import { ORDER, started, VIDEO_MODEL } from "#test/worlds/video-world.ts";

const OPENAI = 1;
const ANY = 8;
const REALTIME = "gpt-realtime";
const STATEFUL = "gpt-4o";
const MESSAGES = [{ role: "user", content: "hi" }];
const BUDGET = "x-tollgate-budget-remaining";

describe.each(databases)("what answers tell of limits on $name", (database) => {
  const batch = createBatchWorld({ database });
  const { world } = batch;
  let realtime: FakeRealtime;
  let maker: ResponsesEmulator;

  beforeAll(async () => {
    realtime = await createFakeRealtime();
    maker = await startResponses("m");
  });
  beforeEach(async () => {
    realtime.script((talk) => talk.say({ type: "session.created", session: { model: REALTIME } }));
    maker.reset();
    const ratios = { [MODEL]: 15, [BATCH_MODEL]: 2, [VIDEO_MODEL]: 50, [REALTIME]: 2, [STATEFUL]: 2 };
    await world.setOption("ModelRatio", JSON.stringify(ratios));
    await world.setOption("ResponsesStateEnabled", "true");
  });
  afterEach(async () => {
    await dropLimits(world.ctx);
    for (const key of ["TokenRequestsPerMinute", "UserRequestsPerMinute", "TokenConcurrency"] as const)
      await world.setOption(key, "0");
  });
  afterAll(async () => {
    await realtime.close();
    await maker.close();
  });

  const own = () => ({ subject: "token", subject_id: world.token.id }) as const;
  const keyed = () => ({ authorization: `Bearer sk-${world.token.key}` });
  const get = (path: string, method = "GET") => fetch(world.url + path, { method, headers: keyed() });
  const chat = (more: object = {}) => world.ask({ model: MODEL, messages: MESSAGES, max_tokens: 9, ...more });
  const chatChannel = () => world.addChannel({ type: ANY, models: MODEL });

  /** The headers about limits, by name. */
  const told = ({ headers }: Pick<Response, "headers">) =>
    Object.fromEntries([...headers].filter(([name]) => /ratelimit|^x-tollgate-budget/.test(name)));
  const answered = async (asking: Promise<Response>, status = 200) => {
    const response = await asking;
    const text = await response.text();
    expect(response.status, text).toBe(status);
    return { told: told(response), text };
  };
  const left = async (asking: Promise<Response>, status = 200) =>
    Number((await answered(asking, status)).told[BUDGET]);

  test("a budget alone: what is left beside what this call has set aside, of a soft one too; of several the smallest", async () => {
    await chatChannel();
    const id = await seedLimit(world.ctx, { ...own(), amount: 1_000_000, time_window: "day", mode: "soft" });
    const { charged } = await world.costOf(async () => {
      expect(await left(chat())).toBeLessThan(1_000_000);
    });
    const rest = 1_000_000 - charged;
    expect(await left(get("/v1/models"))).toBe(rest);
    // What a call sets aside is the same each time: the estimate of the same request.
    const held = rest - (await left(chat()));
    expect(held).toBeGreaterThan(0);
    expect(await left(chat())).toBe(rest - charged - held);
    world.upstream.script(json({ error: { message: "no" } }, 400));
    expect(await left(chat(), 400)).toBe(rest - 2 * charged - held);
    await seedLimit(world.ctx, { subject: "user", subject_id: world.userId, amount: 700_000 });
    expect(await left(get("/v1/models"))).toBe(700_000);
    // For other models only.
    await seedLimit(world.ctx, { ...own(), amount: 5, model_pattern: "other*" });
    expect(await left(get("/v1/models"))).toBe(700_000);
    // Spent beyond its amount, a soft budget refuses nothing and has nothing left.
    await world.ctx.db.updateTable("limits").set({ amount: 1 }).where("id", "=", id).execute();
    await world.ctx.coord.publish("users", "");
    world.upstream.script(json(chatReply("hi")));
    expect(await left(chat())).toBe(0);
  });

  test("a stream tells it before its first event, in OpenAI's names, Anthropic's format in its own", async () => {
    await chatChannel();
    await seedLimit(world.ctx, { ...own(), kind: "rpm", amount: 60 });
    await seedLimit(world.ctx, { ...own(), amount: 1_000_000 });
    const names = async (asking: Promise<Response>) => Object.keys((await answered(asking)).told).sort();
    const openai = ["limit", "remaining", "reset"].map((part) => `x-ratelimit-${part}-requests`);
    const anthropic = ["limit", "remaining", "reset"].map((part) => `anthropic-ratelimit-requests-${part}`);
    expect(await names(chat({ stream: true }))).toEqual([...openai, BUDGET].sort());
    const body = { model: MODEL, max_tokens: 9, messages: MESSAGES };
    for (const stream of [false, true])
      expect(await names(world.ask({ ...body, stream }, { path: "/v1/messages" }))).toEqual(
        [...anthropic, BUDGET].sort(),
      );
    expect(await names(world.ask(body, { path: "/v1/messages/count_tokens" }))).toEqual(
      [...anthropic, BUDGET].sort(),
    );
    const contents = [{ parts: [{ text: "hi" }] }];
    expect(await names(world.ask({ contents }, { path: `/v1beta/models/${MODEL}:generateContent` }))).toEqual(
      [...openai, BUDGET].sort(),
    );
  });

  test("limits of the options alone: the tighter of token and user, and on the refusal", async () => {
    await chatChannel();
    await world.setOption("TokenRequestsPerMinute", "3");
    await world.setOption("UserRequestsPerMinute", "30");
    const limits = { "x-ratelimit-limit-requests": "3", "x-ratelimit-reset-requests": expect.any(String) };
    for (const remaining of ["2", "1", "0"])
      expect((await answered(chat())).told).toEqual({
        ...limits,
        "x-ratelimit-remaining-requests": remaining,
      });
    expect((await answered(chat(), 429)).told).toEqual({ ...limits, "x-ratelimit-remaining-requests": "0" });
    // A look counts nothing.
    for (let look = 0; look < 40; look += 1) await answered(get("/v1/models"));
    expect((await answered(get("/v1/models"))).told).toMatchObject({ "x-ratelimit-remaining-requests": "0" });
  });

  test("calls of a day are requests whose reset is the day's end; those of all time have none", async () => {
    await chatChannel();
    const day = await seedLimit(world.ctx, { ...own(), kind: "calls", amount: 2, time_window: "day" });
    const { told: first } = await answered(chat());
    expect(first).toMatchObject({ "x-ratelimit-limit-requests": "2", "x-ratelimit-remaining-requests": "1" });
    const [, hours = "0", minutes = "0", seconds] =
      /^(?:(\d+)h)?(?:(\d+)m)?(\d+)s$/.exec(first["x-ratelimit-reset-requests"] ?? "") ?? expect.fail();
    const resetSec = Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds);
    await answered(chat());
    const { told: refused, text } = await answered(chat(), 429);
    expect(refused["x-ratelimit-remaining-requests"]).toBe("0");
    const resetsAt: number = JSON.parse(text).error.resets_at;
    expect(Math.abs(resetsAt - world.ctx.clock.seconds() - resetSec)).toBeLessThan(20);
    await world.ctx.db.updateTable("limits").set({ deleted_at: 1 }).where("id", "=", day).execute();
    await seedLimit(world.ctx, { ...own(), kind: "calls", amount: 9 });
    expect((await answered(chat())).told).toEqual({
      "x-ratelimit-limit-requests": "9",
      "x-ratelimit-remaining-requests": "8",
    });
  });

  test("an answer that refuses tells all of them: what it came to, and what it never came to", async () => {
    await chatChannel();
    await seedLimit(world.ctx, { ...own(), kind: "rpm", amount: 60 });
    await seedLimit(world.ctx, { ...own(), kind: "output_tpm", amount: 6_000 });
    await seedLimit(world.ctx, { ...own(), amount: 1_000_000 });
    const requests = (remaining: string) => ({
      "x-ratelimit-remaining-requests": remaining,
      "x-ratelimit-remaining-tokens": "6000",
      [BUDGET]: "1000000",
    });
    expect((await answered(world.ask("{"), 400)).told).toMatchObject(requests("60"));
    // The limit before it was passed, and is given it back with its end.
    expect((await answered(chat({ max_tokens: 7_000 }), 400)).told).toMatchObject(requests("59"));
    expect((await answered(chat({ model: "absent" }), 503)).told).toMatchObject({ [BUDGET]: "1000000" });
    const running = await seedLimit(world.ctx, { ...own(), kind: "running", amount: 0 });
    expect((await answered(chat(), 429)).told).toMatchObject(requests("60"));
    await world.ctx.db.updateTable("limits").set({ deleted_at: 1 }).where("id", "=", running).execute();
    await seedLimit(world.ctx, { ...own(), amount: 3, time_window: "day" });
    expect((await answered(chat(), 400)).told).toMatchObject({ [BUDGET]: "3" });
  });

  test("a look costs one query for all that is counted by the minute, and one a second for windows", async () => {
    await world.setOption("TokenRequestsPerMinute", "30");
    await world.setOption("UserRequestsPerMinute", "90");
    await seedLimit(world.ctx, { ...own(), kind: "rpm", amount: 60 });
    await seedLimit(world.ctx, { ...own(), kind: "tpm", amount: 6_000 });
    await seedLimit(world.ctx, { ...own(), amount: 1_000_000 });
    const { coord, db, clock } = world.ctx;
    const looks = vi.spyOn(coord, "fullAfter");
    const reads = vi.spyOn(db, "selectFrom");
    const fromSec = clock.seconds();
    for (let look = 1; look <= 20; look += 1) {
      expect((await answered(get("/v1/models"))).told).toMatchObject({
        "x-ratelimit-limit-requests": "30",
        "x-ratelimit-limit-tokens": "6000",
        [BUDGET]: "1000000",
      });
      expect(looks.mock.calls.map(([keys]) => keys.length)).toEqual(Array.from({ length: look }, () => 4));
    }
    const windows = reads.mock.calls.filter(([table]) => String(table) === "limit_windows").length;
    expect(windows).toBeGreaterThan(0);
    expect(windows).toBeLessThanOrEqual(clock.seconds() - fromSec + 1);
    vi.restoreAllMocks();
  });

  /** Every other kind of answer, each with what it needs. */
  const others: Readonly<Record<string, () => Promise<Response>>> = {
    models: () => get("/v1/models"),
    "the key's own use": () => get("/v1/usage"),
    "the old billing call": () => get("/v1/dashboard/billing/usage"),
    embeddings: () => world.ask({ model: MODEL, input: "hi" }, { path: "/v1/embeddings" }),
    "a video's submission": () => world.ask(ORDER, { path: "/v1/videos" }),
    "a list of videos": () => get("/v1/videos"),
    "an absent video": () => get("/v1/videos/video_none"),
    "an upload": () => batch.post(`${requestLine("a")}\n`),
    "a list of files": () => get("/v1/files"),
    "a batch's submission": async () => {
      const { id } = await batch.upload(named(2).map((name) => requestLine(name)));
      const order = batchOrder(id);
      return batch.send("POST", "/v1/batches", { body: order });
    },
    "a list of batches": () => get("/v1/batches"),
    "a response in the background": () =>
      world.ask({ model: STATEFUL, input: "hi", background: true }, { path: "/v1/responses" }),
    "a stored response": async () => {
      const asked = { model: STATEFUL, input: "hi", background: true };
      const { id } = await (await world.ask(asked, { path: "/v1/responses" })).json();
      return get(`/v1/responses/${id}`);
    },
    "a response that is absent": () => get("/v1/responses/resp_none"),
  };

  /** Headers of the answer to an upgrade. */
  async function upgraded(path: string): Promise<Pick<Response, "headers">> {
    const socket = new WebSocket(world.url.replace("http", "ws") + path, { headers: keyed() });
    const [answer]: IncomingMessage[] = await once(socket, "upgrade");
    socket.terminate();
    const headers = new Headers();
    for (const [name, value] of Object.entries(answer?.headers ?? {})) headers.set(name, String(value));
    return { headers };
  }

  async function channels(): Promise<void> {
    await chatChannel();
    await world.addChannel({ type: ANY, models: VIDEO_MODEL });
    await world.addChannel({ type: ANY, models: REALTIME, baseUrl: realtime.url });
    await world.addChannel({ type: OPENAI, models: STATEFUL, baseUrl: maker.url });
    world.upstream.script(started);
  }

  test.each([
    ["set for the key", "60"],
    ["of the options", "60"],
    ["none", null],
  ] as const)("every kind of answer, with limits that are %s", async (which, limit) => {
    await channels();
    if (which === "set for the key") {
      await seedLimit(world.ctx, { ...own(), kind: "rpm", amount: 60 });
      await seedLimit(world.ctx, { ...own(), amount: 100_000_000, mode: "soft" });
    } else if (which === "of the options") await world.setOption("TokenRequestsPerMinute", "60");
    for (const [name, ask] of Object.entries(others)) {
      const response = await ask();
      await response.text();
      expect([name, response.headers.get("x-ratelimit-limit-requests")]).toEqual([name, limit]);
      expect([name, response.headers.has(BUDGET)]).toEqual([name, which === "set for the key"]);
    }
    for (const path of [`/v1/realtime?model=${REALTIME}`, "/v1/responses"]) {
      const { headers } = await upgraded(path);
      expect([path, headers.get("x-ratelimit-limit-requests")]).toEqual([path, limit]);
      expect([path, headers.has(BUDGET)]).toEqual([path, which === "set for the key"]);
    }
  });
});
