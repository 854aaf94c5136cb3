import { expect, test, vi } from "vitest";
import { fakeClock } from "#server/clock.ts";
import { createTestApp } from "#test/worlds/app.ts";
import { createPostgresDatabase } from "#test/worlds/postgres.ts";
import { seedChannel } from "#test/worlds/stores.ts";
import { createLogger } from "./log.ts";

test("a model that only the fallback prices is named in the log, once an hour", async () => {
  const clock = fakeClock();
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const logger = createLogger({ logLevel: "warn", pretty: false, now: clock.now, destination });
  const { ctx, close } = await createTestApp({ clock, logger });
  const find = (model: string) => ctx.prices().find(model, model, "default");
  const named = () => lines.splice(0).map((line) => [JSON.parse(line).level, JSON.parse(line).model]);
  expect([find("gpt-4"), find("nobody-knows")]).toEqual([expect.anything(), undefined]);
  expect(named()).toEqual([]);
  await ctx.options.set("FallbackModelRatio", "30");
  for (const model of ["nobody-knows", "gpt-4", "nobody-knows", "another", "another"]) find(model);
  expect(named()).toEqual([
    ["warn", "nobody-knows"],
    ["warn", "another"],
  ]);
  clock.advance(3_599_999);
  await ctx.options.set("FallbackModelRatio", "31");
  find("nobody-knows");
  expect(named()).toEqual([]);
  clock.advance(1);
  find("nobody-knows");
  expect(named()).toEqual([["warn", "nobody-knows"]]);
  await close();
});

test("no channel may lead to our own port or the database's, whatever else on this machine is allowed", async () => {
  const { url, drop } = await createPostgresDatabase();
  const { ctx, close } = await createTestApp({
    databaseUrl: url,
    env: { EGRESS_ALLOW: "127.0.0.0/8", PORT: "3456" },
  });
  const judged = (port: number | string) => ctx.egress.judge(`http://127.0.0.1:${port}`);
  for (const port of [3456, new URL(url).port]) expect(judged(port)).toEqual({ refusal: "不允许访问该地址" });
  expect(judged(6379)).toHaveProperty("url");
  await close();
  await drop();
});

test("the connections of a channel that has changed are forgotten, once", async () => {
  const { ctx, close } = await createTestApp();
  const id = await seedChannel(ctx.db, {
    key_hash: ctx.secrets.hash("sk-key"),
    key_sealed: ctx.secrets.seal("sk-key", "channels.key"),
  });
  await ctx.candidates.reload();
  expect(ctx.candidates.byId(id)).toBeDefined();
  const forget = vi.spyOn(ctx.egress, "forget");
  await ctx.db
    .updateTable("channels")
    .set({ base_url: "http://other.example" })
    .where("id", "=", id)
    .execute();
  await ctx.candidates.reload();
  expect(forget.mock.calls).toEqual([[`channel ${id}`]]);
  await close();
});
