// Rules of channels end to end: what arrives is what the preview shows (requirements C32), what is set aside follows (C35), and the client's
// status follows the table alone (C38).
import fc from "fast-check";
import { pino } from "pino";
import { beforeAll, expect, test } from "vitest";
import { Rewrite } from "#contract/rewrite.ts";
import { isLimit } from "#contract/rewrite-law.ts";
import { testChannel } from "#server/channels/probe.ts";
import { Body } from "#server/upstream/call/rewrite-body.ts";
import { placesIn } from "#server/upstream/call/rewrite-lengths.ts";
import { chatReply, json } from "#test/emulators/fake-upstream.ts";
import { limitActions, limitObject } from "#test/seeds/limit-rules.ts";
import { addRuled, expectShown, oneRule, previewer, setRules } from "#test/worlds/channel-rules.ts";
import { CHANNEL_KEY, createRelayWorld, errorOf, MODEL, QUESTION } from "#test/worlds/relay-world.ts";

let said = "";
const sink = {
  write(line: string) {
    said += line;
  },
};
const world = createRelayWorld({ logger: pino({ level: "trace" }, sink) });

let preview: Awaited<ReturnType<typeof previewer>>;
beforeAll(async () => {
  preview = await previewer(world);
});
/** What is set aside for the one call that runs. */
async function setAside(): Promise<number> {
  const { db } = world.ctx;
  const tasks = db.selectFrom("tasks").select("request_id");
  const rows = await db
    .selectFrom("reservations")
    .select("amount")
    .where("request_id", "not in", tasks)
    .execute();
  expect(rows).toHaveLength(1);
  return Number(rows[0]?.amount);
}

/** It names no limit of its output. */
const OPEN = { model: MODEL, messages: QUESTION.messages };

const withRules = (config: unknown) => addRuled(world, config);

/** A request of each kind, which the example channel serves; `more` = it takes any other field. */
const KINDS = {
  chat: { path: "/v1/chat/completions", body: QUESTION, more: true },
  messages: { path: "/v1/messages", body: { ...QUESTION, system: "be kind" }, more: false },
  responses: {
    path: "/v1/responses",
    body: { model: MODEL, input: "hello", max_output_tokens: 9 },
    more: false,
  },
  background: {
    path: "/v1/responses",
    body: { model: MODEL, input: "hello", background: true, max_output_tokens: 9 },
    more: true,
  },
  embeddings: { path: "/v1/embeddings", body: { model: MODEL, input: ["a", "b"] }, more: false },
  images: { path: "/v1/images/generations", body: { model: MODEL, prompt: "a cat" }, more: false },
  videos: { path: "/v1/videos", body: { model: MODEL, prompt: "a cat", seconds: "5" }, more: true },
} as const;
/** Rules of chance that may be saved. */
function rulesOfChance() {
  const name = fc.constantFrom("temperature", "user", "metadata", "stop", "logit_bias", "seed");
  const value = fc.oneof(
    fc.integer(),
    fc.string(),
    fc.boolean(),
    fc.constant(null),
    fc.array(fc.integer(), { maxLength: 3 }),
    fc.constant("{{model}} {{channel_id}} {{header:x-team}}"),
  );
  const path = fc
    .tuple(name, fc.constantFrom("", "/x", "/0", "/-1", "/*"))
    .map(([top, rest]) => `/${top}${rest}`);
  const action = fc.oneof(
    fc.record({ op: fc.constantFrom("set", "default", "append", "prepend"), path, value }),
    fc.record({ op: fc.constant("remove"), path }),
    fc.record({ op: fc.constantFrom("cap", "floor"), path, value: fc.integer() }),
    fc.record({
      op: fc.constant("setHeader"),
      name: fc.constantFrom("x-a", "user-agent"),
      value: fc.constant("v {{model}}"),
    }),
    fc.record({ op: fc.constant("passHeader"), name: fc.constant("x-team") }),
    fc.record({ op: fc.constant("system"), text: fc.string({ minLength: 1 }), before: fc.boolean() }),
  );
  const when = fc.constantFrom(
    undefined,
    { formats: ["chat", "videos"] },
    { lacks: ["/user"] },
    { header: { "x-team": "r*" }, stream: false },
  );
  return fc
    .array(fc.tuple(when, fc.array(action, { minLength: 1, maxLength: 3 })), { minLength: 1, maxLength: 4 })
    .map((list) => ({
      v: 1 as const,
      rules: list.map(([one, actions], index) => ({
        id: `r${index}`,
        ...(one !== undefined && { when: one }),
        do: actions,
      })),
    }))
    .filter((one) => Rewrite.safeParse(one).success);
}

test("what is sent is what the preview shows, for rules and bodies of chance, of each kind", async () => {
  // It knows videos, batches and all texts; the other one keeps responses.
  const ids = new Map<boolean, number>();
  for (const isKept of [false, true]) {
    await world.clearChannels();
    ids.set(isKept, await addRuled(world, {}, { type: isKept ? 1 : 8 }));
  }
  await world.setOption("ResponsesStateEnabled", "true");
  const { ctx } = world;
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  world.upstream.script((res, asked) => {
    const { path } = asked;
    if (path.endsWith("/embeddings"))
      return json({ object: "list", data: [{ index: 0, embedding: [0.5] }], usage: { prompt_tokens: 1 } })(
        res,
        asked,
      );
    if (path.endsWith("/generations")) return json({ created: 1, data: [{ b64_json: "aa" }] })(res, asked);
    if (path.endsWith("/videos")) return json({ id: "up", status: "queued" })(res, asked);
    if (path.endsWith("/responses"))
      return json({ id: "resp_1", object: "response", status: "completed", model: MODEL, output: [], usage })(
        res,
        asked,
      );
    return json(chatReply("hi"))(res, asked);
  });
  const name = fc.constantFrom("temperature", "user", "metadata", "stop", "logit_bias", "seed");
  const more = fc.dictionary(
    name,
    fc.oneof(fc.integer(), fc.string(), fc.object({ maxDepth: 1 }), fc.array(fc.integer())),
    { maxKeys: 4 },
  );
  const kind = fc.constantFrom(...(Object.keys(KINDS) as (keyof typeof KINDS)[])); // as they stand there
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(kind, rulesOfChance(), more, async (asks, made, fields) => {
      const { path, body: usual, more: isFree } = KINDS[asks];
      const { metadata: _metadata, ...plain } = fields;
      // A video's metadata are what its vendor takes.
      const body = JSON.stringify({ ...(isFree && (asks === "videos" ? plain : fields)), ...usual });
      const isKept = asks === "background";
      const id = ids.get(isKept) ?? expect.fail("no channel");
      await ctx.db.updateTable("channels").set({ deleted_at: 1 }).execute();
      await ctx.db.updateTable("channels").set({ deleted_at: 0 }).where("id", "=", id).execute();
      await setRules(world, id, { rewrite: made });
      const format = isKept ? "responses" : asks;
      const asked = { id, rewrite: made, format, body, headers: { "X-Team": "red" } };
      const shown = await preview(asked);
      world.upstream.journal.length = 0;
      const told = await world.ask(body, { path, headers: { "x-team": "red" } });
      const [sent] = world.upstream.journal;
      expect(sent?.text, `${asks}: ${await told.text()}`).toBe(shown.after);
      if (sent !== undefined) expectShown(sent, shown);
      seen.add(asks);
    }),
    { numRuns: 200, seed: 32 },
  );
  expect(seen.size).toBe(Object.keys(KINDS).length);
}, 120_000);

test("a rule that raises the limit of output is set aside; the charge is what was used", async () => {
  await withRules(oneRule({ op: "set", path: "/max_tokens", value: 1_000 }));
  let reserved = 0;
  world.upstream.script(async (res, asked) => {
    reserved = await setAside();
    return json(chatReply("hi"))(res, asked);
  });
  const { charged, log } = await world.costOf(async () => {
    expect((await world.ask({ ...QUESTION, max_tokens: 5 })).status).toBe(200);
  });
  expect(world.upstream.journal.at(-1)?.json.max_tokens).toBe(1_000);
  // Ratio 15, completion 2: a thousand tokens of output are 30,000.
  expect(reserved).toBeGreaterThan(29_000);
  const { prompt_tokens: prompt = 0, completion_tokens: completion = 0 } = log ?? {};
  expect([charged > 0, charged]).toEqual([true, (prompt + completion * 2) * 15]);
});

test("no limit of output that leaves is above what was set aside, whatever rules are stored (requirements C35)", async () => {
  const id = await withRules({});
  // Ratio 15, completion 2.
  const PRICE = 30;
  let raised = 0;
  const sent: { readonly reserved: number; readonly limits: readonly number[] }[] = [];
  world.upstream.script(async (res, asked) => {
    const reserved = await setAside();
    const body = Body.of(Buffer.from(asked.text)) ?? expect.fail("no body");
    const limits = placesIn(body).map((place) => body.read(place));
    sent.push({ reserved, limits: limits.filter(isLimit) });
    return json(chatReply("hi"))(res, asked);
  });
  const own = fc.constantFrom(undefined, 0, 5, 200);
  await fc.assert(
    fc.asyncProperty(limitActions, own, limitObject, async (actions, maxTokens, options) => {
      await setRules(world, id, oneRule(...actions));
      sent.length = 0;
      const limit = maxTokens === undefined ? {} : { max_tokens: maxTokens };
      const told = await world.ask({ ...OPEN, metadata: options, ...limit });
      expect([told.status, sent.length]).toEqual([200, 1]);
      const [{ reserved = 0, limits = [] } = {}] = sent;
      raised += Number(Math.max(0, ...limits) > 60_000);
      expect(Math.max(0, ...limits) * PRICE).toBeLessThanOrEqual(reserved);
    }),
    { numRuns: 150, seed: 35 },
  );
  expect(raised).toBeGreaterThan(2);
}, 60_000);

test("a call that names no limit sets aside what a rule asks for", async () => {
  await withRules(oneRule({ op: "default", path: "/max_tokens", value: 20_000 }));
  let reserved = 0;
  world.upstream.script(async (res, asked) => {
    reserved = await setAside();
    return json(chatReply("hi"))(res, asked);
  });
  expect((await world.ask(OPEN)).status).toBe(200);
  expect(world.upstream.journal.at(-1)?.json.max_tokens).toBe(20_000);
  expect(reserved).toBeGreaterThanOrEqual(20_000 * 30);
});

test("a stored rule that names the key tells it to nobody: not in a refusal, a body or a preview (requirements C36)", async () => {
  const told = "k {{key}} {{header:authorization}} {{header:sec-websocket-protocol}}";
  const canary = `openai-insecure-api-key.${world.token.key}`;
  const headers = { "sec-websocket-protocol": canary };
  const refusing = { op: "refuse", status: 422, code: "no", message: told };
  const id = await withRules(oneRule(refusing));
  const refused = await (await world.ask(QUESTION, { headers })).text();
  expect(refused).toContain("k {{key}}");
  expect(refused).not.toMatch(new RegExp(`${CHANNEL_KEY}|${world.token.key}`));
  const saying = oneRule({ op: "system", text: told }, { op: "set", path: "/user", value: told });
  await setRules(world, id, saying);
  world.upstream.script(json(chatReply("hi")));
  expect((await world.ask(QUESTION, { headers })).status).toBe(200);
  const sent = world.upstream.journal.at(-1)?.text ?? "";
  expect(sent).toContain("k {{key}}");
  expect(sent).not.toMatch(new RegExp(`${CHANNEL_KEY}|${world.token.key}`));
  // It cannot be saved any more, nor looked at before.
  const asked = { id, format: "chat", body: JSON.stringify(QUESTION) };
  for (const config of [oneRule(refusing), saying])
    await expect(preview({ ...asked, ...config })).rejects.toThrow("{{key}} 只能用在请求头里");
});

test("a key that a rule puts in a header is masked when the upstream echoes it, in the answer and in the log (requirements C36)", async () => {
  await withRules(oneRule({ op: "setHeader", name: "x-key", value: "k-{{key}}" }));
  said = "";
  world.upstream.script((res, asked) => {
    const message = `wrong key ${asked.headers["x-key"]}`;
    return json({ error: { message, type: "invalid_request_error", code: "bad" } }, 400)(res, asked);
  });
  const text = await (await world.ask(QUESTION)).text();
  expect(world.upstream.journal.at(-1)?.headers["x-key"]).toBe(`k-${CHANNEL_KEY}`);
  expect(text).toContain("wrong key k-");
  const row = () =>
    world.ctx.db.selectFrom("logs").select(["content", "trail"]).orderBy("id", "desc").executeTakeFirst();
  await expect.poll(async () => (await row())?.trail).toContain("upstream_400");
  for (const told of [text, said, JSON.stringify(await row())]) {
    expect(told).not.toBe("");
    expect(told).not.toContain(CHANNEL_KEY);
  }
});

test("a rule may refuse, a test of the channel uses the rules, and a model's name cannot be got at", async () => {
  const id = await withRules(
    oneRule(
      { op: "setHeader", name: "x-team", value: "gate" },
      { op: "set", path: "/user", value: "u-{{user_hash}}" },
    ),
  );
  world.upstream.script(json(chatReply("hi")));
  const live = world.ctx.candidates.byId(id) ?? expect.fail("no channel");
  expect(await testChannel(world.ctx, live)).toMatchObject({ ok: true });
  expect(world.upstream.journal.at(-1)?.headers["x-team"]).toBe("gate");
  expect((await world.ask(QUESTION)).status).toBe(200);
  expect(world.upstream.journal.at(-1)?.json.user).toMatch(/^u-[0-9a-f]{16}$/);
  await world.clearChannels();
  await withRules(oneRule({ op: "refuse", status: 422, code: "no_json_mode", message: "没有 JSON 模式" }));
  expect(await errorOf(await world.ask(QUESTION))).toMatchObject({ status: 422, code: "no_json_mode" });
  // Rules that cannot be read end the channel: what they kept away would go out.
  await world.clearChannels();
  const broken = await withRules(oneRule({ op: "set", path: "/model", value: "x" }));
  expect(world.ctx.candidates.byId(broken)).toBeUndefined();
});

test("the table of statuses is for the client alone", async () => {
  await withRules({ status_map: { "429": 503, "400": 418 } });
  world.upstream.script(
    json({ error: { message: "slow down", type: "rate_limit_error", code: "rate_limit" } }, 429),
  );
  expect((await world.ask(QUESTION)).status).toBe(503);
  await world.clearChannels();
  await withRules({ status_map: { "400": 418 } });
  world.upstream.script(json({ error: { message: "bad", type: "invalid_request_error", code: "bad" } }, 400));
  expect((await errorOf(await world.ask({ ...QUESTION, model: MODEL }))).status).toBe(418);
  world.upstream.script(json({ error: { message: "bad", type: "invalid_request_error", code: "bad" } }, 422));
  expect((await world.ask(QUESTION)).status).toBe(422);
});
