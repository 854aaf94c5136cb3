// Two nodes of one PostgreSQL look after the same videos: one of them asks, one settlement comes of it (requirements C52).
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkLedger } from "#server/money/ledger-check.ts";
import { pollTasks } from "#server/tasks/poll.ts";
import { createFakeUpstream, type FakeUpstream, json } from "#test/emulators/fake-upstream.ts";
import { PATIENCE } from "#test/worlds/nodes.ts";
import { severalNodes } from "#test/worlds/several-nodes.ts";
import { ORDER, read, VIDEO_MODEL, VIDEO_PRICE } from "#test/worlds/video-world.ts";

const VIDEOS = 12;

let upstream: FakeUpstream;
const nodes = severalNodes(2);
const { apps, urls, node } = nodes;

beforeAll(async () => {
  upstream = await createFakeUpstream();
  await nodes.addChannel(VIDEO_MODEL, { base_url: upstream.url });
  await nodes.set("ModelRatio", JSON.stringify({ [VIDEO_MODEL]: 50 }));
});
afterAll(() => upstream.close());

test("submitted on one, done on either, seen on both, booked once each", async () => {
  const { ctx } = node(0);
  const { key } = await nodes.newcomer("maker");
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
