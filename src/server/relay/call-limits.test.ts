// Limits of tokens, users, groups and models, over real HTTP (requirements L07–L09): exactly as many calls pass as fit, whatever comes at
// once, the others count nowhere, and everybody is told in the words of his own client.
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { checkLedger } from "#server/money/ledger-check.ts";
import type { NewLimit } from "#server/store/limits.ts";
import { chatReply, json, type Step } from "#test/emulators/fake-upstream.ts";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { dropLimits, seedLimit } from "#test/worlds/limits.ts";
import { createCallNodes } from "#test/worlds/nodes.ts";
import { rounds } from "#test/worlds/soak.ts";
import { engines } from "#test/worlds/stores.ts";
import { estimatePrompt } from "./billing/pricing-text.ts";
import { readIncoming } from "./text/incoming.ts";

/** An error in any format. */
interface Told {
  readonly type?: string;
  readonly error: {
    readonly type?: string;
    readonly code?: unknown;
    readonly status?: string;
    readonly message: string;
    readonly resets_at?: number;
    readonly details?: readonly Record<string, string>[];
  };
}

/** A call's cost: 9 tokens in and 5 out, at ratio 15 and completion ratio 2. */
const ASK = { model: "gpt-4", messages: [{ role: "user", content: "hello world" }], max_tokens: 5 };

/** What is taken for the prompt; an upstream that reports as much leaves nothing to give back or to owe. */
const PROMPT = estimatePrompt(
  readIncoming(
    {
      ...{ endpoint: "chat", pathModel: undefined, wantsEvents: false },
      ...{ apiVersion: "", passHeaders: [] },
    },
    Buffer.from(JSON.stringify(ASK)),
  ),
);

describe.each(engines)("limits of calls on %s", (engine) => {
  const nodes = createCallNodes(engine, { count: 3 });
  const { apps, urls, first } = nodes;
  let serial = 0;
  const limit = async (change: Partial<NewLimit>) => {
    const id = await seedLimit(first().ctx, change);
    // Other nodes hear of it a moment later.
    for (const { ctx } of apps) await ctx.coord.publish("users", "");
    return id;
  };

  beforeAll(async () => {
    await nodes.addChannel();
    nodes.upstream.script(answer);
  });
  afterEach(async () => {
    await dropLimits(first().ctx);
    for (const { ctx } of apps) await ctx.coord.publish("users", "");
    nodes.upstream.script(answer);
    expect(await checkLedger(first().ctx.db)).toEqual([]);
  });

  const answer: Step = json({
    ...chatReply("hi"),
    usage: { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 },
  });

  async function newcomer() {
    serial += 1;
    const { id } = await seedUser(first().ctx, `${engine === "sqlite" ? "s" : "p"}${serial}lim`);
    const token = await seedToken(first().ctx, id);
    return { userId: id, ...token, tokenId: token.id };
  }

  function ask(key: string, body: object = ASK, at = 0, path = "/v1/chat/completions"): Promise<Response> {
    return fetch(`${urls[at % urls.length]}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer sk-${key}` },
      body: JSON.stringify(body),
    });
  }

  const count = async (answers: readonly Promise<Response>[]) => {
    const statuses = await Promise.all(
      answers.map(async (one) => {
        const response = await one;
        await response.text();
        return response.status;
      }),
    );
    return [200, 429].map((status) => statuses.filter((one) => one === status).length);
  };

  const windows = () =>
    first()
      .ctx.db.selectFrom("limit_windows")
      .innerJoin("limits", "limits.id", "limit_id")
      .select(["spent", "reserved", "amount", "kind"])
      .where("deleted_at", "=", 0)
      .execute();

  describe("many calls at once", () => {
    const CALLS = rounds(60, 1_000);
    const FIT = 7;
    const levels = (who: { userId: number; tokenId: number }): Record<string, Partial<NewLimit>> => ({
      token: { subject: "token", subject_id: who.tokenId },
      user: { subject: "user", subject_id: who.userId },
      member: { subject: "member", subject_name: "default" },
      group: { subject: "group", subject_name: "default" },
      model: { subject: "all", model_pattern: "gpt-4*" },
    });

    test.each(["token", "user", "member", "group", "model", "all"])(
      "%s: exactly as many pass as fit",
      async (level) => {
        const who = await newcomer();
        // What one call costs at the reservation is at least what it costs in the end: here both are the same.
        const cost = await costOf(who.key);
        const all = levels(who);
        const chosen = level === "all" ? Object.values(all) : [all[level] ?? expect.fail()];
        for (const subject of chosen)
          await limit({ ...subject, kind: "quota", amount: cost * FIT, time_window: "day" });
        const [passed, refused] = await count(
          Array.from({ length: CALLS }, (_, index) => ask(who.key, ASK, index)),
        );
        expect((passed ?? 0) + (refused ?? 0)).toBe(CALLS);
        // More are refused while those that pass are running, and have set aside more than they cost.
        expect((passed ?? 0) + (await askUntilRefused(who.key))).toBe(FIT);
        const rows = await windows();
        expect(rows.map(({ spent, reserved }) => [spent, reserved])).toEqual(
          chosen.map(() => [cost * FIT, 0]),
        );
      },
    );

    async function askUntilRefused(key: string): Promise<number> {
      let passed = 0;
      while ((await ask(key)).status === 200) passed += 1;
      return passed;
    }

    async function costOf(key: string): Promise<number> {
      const before = await quotaOf(key);
      expect((await ask(key)).status).toBe(200);
      return before - (await quotaOf(key));
    }

    async function quotaOf(key: string): Promise<number> {
      const hash = first().ctx.secrets.hash(key);
      const row = await first()
        .ctx.db.selectFrom("tokens")
        .innerJoin("users", "users.id", "user_id")
        .select("users.quota")
        .where("key_hash", "=", hash)
        .executeTakeFirstOrThrow();
      return row.quota;
    }

    test("calls of a day, streams among them: exactly as many as fit", async () => {
      const who = await newcomer();
      nodes.upstream.script(streamed);
      await limit({
        subject: "user",
        subject_id: who.userId,
        kind: "calls",
        amount: FIT,
        time_window: "day",
      });
      const counted = await count(
        Array.from({ length: CALLS }, (_, index) => ask(who.key, { ...ASK, stream: true }, index)),
      );
      expect(counted).toEqual([FIT, CALLS - FIT]);
      expect(await windows()).toMatchObject([{ spent: FIT, reserved: 0 }]);
    });
  });

  const streamed: Step = (res) => {
    const base = { id: "c", object: "chat.completion.chunk", created: 1, model: "gpt-4" };
    res.writeHead(200, { "content-type": "text/event-stream" });
    const choices = [{ index: 0, delta: { content: "hi" }, finish_reason: "stop" }];
    const usage = { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 };
    res.end(
      `data: ${JSON.stringify({ ...base, choices })}\n\ndata: ${JSON.stringify({ ...base, choices: [], usage })}\n\ndata: [DONE]\n\n`,
    );
  };

  test.each(["America/New_York", "Asia/Kathmandu"])(
    "a day ends at midnight in BudgetTimeZone: %s",
    async (zone) => {
      await first().ctx.options.set("BudgetTimeZone", zone);
      const who = await newcomer();
      await limit({
        subject: "token",
        subject_id: who.tokenId,
        kind: "calls",
        amount: 1,
        time_window: "day",
      });
      expect((await ask(who.key)).status).toBe(200);
      const refused = await ask(who.key);
      expect(refused.status).toBe(429);
      const { error }: Told = await refused.json();
      const style = { timeZone: zone, timeStyle: "medium" } as const;
      expect(new Intl.DateTimeFormat("en-GB", style).format((error.resets_at ?? 0) * 1000)).toBe("00:00:00");
      expect((error.resets_at ?? 0) * 1000).toBeGreaterThan(first().ctx.clock.now());
      await first().ctx.options.set("BudgetTimeZone", "Asia/Shanghai");
    },
  );

  test.each(["tpm", "input_tpm", "output_tpm"] as const)(
    "%s, asked for by many calls at once over all nodes: exactly as many pass as it has tokens for",
    async (kind) => {
      const who = await newcomer();
      const one = { tpm: PROMPT + 5, input_tpm: PROMPT, output_tpm: 5 }[kind];
      const usage = { prompt_tokens: PROMPT, completion_tokens: 5, total_tokens: PROMPT + 5 };
      nodes.upstream.script(json({ ...chatReply("hi"), usage }));
      await limit({ subject: "token", subject_id: who.tokenId, kind, amount: one * 4 });
      expect(await count(Array.from({ length: 24 }, (_, index) => ask(who.key, ASK, index)))).toEqual([
        4, 20,
      ]);
      // It was refused for its tokens: it counts nowhere, and another user's call has room.
      expect(await count([ask((await newcomer()).key)])).toEqual([1, 0]);
    },
  );

  test("calls a minute, over all nodes; the headers tell what is left, and those of the upstream do not come through", async () => {
    const who = await newcomer();
    nodes.upstream.script((res) => {
      for (const name of ["x-ratelimit-limit-requests", "anthropic-ratelimit-requests-limit"])
        res.setHeader(name, "9999");
      res.setHeader("RateLimit-Policy", '"rpm";q=9999;w=60').setHeader("RateLimit", '"rpm";r=9998;t=8');
      res.setHeader("content-type", "application/json").end(JSON.stringify(chatReply("hi")));
    });
    await limit({ subject: "token", subject_id: who.tokenId, kind: "rpm", amount: 6 });
    const one = await ask(who.key);
    expect(Object.fromEntries([...one.headers].filter(([name]) => name.includes("ratelimit")))).toEqual({
      "x-ratelimit-limit-requests": "6",
      "x-ratelimit-remaining-requests": "5",
      "x-ratelimit-reset-requests": "10s",
    });
    expect(await count(Array.from({ length: 16 }, (_, index) => ask(who.key, ASK, index)))).toEqual([5, 11]);
    const refused = await ask(who.key);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(refused.headers.get("x-ratelimit-remaining-requests")).toBe("0");
    const { error } = await refused.json();
    expect(error).toMatchObject({ code: "rate_limit_exceeded" });
    expect(error.message).toMatch(/令牌每分钟请求数上限.*try again in \d+s/);
  });

  test("what a later limit refuses counts nowhere", async () => {
    const who = await newcomer();
    await limit({ subject: "token", subject_id: who.tokenId, kind: "rpm", amount: 50 });
    await limit({ subject: "token", subject_id: who.tokenId, kind: "tpm", amount: 10_000 });
    await limit({ subject: "user", subject_id: who.userId, kind: "calls", amount: 0, time_window: "day" });
    for (let call = 0; call < 60; call += 1) expect((await ask(who.key)).status).toBe(400);
    await dropLimits(first().ctx);
    for (const { ctx } of apps) await ctx.coord.publish("users", "");
    await limit({ subject: "token", subject_id: who.tokenId, kind: "rpm", amount: 50 });
    expect((await ask(who.key)).headers.get("x-ratelimit-remaining-requests")).toBe("49");
  });

  test("tokens a minute: what a call did not use comes back, and a cap that never fits is refused at once", async () => {
    const who = await newcomer();
    await limit({ subject: "token", subject_id: who.tokenId, kind: "tpm", amount: 1_000 });
    const large = await ask(who.key, { ...ASK, max_tokens: 1, max_completion_tokens: 10_000 });
    expect([large.status, (await large.json()).error.code]).toEqual([400, "request_exceeds_limit"]);
    // Every choice may be as long as the cap.
    for (const body of [
      { ...ASK, n: 128, max_tokens: 500 },
      { ...ASK, n: 10, max_tokens: 101 },
    ])
      expect((await (await ask(who.key, body)).json()).error.code).toBe("request_exceeds_limit");
    // A cap that is none takes nothing, and gives nothing.
    for (const max_tokens of [-1, -10_000, 1e308])
      expect((await ask(who.key, { ...ASK, max_tokens })).status, String(max_tokens)).toBe(400);
    expect((await ask(who.key, { ...ASK, n: -10 })).status).toBe(400);
    expect(Number(await left(who.key))).toBeGreaterThan(970);
    for (let call = 0; call < 8; call += 1) {
      const response = await ask(who.key, { ...ASK, max_tokens: 600 });
      expect([call, response.status]).toEqual([call, 200]);
      await response.text();
      // The count goes back beside the answer.
      await expect.poll(async () => Number((await left(who.key)) ?? 0)).toBeGreaterThan(650);
    }
  });

  test("the first call fits into any limit of tokens when it names no cap", async () => {
    const { max_tokens: _none, ...open } = ASK;
    for (const kind of ["tpm", "input_tpm", "output_tpm"] as const) {
      const who = await newcomer();
      // Less than its prompt alone.
      await limit({ subject: "token", subject_id: who.tokenId, kind, amount: 4 });
      expect([kind, (await ask(who.key, open)).status]).toEqual([kind, 200]);
    }
  });

  async function left(key: string): Promise<string | null> {
    const response = await ask(key, { ...ASK, max_tokens: 1 });
    await response.text();
    return response.headers.get("x-ratelimit-remaining-tokens");
  }

  test("calls at once", async () => {
    const who = await newcomer();
    const opened = Promise.withResolvers<void>();
    nodes.upstream.script(
      (res) =>
        void opened.promise.then(() =>
          res.setHeader("content-type", "application/json").end(JSON.stringify(chatReply("hi"))),
        ),
    );
    await limit({ subject: "user", subject_id: who.userId, kind: "running", amount: 3 });
    const before = nodes.upstream.journal.length;
    const answers = Array.from({ length: 8 }, (_, index) => ask(who.key, ASK, index));
    let answered = 0;
    for (const one of answers) void one.then(() => (answered += 1));
    // One that is looked at only when others have ended has room.
    await expect.poll(() => [nodes.upstream.journal.length - before, answered]).toEqual([3, 5]);
    opened.resolve();
    expect(await count(answers)).toEqual([3, 5]);
  });

  test.each([
    [
      "/v1/chat/completions",
      ASK,
      (body: Told) => [body.error.type, body.error.code, typeof body.error.resets_at],
    ],
    [
      "/v1/messages",
      ASK,
      (body: Told) => [body.type, body.error.type, body.error.message.includes("每日请求数上限")],
    ],
    [
      "/v1beta/models/gpt-4:generateContent",
      { contents: [{ parts: [{ text: "hello" }] }] },
      (body: Told) => [body.error.code, body.error.status, body.error.details?.[0]?.["@type"]],
    ],
  ])("a window that is used up, for a client of %s", async (path, body, look) => {
    const who = await newcomer();
    await limit({ subject: "token", subject_id: who.tokenId, kind: "calls", amount: 1, time_window: "day" });
    expect((await ask(who.key)).status).toBe(200);
    const refused = await ask(who.key, body, 0, path);
    expect([refused.status, refused.headers.get("x-should-retry")]).toEqual([429, "false"]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(look(await refused.json())).toEqual(
      {
        "/v1/chat/completions": ["usage_limit_reached", "usage_limit_reached", "number"],
        "/v1/messages": ["error", "rate_limit_error", true],
      }[path] ?? [429, "RESOURCE_EXHAUSTED", "type.googleapis.com/google.rpc.RetryInfo"],
    );
  });

  test("the cost of one call: refused, or sent with less output", async () => {
    const who = await newcomer();
    const id = await limit({ subject: "token", subject_id: who.tokenId, kind: "cost", amount: 3_000 });
    const refused = await ask(who.key, { ...ASK, max_tokens: 1_000 });
    expect([refused.status, (await refused.json()).error.code]).toEqual([400, "request_cost_limit"]);
    expect((await ask(who.key)).status).toBe(200);
    await first().ctx.db.updateTable("limits").set({ mode: "clamp" }).where("id", "=", id).execute();
    for (const { ctx } of apps) await ctx.coord.publish("users", "");
    const lowered = await ask(who.key, { ...ASK, max_tokens: 1_000 });
    const sent = JSON.parse(nodes.upstream.journal.at(-1)?.text ?? "{}");
    expect(lowered.status).toBe(200);
    expect(sent.max_tokens).toBeLessThan(100);
    expect(lowered.headers.get("x-tollgate-max-tokens")).toBe(String(sent.max_tokens));
    await first().ctx.db.updateTable("limits").set({ amount: 0 }).where("id", "=", id).execute();
    for (const { ctx } of apps) await ctx.coord.publish("users", "");
    expect((await ask(who.key)).status).toBe(400);
  });
});
