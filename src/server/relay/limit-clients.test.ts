// What official clients do with the refusals of limits (vendors/limit-refusals): how often they call again, and that they wait as long as
// they are told. Coding agents are no packages; the rules they read refusals by are applied to the bytes here.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import Anthropic from "@anthropic-ai/sdk";
import { generateText } from "ai";
import OpenAI from "openai";
import { afterEach, describe, expect, test } from "vitest";
import { LIMITS } from "#server/limits/table.ts";
import type { NewLimit } from "#server/store/limits.ts";
import { chatReply, json } from "#test/emulators/fake-upstream.ts";
import { databases } from "#test/worlds/app.ts";
import { dropLimits, seedLimit } from "#test/worlds/limits.ts";
import { createRelayWorld, MODEL } from "#test/worlds/relay-world.ts";

describe.each(databases)("refusals of limits on $name", (database) => {
  const world = createRelayWorld({ database });
  afterEach(() => dropLimits(world.ctx));

  const messages = [{ role: "user" as const, content: "hi" }];

  interface Seen {
    readonly status: number;
    readonly headers: Headers;
    /** Since the client's first call. */
    readonly atMs: number;
    readonly body: string;
  }

  /** What a client calls with, and all that it was answered. */
  function watched() {
    const seen: Seen[] = [];
    const start = performance.now();
    const fetch: typeof globalThis.fetch = async (url, init) => {
      const atMs = performance.now() - start;
      const response = await globalThis.fetch(url, init);
      seen.push({
        status: response.status,
        headers: response.headers,
        atMs,
        body: await response.clone().text(),
      });
      return response;
    };
    return { seen, options: { apiKey: `sk-${world.token.key}`, fetch } };
  }

  type Client = (options: ReturnType<typeof watched>["options"]) => Promise<unknown>;

  /** With the retries that each has by default: two more calls. */
  const CLIENTS: Readonly<Record<string, Client>> = {
    openai: (options) =>
      new OpenAI({ ...options, baseURL: `${world.url}/v1` }).chat.completions.create({
        model: MODEL,
        messages,
      }),
    anthropic: (options) =>
      new Anthropic({ ...options, baseURL: world.url }).messages.create({
        model: MODEL,
        max_tokens: 5,
        messages,
      }),
    "Vercel's openai": (options) =>
      generateText({ model: createOpenAI({ ...options, baseURL: `${world.url}/v1` }).chat(MODEL), messages }),
    "Vercel's anthropic": (options) =>
      generateText({ model: createAnthropic({ ...options, baseURL: `${world.url}/v1` })(MODEL), messages }),
  };

  async function limited(change: Partial<NewLimit>): Promise<number> {
    await world.addChannel();
    world.upstream.script(json(chatReply("hi")));
    return seedLimit(world.ctx, { subject: "token", subject_id: world.token.id, ...change });
  }

  /** Uses up what there is. */
  async function ask(): Promise<Response> {
    const response = await fetch(`${world.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer sk-${world.token.key}` },
      body: JSON.stringify({ model: MODEL, messages, max_tokens: 5 }),
    });
    await response.text();
    return response;
  }

  describe.each(Object.entries(CLIENTS))("%s", (_, call) => {
    test("waits as long as a rate says, and is served then", async () => {
      // One call each second.
      await limited({ kind: "rpm", amount: 60 });
      let refused: Response | undefined;
      while (refused === undefined) {
        const answers = await Promise.all(Array.from({ length: 80 }, ask));
        refused = answers.find(({ status }) => status === 429);
      }
      const { seen, options } = watched();
      // Other calls of this test may have left a moment's room.
      while (seen.length === 0 || seen[0]?.status === 200) {
        seen.length = 0;
        await call(options);
      }
      expect(seen[0]?.status).toBe(429);
      expect(seen.at(-1)?.status).toBe(200);
      for (const [index, { headers, status, atMs }] of seen.entries()) {
        if (status !== 429) continue;
        const waitMs = Number(headers.get("retry-after-ms"));
        expect(waitMs).toBeGreaterThan(0);
        // As whole seconds for those who know no other: never too short.
        expect(Number(headers.get("retry-after"))).toBe(Math.ceil(waitMs / 1_000));
        expect((seen[index + 1]?.atMs ?? 0) - atMs).toBeGreaterThanOrEqual(waitMs - 1);
      }
    });

    test("that a call can never fit is asked once", async () => {
      await limited({ kind: "cost", amount: 0 });
      const { seen, options } = watched();
      await expect(call(options)).rejects.toThrow();
      expect(seen.map(({ status }) => status)).toEqual([400]);
    });
  });

  /** The two SDKs themselves, with what each is seen to do. */
  describe.each(["openai", "anthropic"] as const)("%s by the table of refusals", (name) => {
    /** How often and how long it calls until it gives up, and with which words it was refused. */
    async function given(change: Partial<NewLimit>, prepare?: (limitId: number) => Promise<unknown>) {
      const id = await limited(change);
      await prepare?.(id);
      const { seen, options } = watched();
      const begun = performance.now();
      await expect(CLIENTS[name]?.(options)).rejects.toThrow();
      const { status = 0, headers = new Headers() } = seen[0] ?? {};
      const told = ["retry-after", "retry-after-ms", "x-should-retry"].map((one) => headers.get(one));
      return { calls: seen.length, tookMs: performance.now() - begun, status, told };
    }

    test("429 with a second to wait: three calls in two seconds", async () => {
      const { tookMs, ...seen } = await given({ kind: "running", amount: 0 });
      expect(seen).toEqual({ calls: 3, status: 429, told: ["1", "1000", null] });
      expect(tookMs).toBeGreaterThanOrEqual(2_000);
      expect(tookMs).toBeLessThan(10_000);
    });

    test("429 with less than a second: Retry-After is never 0, and its milliseconds are obeyed", async () => {
      const id = await limited({ kind: "rpm", amount: 600 });
      const counting = { limit: { ...LIMITS.setCalls, burst: 600 }, subject: `${id}:0` };
      let seen: Seen[] = [];
      // Where the machine is slow the moment has passed before the call comes.
      while (seen[0]?.status !== 429) {
        await world.ctx.limits.giveBack(counting, -600);
        const watching = watched();
        await CLIENTS[name]?.(watching.options);
        seen = watching.seen;
      }
      const [refused, served] = seen;
      expect(refused?.headers.get("retry-after")).toBe("1");
      const waitMs = Number(refused?.headers.get("retry-after-ms"));
      expect(waitMs).toBeGreaterThan(0);
      expect(waitMs).toBeLessThanOrEqual(101);
      expect([seen.length, served?.status]).toEqual([2, 200]);
      expect((served?.atMs ?? 0) - (refused?.atMs ?? 0)).toBeGreaterThanOrEqual(waitMs - 1);
    });

    test.each([
      ["day", 1, 86_400],
      ["rolling_day", 86_400, 88_000],
    ] as const)(
      "429 of calls of a %s, a day to wait at most or at least: one call, at once",
      async (time_window, least, most) => {
        const { tookMs, ...seen } = await given({ kind: "calls", amount: 1, time_window }, ask);
        expect(seen).toMatchObject({ calls: 1, status: 429 });
        const [afterSec, , mayRetry] = seen.told;
        expect(Number(afterSec)).toBeGreaterThanOrEqual(least);
        expect(Number(afterSec)).toBeLessThanOrEqual(most);
        expect(mayRetry).toBe("false");
        expect(tookMs).toBeLessThan(5_000);
      },
    );

    test("400 of what never fits, and 403 of an empty token: one call, at once", async () => {
      const { tookMs, ...seen } = await given({ kind: "cost", amount: 0 });
      expect(seen).toEqual({ calls: 1, status: 400, told: [null, null, null] });
      expect(tookMs).toBeLessThan(5_000);
      await dropLimits(world.ctx);
      const empty = () => world.changeToken({ unlimited_quota: 0, remain_quota: 1 });
      const broke = await given({ kind: "rpm", amount: 600 }, empty);
      expect([broke.calls, broke.status, broke.told]).toEqual([1, 403, [null, null, null]]);
    });
  });

  describe("a budget that is used up until tomorrow", () => {
    test.each(["openai", "anthropic"])("%s gives up at once, however long it is", async (name) => {
      await limited({ kind: "calls", amount: 1, time_window: "day" });
      expect((await ask()).status).toBe(200);
      const { seen, options } = watched();
      await expect(CLIENTS[name]?.(options)).rejects.toMatchObject({ status: 429 });
      expect(seen.map(({ status }) => status)).toEqual([429]);
    });

    test("Vercel's client, which does not read x-should-retry, asks twice more and never waits for tomorrow", async () => {
      await limited({ kind: "calls", amount: 1, time_window: "day" });
      expect((await ask()).status).toBe(200);
      const { seen, options } = watched();
      const begun = performance.now();
      await expect(CLIENTS["Vercel's openai"]?.(options)).rejects.toThrow();
      // Its own pauses, two and four seconds: what is longer than a minute it passes over.
      expect(seen.map(({ status }) => status)).toEqual([429, 429, 429]);
      expect(performance.now() - begun).toBeLessThan(60_000);
    }, 90_000);

    test("in the Messages format it is a rate_limit_error that is not to be repeated, as Claude Code reads it", async () => {
      await limited({ kind: "calls", amount: 1, time_window: "day" });
      await ask();
      const response = await fetch(`${world.url}/v1/messages`, {
        method: "POST",
        headers: { "x-api-key": `sk-${world.token.key}`, "anthropic-version": "2023-06-01" },
        body: JSON.stringify({ model: MODEL, max_tokens: 5, messages, stream: true }),
      });
      expect(response.status).toBe(429);
      expect(response.headers.get("x-should-retry")).toBe("false");
      const afterSec = Number(response.headers.get("retry-after"));
      expect(afterSec).toBeGreaterThan(0);
      expect(afterSec).toBeLessThanOrEqual(86_400);
      expect(await response.json()).toMatchObject({ type: "error", error: { type: "rate_limit_error" } });
    });

    test("Codex shows it as a limit with its time, and does not call again", async () => {
      await limited({ kind: "calls", amount: 1, time_window: "day" });
      await ask();
      const response = await fetch(`${world.url}/v1/responses`, {
        method: "POST",
        headers: { authorization: `Bearer sk-${world.token.key}` },
        body: JSON.stringify({ model: MODEL, input: "hi", stream: true }),
      });
      expect(response.status).toBe(429);
      // Codex reads these two of the body, the second as whole seconds.
      const { error } = await response.json();
      expect(error.type).toBe("usage_limit_reached");
      expect(Number.isInteger(error.resets_at)).toBe(true);
      const leftSec = error.resets_at - Math.floor(Date.now() / 1_000);
      expect(leftSec).toBeGreaterThan(0);
      expect(leftSec).toBeLessThanOrEqual(86_400);
    });
  });

  test("Codex finds in the sentence of a rate how long it has to wait", async () => {
    await limited({ kind: "running", amount: 0 });
    const response = await fetch(`${world.url}/v1/responses`, {
      method: "POST",
      headers: { authorization: `Bearer sk-${world.token.key}` },
      body: JSON.stringify({ model: MODEL, input: "hi", stream: true }),
    });
    const { error } = await response.json();
    expect(error.code).toBe("rate_limit_exceeded");
    // The pattern of openai/codex, codex-api: "try again in", a number, its unit.
    expect(
      /(?:please )?try again in (\d+(?:\.\d+)?)\s*(s|ms|seconds?)/i.exec(error.message)?.slice(1),
    ).toEqual(["1", "s"]);
  });

  test("Anthropic's format tells what is left by Anthropic's names: calls, tokens of both directions", async () => {
    await limited({ kind: "rpm", amount: 60 });
    const own = { subject: "token", subject_id: world.token.id } as const;
    await seedLimit(world.ctx, { ...own, kind: "tpm", amount: 6_000 });
    await seedLimit(world.ctx, { ...own, kind: "input_tpm", amount: 5_000 });
    await seedLimit(world.ctx, { ...own, kind: "output_tpm", amount: 4_000 });
    const { seen, options } = watched();
    await CLIENTS["anthropic"]?.(options);
    const told = [...(seen[0]?.headers ?? [])].filter(([name]) => name.includes("ratelimit"));
    const names = ["requests", "tokens", "input-tokens", "output-tokens"].flatMap((what) =>
      ["limit", "remaining", "reset"].map((part) => `anthropic-ratelimit-${what}-${part}`),
    );
    expect(told.map(([name]) => name).sort()).toEqual(names.sort());
    const byName = Object.fromEntries(told);
    expect(byName).toMatchObject({
      "anthropic-ratelimit-requests-limit": "60",
      "anthropic-ratelimit-requests-remaining": "59",
      "anthropic-ratelimit-output-tokens-limit": "4000",
      "anthropic-ratelimit-output-tokens-remaining": "3995",
    });
    for (const name of names.filter((one) => one.endsWith("reset"))) {
      expect(byName[name]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      expect(Math.abs(Date.parse(byName[name] ?? "") - Date.now())).toBeLessThan(60_000);
    }
  });
});
