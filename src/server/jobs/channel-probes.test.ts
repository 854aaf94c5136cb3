// Channels that were disabled by themselves are asked again on a schedule and come back, on both databases (requirements C64).
import { beforeEach, describe, expect, test, vi } from "vitest";
import { sealProxy } from "#server/channels/proxies.ts";
import { LAST_KEY } from "#server/store/channel-keys.ts";
import type { NewChannel } from "#server/store/channels.ts";
import { chatReply, json } from "#test/emulators/fake-upstream.ts";
import { startHttpProxy } from "#test/emulators/proxies.ts";
import { databases } from "#test/worlds/app.ts";
import { channelWorld } from "#test/worlds/channel-world.ts";
import { channelProbes } from "./channel-probes.ts";

const MINUTE = 60;
const HOUR = 3_600;
const BY_ITSELF = 3;
const refusal = json({ error: { message: "no", code: "invalid_api_key" } }, 401);

describe.each(databases)("channels that were disabled by themselves on $name", (database) => {
  const world = channelWorld(database);
  const { set, row } = world;
  let nowSec: number;

  beforeEach(async () => {
    for (const table of ["channels", "logs"] as const) await world.app.ctx.db.deleteFrom(table).execute();
    world.upstream.script(json(chatReply("hi")));
    await set("AutomaticEnableChannelEnabled", "true");
    await set("ChannelProbeMinutes", "10");
    await set("ChannelProbeMaxHours", "24");
    await set("ChannelProbesPerRound", "5");
    await set("ChannelDisableThreshold", "5");
    nowSec = world.app.ctx.clock.seconds();
    vi.spyOn(world.app.ctx.clock, "seconds").mockImplementation(() => nowSec);
  });

  const run = () => channelProbes.run(world.app.ctx);

  /** A channel that was disabled by itself just now. */
  const add = (change: Partial<NewChannel> = {}) =>
    world.add({ status: BY_ITSELF, status_reason: "status 401", status_time: nowSec, ...change });

  test("come back with the first probe that is answered, and alerts end", async () => {
    const raise = vi.spyOn(world.app.ctx.alerts, "raise");
    const id = await add();
    expect((await row(id)).probe_time).toBe(nowSec + 10 * MINUTE);
    nowSec += 10 * MINUTE - 1;
    expect(await run()).toBe("0 asked, 0 enabled");
    nowSec += 1;
    expect(await run()).toBe("1 asked, 1 enabled");
    expect(await row(id)).toMatchObject({ status: 1, status_reason: "", probe_time: 0 });
    const served = () => world.app.ctx.candidates.find("default", "gpt-4o-mini").map((channel) => channel.id);
    await expect.poll(served).toEqual([id]);
    expect(raise.mock.calls).toMatchObject([
      [{ event: "channel_disabled", about: `channel ${id}`, isOver: true }],
    ]);
    expect(world.upstream.journal).toHaveLength(1);
    expect(world.upstream.journal[0]?.json).toMatchObject({ max_tokens: 2 });
    // The operator sees what it cost.
    const log = await world.app.ctx.db.selectFrom("logs").selectAll().where("channel_id", "=", id).execute();
    expect(log).toMatchObject([{ type: 5, user_id: 0 }]);
    expect(await run()).toBe("0 asked, 0 enabled");
  });

  test("are asked later each time, and again soon when they were disabled anew", async () => {
    world.upstream.script(refusal);
    const id = await add();
    const waits: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      const before = nowSec;
      nowSec = (await row(id)).probe_time;
      waits.push(nowSec - before);
      expect(await run()).toBe("1 asked, 0 enabled");
    }
    expect(waits).toEqual([10 * MINUTE, HOUR, 6 * HOUR, 24 * HOUR, 24 * HOUR]);
    nowSec += HOUR;
    await world.app.ctx.db
      .updateTable("channels")
      .set({ status_time: nowSec })
      .where("id", "=", id)
      .execute();
    expect((await row(id)).probe_time).toBe(nowSec + 10 * MINUTE);
    await set("ChannelProbeMaxHours", "0");
    nowSec += 10 * MINUTE;
    await run();
    expect((await row(id)).probe_time).toBe(nowSec + 10 * MINUTE);
  });

  test("are asked as soon as before when a proxy kept them from an answer", async () => {
    const proxy = await startHttpProxy({ says: () => "HTTP/1.1 503 Down\r\n\r\n" });
    const sealed = sealProxy(world.app.ctx.secrets, `http://127.0.0.1:${proxy.port}`);
    const id = await add({ proxy_sealed: sealed });
    const waits: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      const before = nowSec;
      nowSec = (await row(id)).probe_time;
      waits.push(nowSec - before);
      expect(await run()).toBe("1 asked, 0 enabled");
    }
    expect(waits).toEqual([10 * MINUTE, 10 * MINUTE, 10 * MINUTE]);
    expect(proxy.heads.length).toBeGreaterThan(0);
    expect(world.upstream.journal).toEqual([]);
    await proxy.close();
  });

  test("whose balance is used up are asked when a day begins", async () => {
    const evening = nowSec - (nowSec % (24 * HOUR)) + 23 * HOUR;
    nowSec = evening;
    world.upstream.script(refusal);
    const id = await add({ status_reason: "insufficient_quota" });
    nowSec += 10 * MINUTE;
    await run();
    expect((await row(id)).probe_time).toBe(evening + HOUR + 5 * MINUTE);
  });

  test("are asked few at once, the longest waiting first", async () => {
    world.upstream.script(refusal);
    const last = await add();
    const ids: number[] = [];
    for (let index = 0; index < 6; index += 1) ids.push(await add({ status_time: nowSec - 60 + index }));
    nowSec += HOUR;
    expect(await run()).toBe("5 asked, 0 enabled");
    expect(await run()).toBe("2 asked, 0 enabled");
    expect(await run()).toBe("0 asked, 0 enabled");
    const asked = await world.app.ctx.db
      .selectFrom("logs")
      .select("channel_id")
      .where("channel_id", "in", [...ids, last])
      .orderBy("id")
      .execute();
    expect(asked.map(({ channel_id }) => channel_id)).toEqual([...ids, last]);
  });

  test("are asked by one node alone", async () => {
    await add();
    nowSec += HOUR;
    const outcomes = await Promise.all([run(), run()]);
    expect(world.upstream.journal).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome.endsWith("1 enabled"))).toHaveLength(1);
  });

  test("stay off when a person disabled them, the answer was slow, or it belongs to another key", async () => {
    const byPerson = await add({ status: 2 });
    const withKeys = await add({ status_reason: LAST_KEY });
    nowSec += HOUR;
    expect(await run()).toBe("0 asked, 0 enabled");
    expect(await row(byPerson)).toMatchObject({ status: 2, probe_time: 0 });
    expect(await row(withKeys)).toMatchObject({ status: 3, probe_time: 0 });
    const id = await add({ status_time: nowSec - HOUR });
    await set("ChannelDisableThreshold", "0.000001");
    expect(await run()).toBe("1 asked, 0 enabled");
    await set("ChannelDisableThreshold", "5");
    nowSec += HOUR;
    world.upstream.script(async (res, asked) => {
      const change = { id, key: "sk-another-upstream-key-0123456789" };
      expect((await world.app.call(world.admin.who, "PUT", "/api/channel/", change)).success).toBe(true);
      await json(chatReply("hi"))(res, asked);
    });
    expect(await run()).toBe("1 asked, 0 enabled");
    expect((await row(id)).status).toBe(3);
  });

  test.each([
    ["AutomaticEnableChannelEnabled", "false"],
    ["ChannelProbeMinutes", "0"],
    ["ChannelProbesPerRound", "0"],
  ] as const)("are left alone while %s is %s", async (key, value) => {
    const id = await add();
    nowSec += 48 * HOUR;
    await set(key, value);
    expect(await run()).toBe("off");
    expect(await row(id)).toMatchObject({ status: 3, probe_time: 0 });
    expect(world.upstream.journal).toEqual([]);
  });
});
