// Limits of tokens and users, and of clients that guess keys (requirements L06, R25).
import { setTimeout } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { OptionKey } from "#contract/option.ts";
import { newTokenKey } from "#server/secrets.ts";
import {
  chatReply,
  createFakeUpstream,
  type FakeUpstream,
  json,
  type Step,
} from "#test/emulators/fake-upstream.ts";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";
import { errorOf, QUESTION } from "#test/worlds/relay-world.ts";

const KEYS: readonly OptionKey[] = [
  "TokenRequestsPerMinute",
  "UserRequestsPerMinute",
  "TokenConcurrency",
  "UserConcurrency",
];
describe.each(databases)("limits of keys on $name", (database) => {
  let app: TestApp;
  let upstream: FakeUpstream;
  let url = "";

  beforeAll(async () => {
    app = await createAppOn(database);
    upstream = await createFakeUpstream();
    url = await app.listen();
    const draft = { type: 8, name: "c", key: "k", base_url: upstream.url, models: "gpt-4", group: "default" };
    await app.call(asRoot, "POST", "/api/channel/", draft);
  });
  afterEach(async () => {
    for (const key of KEYS) await app.ctx.options.set(key, "0");
  });
  afterAll(async () => {
    await app.close();
    await upstream.close();
  });

  function ask(body: unknown, { key, signal }: { key: string; signal?: AbortSignal }): Promise<Response> {
    return fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer sk-${key}` },
      body: JSON.stringify(body),
      signal: signal ?? null,
    });
  }

  /** A user with two tokens, not seen before. */
  let serial = 0;
  async function newcomer() {
    serial += 1;
    const { id } = await seedUser(app.ctx, `lim${serial}`);
    const [one, two] = [await seedToken(app.ctx, id), await seedToken(app.ctx, id)];
    return { id, one: one.key, two: two.key };
  }

  const status = async (key: string) => {
    const response = await ask(QUESTION, { key });
    await response.text();
    return response.status;
  };

  describe("calls a minute", () => {
    test("of a token: the one too many gets 429 with Retry-After and reaches no upstream; other tokens are served", async () => {
      upstream.script(json(chatReply("hi")));
      await app.ctx.options.set("TokenRequestsPerMinute", "3");
      const { one, two } = await newcomer();
      const before = upstream.journal.length;
      for (let call = 0; call < 3; call += 1) expect(await status(one)).toBe(200);
      const refused = await ask(QUESTION, { key: one });
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
      // In the words of a limit that is set for a token: Codex waits for the time in them.
      expect(await errorOf(refused)).toMatchObject({
        ...{ status: 429, code: "rate_limit_exceeded", type: "rate_limit_error" },
        message: expect.stringMatching(/^超过令牌每分钟请求数上限，.*Please try again in \d+s\./),
      });
      expect(upstream.journal.length - before).toBe(3);
      expect(await status(two)).toBe(200);
    });

    test("of a user count all tokens together", async () => {
      upstream.script(json(chatReply("hi")));
      await app.ctx.options.set("UserRequestsPerMinute", "4");
      const { one, two } = await newcomer();
      const statuses = [await status(one), await status(two), await status(one), await status(two)];
      expect(statuses).toEqual([200, 200, 200, 200]);
      expect([await status(one), await status(two)]).toEqual([429, 429]);
      expect(await errorOf(await ask(QUESTION, { key: two }))).toMatchObject({
        message: expect.stringMatching(/^超过账户每分钟请求数上限，.*Please try again in \d+s\./),
      });
      expect(await status((await newcomer()).one)).toBe(200);
    });

    test("are without limit when it is 0", async () => {
      upstream.script(json(chatReply("hi")));
      const { one } = await newcomer();
      for (let round = 0; round < 8; round += 1) {
        const statuses = await Promise.all(Array.from({ length: 10 }, () => status(one)));
        expect(new Set(statuses)).toEqual(new Set([200]));
      }
    });
  });

  describe("calls at once", () => {
    /** Answers when the test says so. */
    function gate() {
      let open: () => void = () => undefined;
      const opened = new Promise<void>((resolve) => {
        open = resolve;
      });
      const step: Step = (res) =>
        void opened.then(() =>
          res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(chatReply("hi"))),
        );
      return { step, open };
    }

    test.each([
      ["a token", "TokenConcurrency", true],
      ["a user", "UserConcurrency", false],
    ] as const)(
      "of %s: calls beyond the limit are refused at once, and there is room when one has ended",
      async (_, option, isOther) => {
        const { step, open } = gate();
        upstream.script(step);
        await app.ctx.options.set(option, "2");
        const { id, one, two } = await newcomer();
        const before = upstream.journal.length;
        const running = [status(one), status(one)];
        await expect.poll(() => upstream.journal.length - before).toBe(2);
        const refused = await ask(QUESTION, { key: one });
        expect(refused.headers.get("retry-after")).toBe("1");
        const whose = isOther ? "令牌" : "账户";
        expect(await errorOf(refused)).toMatchObject({
          ...{ status: 429, code: "concurrency_limit_exceeded", type: "rate_limit_error" },
          message: expect.stringMatching(`^超过${whose}同时进行的请求数上限，.*Please try again in 1s\\.`),
        });
        const other = status(two);
        if (isOther) await expect.poll(() => upstream.journal.length - before).toBe(3);
        else expect(await other).toBe(429);
        open();
        expect(await Promise.all(running)).toEqual([200, 200]);
        if (isOther) expect(await other).toBe(200);
        // On PostgreSQL slots are free a moment after the answer.
        await expect.poll(() => status(one), { timeout: 30_000 }).toBe(200);
        const left = app.ctx.db.selectFrom("reservations").select("request_id").where("user_id", "=", id);
        expect(await left.execute()).toEqual([]);
      },
    );

    test("so does one whose end could not be booked", async () => {
      await app.ctx.options.set("TokenConcurrency", "1");
      const { one } = await newcomer();
      upstream.script(json(chatReply("hi")));
      const stop = app.ctx.events.onRelayDone(() => {
        throw new Error("no room for the log");
      });
      expect(await status(one)).toBe(200);
      stop();
      await expect.poll(() => status(one), { timeout: 30_000 }).toBe(200);
    });

    test("a refused, a failed and an abandoned call all make room again", async () => {
      await app.ctx.options.set("TokenConcurrency", "1");
      const { one } = await newcomer();
      expect((await ask({ model: "gpt-4" }, { key: one })).status).toBe(400);
      upstream.script(json({ error: { message: "no" } }, 500));
      // On PostgreSQL slots are free a moment after the answer.
      await expect.poll(() => status(one), { timeout: 30_000 }).toBe(500);
      upstream.script(gate().step);
      const leaving = new AbortController();
      const before = upstream.journal.length;
      const stay = async () => {
        while ((await ask(QUESTION, { key: one, signal: leaving.signal })).status === 429)
          await setTimeout(20);
      };
      const left = stay().catch(() => undefined);
      await expect.poll(() => upstream.journal.length - before, { timeout: 30_000 }).toBe(1);
      leaving.abort();
      await left;
      upstream.script(json(chatReply("hi")));
      await expect.poll(() => status(one), { timeout: 30_000 }).toBe(200);
    });

    test("one user with hundreds of streams is held to the limit while others go on", async () => {
      const { step, open } = gate();
      upstream.script(step);
      await app.ctx.options.set("UserConcurrency", "20");
      const { one } = await newcomer();
      const before = upstream.journal.length;
      const answered: number[] = [];
      const greedy = Array.from({ length: 300 }, async () => answered.push(await status(one)));
      await expect.poll(() => answered.length, { timeout: 30_000 }).toBe(280);
      expect(new Set(answered)).toEqual(new Set([429]));
      expect(upstream.journal.length - before).toBe(20);
      const modest = status((await newcomer()).one);
      await expect.poll(() => upstream.journal.length - before).toBe(21);
      open();
      expect(await modest).toBe(200);
      await Promise.all(greedy);
      expect(answered.filter((status) => status === 200)).toHaveLength(20);
    });
  });

  test("a client that guesses keys gets 429 early without a look-up; a known key still works", async () => {
    upstream.script(json(chatReply("hi")));
    const { one } = await newcomer();
    expect(await status(one)).toBe(200);
    const statuses: number[] = [];
    const start = performance.now();
    for (let guess = 0; guess < 200; guess += 1) statuses.push(await status(newTokenKey()));
    // 60 at once and one more in each second that they take; the one that finds no room was looked up too.
    const most = 61 + 2 * Math.ceil((performance.now() - start) / 1_000);
    expect(new Set(statuses)).toEqual(new Set([401, 429]));
    expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(most);
    expect(await status(one)).toBe(200);
  });
});
