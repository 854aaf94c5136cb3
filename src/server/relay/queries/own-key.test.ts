// What a key reads of itself, over real HTTP (requirements L11).
import { beforeEach, expect, test } from "vitest";
import { seedToken } from "#test/seeds/seed.ts";
import { dropLimits, seedLimit } from "#test/worlds/limits.ts";
import { createRelayWorld, QUESTION } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();
beforeEach(() => dropLimits(world.ctx));

/** Answers of these paths are JSON of known form; a test that gets another fails on its first look. */
async function read(path: string, key = world.token.key) {
  const answer = await fetch(world.url + path, { headers: { authorization: `Bearer sk-${key}` } });
  return { status: answer.status, body: JSON.parse(await answer.text()) };
}

test("a key reads balance and its own windows after a call, in each form", async () => {
  await world.addChannel();
  await world.changeToken({ unlimited_quota: 0, remain_quota: 1_000_000 });
  await seedLimit(world.ctx, {
    subject: "token",
    subject_id: world.token.id,
    kind: "quota",
    amount: 500_000,
    time_window: "day",
  });
  await seedLimit(world.ctx, { subject: "all", kind: "quota", amount: 9_000_000 });
  const { charged } = await world.costOf(async () => (await world.ask(QUESTION)).text());
  expect(charged).toBeGreaterThan(0);
  const key = await read("/v1/key");
  expect(key.body.data).toMatchObject({
    limit: 2,
    limit_remaining: (1_000_000 - charged) / 500_000,
    usage: charged / 500_000,
  });
  // Not what everybody together uses.
  expect(key.body.data.windows).toMatchObject([
    { scope: "token", window: "day", limit: 500_000, used: charged, remaining: 500_000 - charged },
  ]);
  expect(key.body.data.windows[0].resets_at).toBeGreaterThan(world.ctx.clock.seconds());
  expect((await read("/v1/usage")).body).toMatchObject({ used: charged, remaining: 1_000_000 - charged });
  expect((await read("/api/usage/token")).body).toMatchObject({
    code: true,
    data: {
      total_granted: 1_000_000,
      total_used: charged,
      total_available: 1_000_000 - charged,
      windows: [
        { scope: "token", window: "day", limit: 500_000, used: charged, remaining: 500_000 - charged },
      ],
    },
  });
});

test.each([
  [{ status: 4, remain_quota: 0, unlimited_quota: 0 }, 200],
  [{ status: 3, expired_time: 1 }, 200],
  [{ status: 2 }, 401],
  [{ subnet: "192.0.2.0/24" }, 403],
] as const)("of a key that is %j: %d", async (change, status) => {
  await world.changeToken(change);
  for (const path of ["/v1/key", "/v1/usage", "/api/usage/token"])
    expect((await read(path)).status, path).toBe(status);
});

test("an unknown key is refused, a key of the relay opens nothing else below /api, and others' names are not told", async () => {
  const other = await seedToken(world.ctx, world.userId, "somebody-else");
  expect(other.id).not.toBe(world.token.id);
  expect((await read("/v1/key", "nobody")).status).toBe(401);
  for (const path of ["/v1/key", "/v1/usage", "/api/usage/token"])
    expect(JSON.stringify((await read(path)).body)).not.toMatch(/somebody-else|caller/);
});

test("30 times in a minute, each key by itself", async () => {
  const statuses = [];
  for (let turn = 0; turn < 31; turn += 1) statuses.push((await read("/v1/usage")).status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(30);
  expect(statuses.at(-1)).toBe(429);
  const other = await seedToken(world.ctx, world.userId, "second");
  expect((await read("/v1/usage", other.key)).status).toBe(200);
});
