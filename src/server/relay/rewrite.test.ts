// Rules of channels end to end: what arrives is what the preview shows (requirements C32), what is set aside follows (C35), and the client's
// status follows the table alone (C38).
import fc from "fast-check";
import { expect, test } from "vitest";
import type { RewritePreview } from "#contract/channel.ts";
import { Rewrite } from "#contract/rewrite.ts";
import { createApi } from "#server/api/mount.ts";
import { testChannel } from "#server/channels/probe.ts";
import { chatReply, json } from "#test/emulators/fake-upstream.ts";
import { seedUser } from "#test/seeds/seed.ts";
import { CHANNEL_KEY, createRelayWorld, errorOf, MODEL, QUESTION } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();

async function withRules(config: unknown): Promise<number> {
  const id = await world.addChannel();
  const { db, candidates } = world.ctx;
  await db
    .updateTable("channels")
    .set({ config: JSON.stringify(config) })
    .where("id", "=", id)
    .execute();
  await candidates.reload();
  return id;
}

const rewrite = (...actions: readonly unknown[]) => ({
  rewrite: { v: 1, rules: [{ id: "r", do: actions }] },
});

test("what is sent is what the preview shows, for rules and bodies of chance", async () => {
  const id = await withRules({});
  const { ctx } = world;
  const api = createApi(ctx);
  const admin = await seedUser(ctx, "previewer", { role: 10 });
  world.upstream.script(json(chatReply("hi")));
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
  const rules = fc
    .array(fc.array(action, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 })
    .map((list) => ({
      v: 1 as const,
      rules: list.map((actions, index) => ({ id: `r${index}`, do: actions })),
    }))
    .filter((one) => Rewrite.safeParse(one).success);
  const more = fc.dictionary(
    name,
    fc.oneof(fc.integer(), fc.string(), fc.object({ maxDepth: 1 }), fc.array(fc.integer())),
    { maxKeys: 4 },
  );
  await fc.assert(
    fc.asyncProperty(rules, more, async (made, fields) => {
      const body = JSON.stringify({ ...QUESTION, ...fields });
      await ctx.db
        .updateTable("channels")
        .set({ config: JSON.stringify({ rewrite: made }) })
        .where("id", "=", id)
        .execute();
      await ctx.candidates.reload();
      const asked = { id, type: 8, rewrite: made, format: "chat", body, headers: { "X-Team": "red" } };
      const response = await api.request("/api/channel/rewrite/preview", {
        method: "POST",
        headers: { ...admin.who, "content-type": "application/json" },
        body: JSON.stringify(asked),
      });
      const answer = (await response.json()) as { message: string; data: RewritePreview }; // as the contract says
      expect(answer.message).toBe("");
      world.upstream.journal.length = 0;
      await world.ask(JSON.parse(body), { headers: { "x-team": "red" } });
      const [sent] = world.upstream.journal;
      expect(sent?.text).toBe(answer.data.after);
      for (const { name: header, value: shown } of answer.data.headers)
        expect(sent?.headers[header.toLowerCase()]).toBe(shown.replace("***", CHANNEL_KEY));
      expect(JSON.stringify(answer)).not.toContain(CHANNEL_KEY);
    }),
    { numRuns: 60 },
  );
}, 60_000);

test("a rule that raises the limit of output is set aside; the charge is what was used", async () => {
  await withRules(rewrite({ op: "set", path: "/max_tokens", value: 1_000 }));
  let reserved = 0;
  world.upstream.script(async (res, asked) => {
    const rows = await world.ctx.db.selectFrom("reservations").selectAll().execute();
    reserved = Number(rows[0]?.amount ?? 0);
    return json(chatReply("hi"))(res, asked);
  });
  expect((await world.ask({ ...QUESTION, max_tokens: 5 })).status).toBe(200);
  expect(world.upstream.journal.at(-1)?.json.max_tokens).toBe(1_000);
  // Ratio 15, completion 2: a thousand tokens of output are 30,000.
  expect(reserved).toBeGreaterThan(29_000);
});

test("a rule may refuse, a test of the channel uses the rules, and a model's name cannot be got at", async () => {
  const id = await withRules(
    rewrite(
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
  await withRules(rewrite({ op: "refuse", status: 422, code: "no_json_mode", message: "没有 JSON 模式" }));
  expect(await errorOf(await world.ask(QUESTION))).toMatchObject({ status: 422, code: "no_json_mode" });
  // Rules that cannot be read end the channel: what they kept away would go out.
  await world.clearChannels();
  const broken = await withRules(rewrite({ op: "set", path: "/model", value: "x" }));
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
