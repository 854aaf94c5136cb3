// Channels with several keys, end to end: what one key does wrong ends the key, and the channel serves on (requirements C26, C27, C28).
import { describe, expect, it } from "vitest";
import { testChannel } from "#server/channels/probe.ts";
import { nextKeyProbe } from "#server/channels/probe-times.ts";
import { sealProxy } from "#server/channels/proxies.ts";
import { keyProbes } from "#server/jobs/key-probes.ts";
import { keyUsage } from "#server/store/channel-key-lists.ts";
import { addKeys, LAST_KEY, listSealedKeys, newKey } from "#server/store/channel-keys.ts";
import { chatReply, json, type Step } from "#test/emulators/fake-upstream.ts";
import { startHttpProxy } from "#test/emulators/proxies.ts";
import {
  CHANNEL_KEY,
  type ChannelSeed,
  createRelayWorld,
  MODEL,
  QUESTION,
} from "#test/worlds/relay-world.ts";

const world = createRelayWorld();
const keyName = (index: number) => `sk-canary-several-${String(index).padStart(4, "0")}-0123456789`;
const AUTO_OFF = 3;

async function addSeveral(count: number, seed: ChannelSeed = {}, mode = "round_robin"): Promise<number> {
  const { db, secrets, candidates } = world.ctx;
  const id = await world.addChannel({ key: keyName(0), ...seed });
  const rows = Array.from({ length: count - 1 }, (_, index) => {
    const key = keyName(index + 1);
    return {
      ...newKey(1_800_000_000),
      key_hash: secrets.hash(key),
      key_sealed: secrets.seal(key, "channels.key"),
    };
  });
  await db.transaction().execute((tx) => addKeys(tx, id, rows, 1_800_000_000));
  await db.updateTable("channels").set({ key_mode: mode }).where("id", "=", id).execute();
  await candidates.reload();
  return id;
}

const keysOf = (id: number) => listSealedKeys(world.ctx.db, id);
const channelRow = (id: number) =>
  world.ctx.db.selectFrom("channels").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
/** All keys of a channel are to be asked again at this time, seconds. */
const dueNow = (id: number, now: number) =>
  world.ctx.db.updateTable("channel_keys").set({ probe_time: now }).where("channel_id", "=", id).execute();
/** Refuses some keys, answers to the others. */
function refusing(answer: Step, ...bad: readonly string[]): Step {
  return (res, asked) => {
    const key = String(asked.headers.authorization).replace("Bearer ", "");
    return (bad.includes(key) ? answer : json(chatReply("hi")))(res, asked);
  };
}
const wrongKey = json(
  { error: { message: "no such key", type: "invalid_request_error", code: "invalid_api_key" } },
  401,
);
const usedKeys = () =>
  world.upstream.journal.map(({ headers }) => String(headers.authorization).replace("Bearer ", ""));
const askAll = async (times: number) => {
  const statuses: number[] = [];
  for (let turn = 0; turn < times; turn += 1) {
    const response = await world.ask(QUESTION);
    statuses.push(response.status);
    await response.text();
  }
  return statuses;
};

describe("one of fifty keys that is refused", () => {
  it("is off after three refusals while every call is answered by another key", async () => {
    await world.setOption("RetryTimes", "3");
    await world.setOption("AutomaticDisableChannelEnabled", "true");
    const id = await addSeveral(50);
    world.upstream.script(refusing(wrongKey, keyName(7)));
    expect(new Set(await askAll(150))).toEqual(new Set([200]));
    await expect
      .poll(async () => (await keysOf(id)).filter(({ status }) => status === AUTO_OFF).length)
      .toBe(1);
    const off = (await keysOf(id)).find(({ status }) => status === AUTO_OFF);
    expect(off).toMatchObject({ key_hash: world.ctx.secrets.hash(keyName(7)) });
    expect(off?.status_reason).toContain("401");
    expect(await channelRow(id)).toMatchObject({ status: 1 });
    await world.ctx.candidates.reload();
    world.upstream.journal.length = 0;
    await askAll(100);
    expect(usedKeys()).not.toContain(keyName(7));
    // The log says which key served, and usage by key follows from the same sums.
    const { log } = await world.money();
    expect((await keysOf(id)).map((key) => key.id)).toContain(log?.key_id);
    const usage = await keyUsage(
      world.ctx.db,
      (await keysOf(id)).map((key) => key.id),
    );
    expect([...usage.values()].reduce((sum, { quota }) => sum + quota, 0)).toBe(
      (await channelRow(id)).used_quota,
    );
  });

  it("takes the channel with it when it was the last, and brings it back when it works again", async () => {
    await world.setOption("RetryTimes", "3");
    await world.setOption("AutomaticDisableChannelEnabled", "true");
    const id = await addSeveral(2);
    world.upstream.script(refusing(wrongKey, keyName(0), keyName(1)));
    await askAll(6);
    await expect.poll(async () => (await channelRow(id)).status).toBe(AUTO_OFF);
    expect((await channelRow(id)).status_reason).toBe(LAST_KEY);
    const keys = await keysOf(id);
    expect(keys.map(({ status }) => status)).toEqual([AUTO_OFF, AUTO_OFF]);
    // The test of a channel asks a key even now.
    await world.ctx.candidates.reload();
    world.upstream.journal.length = 0;
    const live = world.ctx.candidates.byId(id) ?? expect.fail("no channel");
    expect((await testChannel(world.ctx, live)).ok).toBe(false);
    expect(world.upstream.journal).toHaveLength(1);
    // Not yet due: no key is asked.
    world.upstream.script(json(chatReply("hi")));
    expect(await keyProbes.run(world.ctx)).toBe("0 asked, 0 enabled");
    await dueNow(id, 1);
    expect(await keyProbes.run(world.ctx)).toBe("1 asked, 1 enabled");
    expect(await channelRow(id)).toMatchObject({ status: 1, status_reason: "" });
    await world.ctx.candidates.reload();
    expect(await askAll(1)).toEqual([200]);
  });

  it("is asked later each time while it is still refused", async () => {
    await world.setOption("AutomaticDisableChannelEnabled", "true");
    const id = await addSeveral(2, {}, "first");
    world.upstream.script(refusing(wrongKey, keyName(0)));
    await world.setOption("RetryTimes", "2");
    await askAll(4);
    await expect.poll(async () => (await keysOf(id))[0]?.status).toBe(AUTO_OFF);
    const first = (await keysOf(id))[0];
    expect((first?.probe_time ?? 0) - (first?.status_time ?? 0)).toBe(600);
    const waitsOf = async (rounds: number) => {
      const waits: number[] = [];
      for (let round = 0; round < rounds; round += 1) {
        const now = world.ctx.clock.seconds();
        await dueNow(id, now);
        await keyProbes.run(world.ctx);
        waits.push(Math.round((((await keysOf(id))[0]?.probe_time ?? 0) - now) / 100) * 100);
      }
      return waits;
    };
    expect(await waitsOf(5)).toEqual([3_600, 21_600, 86_400, 86_400, 86_400]);
    // On the operator's schedule: 5 minutes at first, 6 times as long each time, two hours at most.
    await world.setOption("ChannelKeyProbeMinutes", "5");
    await world.setOption("ChannelKeyProbeMaxHours", "2");
    await world.ctx.db.updateTable("channel_keys").set({ probes: 0 }).where("channel_id", "=", id).execute();
    expect(await waitsOf(3)).toEqual([1_800, 7_200, 7_200]);
    await world.setOption("ChannelKeyProbeMaxHours", "0");
    expect(await waitsOf(1)).toEqual([300]);
    // Switched off, no key is asked, however long it has waited; switched on, it is.
    await world.setOption("ChannelKeyProbeMinutes", "0");
    await dueNow(id, 1);
    world.upstream.script(json(chatReply("hi")));
    world.upstream.journal.length = 0;
    expect(await keyProbes.run(world.ctx)).toBe("off");
    expect(world.upstream.journal).toEqual([]);
    await world.setOption("ChannelKeyProbeMinutes", "10");
    await keyProbes.run(world.ctx);
    expect((await keysOf(id))[0]).toMatchObject({ status: 1, probes: 0 });
    await world.setOption("ChannelKeyProbeMaxHours", "24");
  });
});

describe("a key that is asked again through a proxy that fails", () => {
  it("is asked as soon as before: the proxy's failure is no refusal of the key", async () => {
    await world.ctx.db.deleteFrom("channel_keys").execute();
    const proxy = await startHttpProxy({ says: () => "HTTP/1.1 407 Auth\r\n\r\n" });
    const id = await addSeveral(2);
    const proxy_sealed = sealProxy(world.ctx.secrets, `http://127.0.0.1:${proxy.port}`);
    await world.ctx.db.updateTable("channels").set({ proxy_sealed }).where("id", "=", id).execute();
    const off = { status: AUTO_OFF, status_reason: "status 401", probes: 2, probe_time: 1 };
    const [key = expect.fail("no key")] = await keysOf(id);
    await world.ctx.db.updateTable("channel_keys").set(off).where("id", "=", key.id).execute();
    await world.ctx.candidates.reload();
    const now = world.ctx.clock.seconds();
    expect(await keyProbes.run(world.ctx)).toBe("1 asked, 0 enabled");
    const [after = expect.fail("no key")] = await keysOf(id);
    expect(proxy.heads).toHaveLength(1);
    expect([after.status, after.probes, Math.round((after.probe_time - now) / 100) * 100]).toEqual([
      AUTO_OFF,
      2,
      21_600,
    ]);
    await proxy.close();
  });
});

describe("a key whose account has run out", () => {
  it("is off after three answers of 402, asked again when a day begins at the latest, and serves when there is quota", async () => {
    await world.setOption("RetryTimes", "2");
    await world.setOption("AutomaticDisableChannelEnabled", "true");
    // What is left of channels that are gone would be due too.
    await world.ctx.db.deleteFrom("channel_keys").execute();
    const id = await addSeveral(3, {}, "first");
    const spent = json({ error: { message: "Insufficient Balance", type: "unknown_error" } }, 402);
    world.upstream.script(refusing(spent, keyName(0)));
    expect(await askAll(4)).toEqual([200, 200, 200, 200]);
    await expect.poll(async () => (await keysOf(id)).map(({ status }) => status)).toEqual([AUTO_OFF, 1, 1]);
    const stateOf = async () => (await keysOf(id))[0] ?? expect.fail("no key");
    const off = await stateOf();
    expect(off.status_reason).toContain("402");
    expect(off.probe_time - off.status_time).toBeLessThanOrEqual(600);
    // As late as it may be asked, a new day comes first.
    const day = 1_800_057_600;
    const late = nextKeyProbe({ since: day - 60, probes: 9, reason: off.status_reason }, world.ctx);
    expect([day % 86_400, late - day]).toEqual([0, 300]);
    // Asked in vain it stays off, and the others go on.
    await world.ctx.candidates.reload();
    await dueNow(id, 1);
    expect(await keyProbes.run(world.ctx)).toBe("1 asked, 0 enabled");
    expect(await stateOf()).toMatchObject({ status: AUTO_OFF, probes: 1 });
    world.upstream.journal.length = 0;
    await askAll(3);
    expect(usedKeys()).not.toContain(keyName(0));
    // The account is filled up.
    world.upstream.script(json(chatReply("hi")));
    await dueNow(id, 1);
    expect(await keyProbes.run(world.ctx)).toBe("1 asked, 1 enabled");
    expect(await stateOf()).toMatchObject({ status: 1, status_reason: "", probes: 0 });
    await world.ctx.candidates.reload();
    world.upstream.journal.length = 0;
    expect(await askAll(2)).toEqual([200, 200]);
    expect(usedKeys()).toEqual([keyName(0), keyName(0)]);
  });
});

describe("what is not the key's fault", () => {
  it.each([
    ["a failing server", json({ error: { message: "oops" } }, 500)],
    [
      "a request that is wrong and says so in a key's words",
      json({ error: { message: "invalid_api_key", code: "invalid_api_key" } }, 400),
    ],
  ])("%s disables no key", async (_, step) => {
    await world.setOption("AutomaticDisableChannelEnabled", "true");
    const id = await addSeveral(3);
    world.upstream.script(step);
    await askAll(9);
    expect((await keysOf(id)).map(({ status }) => status)).toEqual([1, 1, 1]);
    expect((await channelRow(id)).status).toBe(1);
  });

  it("a key's own proxy that fails rests that key alone", async () => {
    const proxy = await startHttpProxy({ login: "u:p", says: () => "HTTP/1.1 407 Nope\r\n\r\n" });
    await world.setOption("RetryTimes", "2");
    await world.setOption("AutomaticDisableChannelEnabled", "true");
    const id = await addSeveral(2, {}, "first");
    const [first] = await keysOf(id);
    const { db, secrets, candidates } = world.ctx;
    await db
      .updateTable("channel_keys")
      .set({ proxy_sealed: sealProxy(secrets, `http://u:p@127.0.0.1:${proxy.port}`) })
      .where("id", "=", first?.id ?? 0)
      .execute();
    await db.updateTable("channels").set({ keys_version: 99 }).where("id", "=", id).execute();
    await candidates.reload();
    world.upstream.script(json(chatReply("hi")));
    expect(await askAll(5)).toEqual([200, 200, 200, 200, 200]);
    expect(new Set(usedKeys())).toEqual(new Set([keyName(1)]));
    expect((await keysOf(id)).map(({ status }) => status)).toEqual([1, 1]);
    await proxy.close();
  });
});

describe("a conversation", () => {
  it("stays with its key for all its turns", async () => {
    await addSeveral(20);
    const begin = [{ role: "user", content: `${"a long story ".repeat(500)}` }];
    for (let turn = 0; turn < 10; turn += 1) {
      const messages = [
        ...begin,
        ...Array.from({ length: turn }, () => ({ role: "assistant", content: "yes" })),
      ];
      await (await world.ask({ ...QUESTION, messages })).text();
    }
    expect(new Set(usedKeys()).size).toBe(1);
  });
});

it("a channel with one key is called as ever, and its log names no key", async () => {
  await world.addChannel();
  await askAll(1);
  expect(usedKeys()).toEqual([CHANNEL_KEY]);
  expect((await world.money()).log).toMatchObject({ key_id: 0, model_name: MODEL });
});
