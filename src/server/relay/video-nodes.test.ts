// Two nodes of one PostgreSQL look after the same videos: one of them asks, one settlement comes of it (requirements C52).
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { checkLedger } from "#server/money/ledger-check.ts";
import { pollTasks } from "#server/tasks/poll.ts";
import { createFakeUpstream, type FakeUpstream, json } from "#test/emulators/fake-upstream.ts";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createTestApp, type TestApp } from "#test/worlds/app.ts";
import { createPostgresDatabase, type PostgresDatabase } from "#test/worlds/postgres.ts";
import { ORDER, read, VIDEO_MODEL, VIDEO_PRICE } from "#test/worlds/video-world.ts";

const MASTER_KEY = "one master key for both nodes of the test";
const PATIENCE = { timeout: 10_000 };
const VIDEOS = 12;

let database: PostgresDatabase;
let upstream: FakeUpstream;
const apps: TestApp[] = [];
const urls: string[] = [];

beforeAll(async () => {
  database = await createPostgresDatabase();
  upstream = await createFakeUpstream();
  for (let node = 0; node < 2; node += 1) {
    const app = await createTestApp({ databaseUrl: database.url, env: { MASTER_KEY } });
    apps.push(app);
    urls.push(await app.listen());
  }
  const draft = {
    type: 8,
    name: "c",
    key: "k",
    base_url: upstream.url,
    models: VIDEO_MODEL,
    group: "default",
  };
  await first().call(asRoot, "POST", "/api/channel/", draft);
  await first().ctx.options.set("ModelRatio", JSON.stringify({ [VIDEO_MODEL]: 50 }));
  for (const { ctx } of apps)
    await vi.waitFor(() => {
      expect(ctx.candidates.find("default", VIDEO_MODEL)).toHaveLength(1);
      expect(ctx.options.get("ModelRatio")).toMatchObject({ [VIDEO_MODEL]: 50 });
    }, PATIENCE);
});
afterAll(async () => {
  for (const app of apps) await app.close();
  await upstream.close();
  await database.drop();
});

function first(): TestApp {
  return apps[0] ?? expect.fail();
}

test("submitted on one, done on either, seen on both, booked once each", async () => {
  const { ctx } = first();
  const { id: userId } = await seedUser(ctx, "maker");
  const quota = { delta: 10n ** 9n };
  await ctx.ledger.adjust({ userId, kind: "grant", quota, actorId: 1, reason: "test" });
  const { key } = await seedToken(ctx, userId);
  const headers = { authorization: `Bearer sk-${key}`, "content-type": "application/json" };
  upstream.script(json({ id: "up", status: "queued" }));
  const ids: string[] = [];
  for (let n = 0; n < VIDEOS; n += 1) {
    const init = { method: "POST", headers, body: JSON.stringify(ORDER) };
    ids.push((await read(await fetch(`${urls[n % 2]}/v1/videos`, init))).id);
  }
  const open = await ctx.db.selectFrom("reservations").select("node").execute();
  expect(open).toEqual(Array(VIDEOS).fill({ node: "kept" }));
  upstream.script(json({ id: "up", status: "completed" }));
  const asked = upstream.journal.length;
  await ctx.db.updateTable("tasks").set({ next_at: 0 }).execute();
  const look = (id: string, n: number) => fetch(`${urls[n % 2]}/v1/videos/${id}`, { headers });
  await Promise.all([...apps, ...apps].map((app) => pollTasks(app.ctx)).concat(ids.map(look) as never[]));
  // What one of them had in its turn while the other looked.
  await expect
    .poll(async () => {
      for (const app of apps) await pollTasks(app.ctx);
      return Promise.all(ids.map(async (id, n) => (await read(await look(id, n + 1))).status));
    }, PATIENCE)
    .toEqual(Array(VIDEOS).fill("completed"));
  expect(upstream.journal.length - asked).toBe(VIDEOS);
  const entries = await ctx.db.selectFrom("ledger").select("amount").where("kind", "=", "consume").execute();
  expect(entries).toEqual(Array(VIDEOS).fill({ amount: -VIDEO_PRICE }));
  expect(await ctx.db.selectFrom("reservations").selectAll().execute()).toEqual([]);
  expect(await checkLedger(ctx.db)).toEqual([]);
});
