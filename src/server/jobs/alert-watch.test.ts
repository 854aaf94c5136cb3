// What lasts and no other part of the server tells of: channels, balances, the disk (requirements I50).
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fakeClock } from "#server/clock.ts";
import { insertAlertTarget, insertDeliveries, listConditions, listDeliveries } from "#server/store/alerts.ts";
import { startHttpEmulator } from "#test/emulators/http-emulator.ts";
import { createAppOn, databases, type TestApp } from "#test/worlds/app.ts";
import { seedChannel } from "#test/worlds/stores.ts";
import { alertWatch, channelBalances } from "./alert-watch.ts";

describe.each(databases)("the watch on $name", (database) => {
  const clock = fakeClock();
  let app: TestApp;

  beforeAll(async () => {
    app = await createAppOn(database, { clock });
    await app.ctx.options.set("DiskFreeThreshold", "0");
  });
  afterAll(() => app.close());

  /** What lasts after a look, by event. */
  async function look(): Promise<string[]> {
    await alertWatch.run(app.ctx);
    await app.ctx.alerts.idle();
    return (await listConditions(app.ctx.db)).map(({ event, about }) => `${event} ${about}`).sort();
  }
  const change = (id: number, columns: object) =>
    app.ctx.db.updateTable("channels").set(columns).where("id", "=", id).execute();

  test("a disk with less free than the threshold, until there is more", async () => {
    expect(await look()).toEqual([]);
    await app.ctx.options.set("DiskFreeThreshold", "100");
    expect(await look()).toEqual(["disk_low disk"]);
    await app.ctx.options.set("DiskFreeThreshold", "0");
    expect(await look()).toEqual([]);
  });

  test("channels that were disabled by themselves, until they are not", async () => {
    const id = await seedChannel(app.ctx.db, { status: 3, status_reason: "401" });
    const other = await seedChannel(app.ctx.db, { status: 2 });
    expect(await look()).toEqual([`channel_disabled channel ${id}`]);
    await change(id, { status: 1 });
    expect(await look()).toEqual([]);
    // One that is removed is no trouble any more.
    await change(other, { status: 3 });
    expect(await look()).toHaveLength(1);
    await change(other, { deleted_at: clock.seconds() });
    expect(await look()).toEqual([]);
  });

  test("balances below ChannelBalanceThreshold, of channels that were asked", async () => {
    await app.ctx.options.set("ChannelBalanceThreshold", "5");
    const id = await seedChannel(app.ctx.db, { balance: 4.99, balance_updated_time: 0 });
    expect(await look()).toEqual([]);
    await change(id, { balance_updated_time: clock.seconds() });
    expect(await look()).toEqual([`balance_low channel ${id}`]);
    await change(id, { balance: 5 });
    expect(await look()).toEqual([]);
    await change(id, { balance: 0 });
    expect(await look()).toHaveLength(1);
    await app.ctx.options.set("ChannelBalanceThreshold", "0");
    expect(await look()).toEqual([]);
  });

  test("messages are kept for 30 days, those that wait for as long as they do", async () => {
    const now = clock.seconds();
    const blank = { settings: '{"events":[]}', address_sealed: "", secret_sealed: "" };
    const times = { created_at: now, updated_at: now };
    const target_id = await insertAlertTarget(app.ctx.db, {
      ...{ kind: "mail", name: "x", is_enabled: 0, ...blank, ...times },
    });
    const told = { target_id, event: "test", about: "", level: "info", title: "t", content: "" } as const;
    const row = { ...told, tries: 0, problem: "", next_ms: 0, done_at: 0 };
    const old = now - 31 * 86_400;
    await insertDeliveries(app.ctx.db, [
      { ...row, state: "sent", created_at: old },
      { ...row, state: "waiting", created_at: old },
      { ...row, state: "failed", created_at: now },
    ]);
    await look();
    const { rows } = await listDeliveries(app.ctx.db, { page: 0, size: 10, target: target_id });
    expect(rows.map(({ state }) => state)).toEqual(["failed", "waiting"]);
  });

  test("balances are asked for as often as the operator says", async () => {
    expect(channelBalances.periodMs({ ...app.ctx.config, channelBalanceFrequencyMs: 0 })).toBe(0);
    const provider = await startHttpEmulator(({ path }) => ({
      json: path.endsWith("/subscription") ? { hard_limit_usd: 3 } : { total_usage: 100 },
    }));
    const id = await seedChannel(app.ctx.db, {
      type: 8,
      base_url: provider.url,
      key_hash: app.ctx.secrets.hash("sk-balance"),
      key_sealed: app.ctx.secrets.seal("sk-balance", "channels.key"),
    });
    await app.ctx.coord.publish("channels", "");
    await app.ctx.candidates.pending;
    await channelBalances.run(app.ctx);
    const balance = () =>
      app.ctx.db.selectFrom("channels").select("balance").where("id", "=", id).executeTakeFirst();
    await expect.poll(balance).toEqual({ balance: 2 });
    await provider.close();
  });
});
