// Rules of routing by condition, end to end: which channel is called, and what is said where a rule leaves none (requirements C44).
import { afterEach, describe, expect, it } from "vitest";
import type { RouteRule } from "#contract/route-rule.ts";
import { checkLedger } from "#server/money/ledger-check.ts";
import { parseDecision } from "#server/store/failed-attempts.ts";
import { chatReply, json } from "#test/emulators/fake-upstream.ts";
import { seedToken } from "#test/seeds/seed.ts";
import { createRelayWorld, errorOf, MODEL, QUESTION } from "#test/worlds/relay-world.ts";
import { moveToken, seedMember, seedTeam } from "#test/worlds/teams.ts";

const world = createRelayWorld();

/** Two channels of the same priority, by name. */
async function twoChannels(): Promise<{ one: number; two: number }> {
  world.upstream.script(json(chatReply("hi")));
  const one = await world.addChannel({ priority: 2 });
  return { one, two: await world.addChannel({ priority: 1 }) };
}
const rules = (list: readonly RouteRule[]) => world.setOption("RouteRules", JSON.stringify(list));
/** The channel that a call of the caller went to. */
async function served(question: object = QUESTION, key = world.token.key): Promise<number> {
  const response = await world.ask(question, { key });
  expect(response.status).toBe(200);
  await response.text();
  return (await world.money()).log?.channel_id ?? 0;
}

afterEach(() => rules([]));

describe("a rule", () => {
  it("for a model sends its calls to its channels alone, the first that applies", async () => {
    const { one, two } = await twoChannels();
    expect(await served()).toBe(one);
    await rules([
      { name: "others", models: ["claude-*"], only: [one] },
      { name: "mine", models: [`${MODEL.slice(0, 3)}*`], only: [two] },
      { name: "late", avoid: [two] },
    ]);
    expect(await served()).toBe(two);
    await rules([{ name: "late", avoid: [one] }]);
    expect(await served()).toBe(two);
  });

  it("for a size looks at the request's body", async () => {
    const { one, two } = await twoChannels();
    await rules([
      { name: "long", kib_over: 4, only: [two] },
      { name: "short", kib_up_to: 4, only: [one] },
    ]);
    expect(await served()).toBe(one);
    const long = { ...QUESTION, messages: [{ role: "user", content: "x".repeat(5_000) }] };
    expect(await served(long)).toBe(two);
  });

  it("for a group or a team is not for others", async () => {
    const { one, two } = await twoChannels();
    await rules([
      { name: "group", groups: ["vip"], only: [two] },
      { name: "team", teams: [1], only: [two] },
    ]);
    expect(await served()).toBe(one);
    await rules([{ name: "group", groups: ["vip", "default"], only: [two] }]);
    expect(await served()).toBe(two);
  });

  it("for a team is for its tokens alone, not for its members' own", async () => {
    const { one, two } = await twoChannels();
    const { db, ledger } = world.ctx;
    const { teamId, walletId } = await seedTeam(db, ledger, { quota: 10n ** 9n });
    await seedMember(db, world.userId, walletId);
    const ofTeam = await seedToken(world.ctx, world.userId);
    await moveToken(db, ofTeam.id, { wallet_id: walletId });
    await rules([{ name: "team", teams: [teamId], only: [two] }]);
    expect(await served(QUESTION, ofTeam.key)).toBe(two);
    expect(await served()).toBe(one);
    await rules([{ name: "others", teams: [teamId + 1], only: [two] }]);
    expect(await served(QUESTION, ofTeam.key)).toBe(one);
    await rules([{ name: "none", teams: [teamId], avoid: [one, two] }]);
    expect((await world.ask(QUESTION, { key: ofTeam.key })).status).toBe(503);
    expect(await served()).toBe(one);
    expect(await checkLedger(db)).toEqual([]);
  });

  it("holds for every try: where its channel fails no other is called", async () => {
    const { two } = await twoChannels();
    await world.setOption("RetryTimes", "3");
    await rules([{ name: "only two", only: [two] }]);
    world.upstream.script(json({ error: { message: "no" } }, 500));
    world.upstream.journal.length = 0;
    expect((await world.ask(QUESTION)).status).toBe(500);
    expect(world.upstream.journal).toHaveLength(1);
  });
});

describe("a rule that leaves no channel", () => {
  it("is named to administrators alone", async () => {
    const { one } = await twoChannels();
    await rules([{ name: "暗号规则", only: [one + 1_000] }]);
    const refused = await world.ask(QUESTION);
    expect(refused.status).toBe(503);
    const told = await errorOf(refused);
    expect(told).toMatchObject({ code: "no_available_channel" });
    expect(JSON.stringify(told)).not.toContain("暗号规则");
    await world.ctx.db.updateTable("users").set({ role: 10 }).where("id", "=", world.userId).execute();
    await world.ctx.coord.publish("users", String(world.userId));
    await expect
      .poll(async () => {
        const response = await world.ask(QUESTION);
        expect(response.status).toBe(503);
        return errorOf(response);
      })
      .toMatchObject({ code: "route_rule_empty", message: expect.stringContaining("暗号规则") });
    const newest = () =>
      world.ctx.db.selectFrom("logs").select("trail").orderBy("id", "desc").executeTakeFirst();
    await expect.poll(async () => parseDecision((await newest())?.trail ?? "")).toMatch(/^default\/w\/\d+u/);
  });
});
