// The balances of a channel's keys: each asked with its own key by its own way, some at a time, and the channel's is their sum.
import { describe, expect, onTestFinished, test } from "vitest";
import { type Channel, ChannelStatus } from "#contract/channel.ts";
import type { ChannelKey } from "#contract/channel-key.ts";
import { keyBalances } from "#server/jobs/key-balances.ts";
import { keyProbes } from "#server/jobs/key-probes.ts";
import { createFakeUpstream, json, type Step } from "#test/emulators/fake-upstream.ts";
import { startHttpProxy } from "#test/emulators/proxies.ts";
import { databases } from "#test/worlds/app.ts";
import { channelWorld } from "#test/worlds/channel-world.ts";

const DEEPSEEK = 36;
const CUSTOM = 8;
const NO_BALANCE = 14;
const name = (index: number) => `sk-canary-account-${String(index).padStart(6, "0")}`;

describe.each(databases)("the balances of keys on $name", (database) => {
  const world = channelWorld(database);
  const call = (method: string, path: string, body?: unknown) =>
    world.app.call(world.admin.who, method, path, body);
  const list = async (id: number, query = "") => {
    const answer = await call("GET", `/api/channel/${id}/keys?size=100${query}`);
    return answer.data as ChannelKey[];
  };
  const channelOf = async (id: number) => (await call("GET", `/api/channel/${id}`)).data as Channel;
  async function addKeys(count: number, type = CUSTOM, more: object = {}): Promise<number> {
    const id = await world.add({ type, key: name(0), models: "m", ...more });
    const text = Array.from({ length: count - 1 }, (_, index) => name(index + 1)).join("\n");
    await call("POST", `/api/channel/${id}/keys`, { text });
    return id;
  }
  const keyIn = (authorization: string | undefined) => Number(authorization?.slice(-6));
  /** Has as many dollars as the key's number says; `bad` ones are refused. */
  const billing =
    (bad: readonly number[] = []): Step =>
    (res, asked) => {
      const key = keyIn(asked.headers.authorization);
      if (bad.includes(key)) return json({ error: { message: "no" } }, 401)(res, asked);
      return json(asked.path.includes("/usage") ? { total_usage: 50 } : { hard_limit_usd: key + 0.5 })(
        res,
        asked,
      );
    };

  test("are asked one by one or all, told with their time, sorted, and summed up over the enabled ones", async () => {
    const id = await addKeys(5);
    world.upstream.script(billing([3]));
    const rows = await list(id);
    expect(rows.every(({ balance, balance_updated_time: time }) => balance === 0 && time === 0)).toBe(true);
    const [, one, two, three, four] = rows.map((row) => row.id);
    const asked = await call("POST", `/api/channel/${id}/keys/balance`, { key_id: two });
    expect(asked).toMatchObject({ success: true, data: null, balance: 2, currency: "" });
    expect(await channelOf(id)).toMatchObject({ balance: 2 });
    expect((await channelOf(id)).balance_updated_time).toBeGreaterThan(0);
    expect(await call("POST", `/api/channel/${id}/keys/balance`, { key_id: three })).toMatchObject({
      success: false,
      message: "查询余额失败，上游返回状态码 401",
    });
    expect((await call("POST", `/api/channel/${id}/keys/balance_all`)).success).toBe(true);
    await expect.poll(async () => (await channelOf(id)).balance, { timeout: 20_000 }).toBe(0 + 1 + 2 + 4);
    expect((await list(id, "&order=balance&desc=true")).map((row) => row.balance)).toEqual([4, 2, 1, 0, 0]);
    expect((await list(id, "&order=balance&p=0")).map((row) => row.balance)).toEqual([0, 0, 1, 2, 4]);
    expect((await list(id)).map((row) => row.balance_updated_time > 0)).toEqual([
      true,
      true,
      true,
      false,
      true,
    ]);
    // The sum follows what is done to keys.
    await call("PUT", `/api/channel/${id}/keys`, { ids: [four], status: 2 });
    expect((await channelOf(id)).balance).toBe(3);
    // A disabled key may be asked, and counts when it is enabled.
    expect(await call("POST", `/api/channel/${id}/keys/balance`, { key_id: four })).toMatchObject({
      balance: 4,
    });
    expect((await channelOf(id)).balance).toBe(3);
    await call("PUT", `/api/channel/${id}/keys`, { ids: [four], status: 1 });
    await call("POST", `/api/channel/${id}/keys/delete`, { ids: [one] });
    expect((await channelOf(id)).balance).toBe(6);
    // By the channel's own button the keys are asked too.
    world.upstream.script(json({ hard_limit_usd: 10, total_usage: 0 }));
    expect(await call("GET", `/api/channel/update_balance/${id}`)).toMatchObject({ balance: 40 });
    expect(JSON.stringify([await list(id), await channelOf(id)])).not.toContain("canary");
  });

  test("are told in one currency where accounts differ in it", async () => {
    const id = await addKeys(3, DEEPSEEK);
    const infos = [
      [{ currency: "CNY", total_balance: "11.00" }],
      [{ currency: "USD", total_balance: "1.50" }],
      [
        { currency: "USD", total_balance: "9" },
        { currency: "CNY", total_balance: "0.10" },
      ],
    ];
    world.upstream.script((res, asked) =>
      json({ balance_infos: infos[keyIn(asked.headers.authorization)] })(res, asked),
    );
    await call("GET", `/api/channel/update_balance/${id}`);
    const rows = await list(id);
    expect(rows.map((row) => [row.balance, row.balance_currency])).toEqual([
      [11, "CNY"],
      [1.5, "USD"],
      [0.1, "CNY"],
    ]);
    expect((await channelOf(id)).balance).toBe(11 + 0.1 + 1.5 * 7);
    await call("PUT", `/api/channel/${id}/keys`, { ids: [rows[0]?.id, rows[2]?.id], status: 2 });
    expect((await channelOf(id)).balance).toBe(1.5);
  });

  test("go by the key's own proxy", async () => {
    const id = await addKeys(2);
    const proxy = await startHttpProxy();
    onTestFinished(() => proxy.close());
    const [, second] = (await list(id)).map((row) => row.id);
    await call("PUT", `/api/channel/${id}/keys`, { ids: [second], proxy: `http://127.0.0.1:${proxy.port}` });
    world.upstream.script(billing());
    expect(await call("GET", `/api/channel/update_balance/${id}`)).toMatchObject({
      success: true,
      balance: 1,
    });
    expect(proxy.asked.length).toBeGreaterThan(0);
    const through = world.upstream.journal.filter((asked) => keyIn(asked.headers.authorization) === 1);
    expect(through).toHaveLength(2);
    expect(new Set(proxy.asked).size).toBe(1);
  });

  test("are asked on the schedule by slices, those first that have waited longest, at most eight at once", async () => {
    const id = await addKeys(60);
    let [open, most] = [0, 0];
    world.upstream.script((res, asked) => {
      if (asked.path.includes("/usage")) return json({ total_usage: 0 })(res, asked);
      open += 1;
      most = Math.max(most, open);
      setTimeout(() => {
        open -= 1;
        void json({ hard_limit_usd: 1 })(res, asked);
      }, 20);
    });
    const { ctx } = world.app;
    const hourly = { ...ctx, config: { ...ctx.config, channelBalanceFrequencyMs: 10 * 60_000 } };
    const keysAsked = async () => {
      world.upstream.journal.length = 0;
      const outcome = await keyBalances.run(hourly);
      const asked = world.upstream.journal.filter(({ path }) => !path.includes("/usage"));
      return { outcome, keys: new Set(asked.map((one) => keyIn(one.headers.authorization))) };
    };
    expect(keyBalances.periodMs({ ...ctx.config, channelBalanceFrequencyMs: 0 })).toBe(0);
    expect(keyBalances.periodMs(hourly.config)).toBe(60_000);
    const seen = new Set<number>();
    for (let minute = 0; minute < 10; minute += 1) {
      const { outcome, keys } = await keysAsked();
      expect(outcome).toBe("6 keys asked, 6 balances updated");
      for (const key of keys) {
        expect(seen.has(key)).toBe(false);
        seen.add(key);
      }
    }
    expect(seen.size).toBe(60);
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(8);
    expect((await channelOf(id)).balance).toBe(60);
    // Until their time comes none is asked again, and then those that were asked first.
    expect((await keysAsked()).outcome).toBe("0 keys asked, 0 balances updated");
    await ctx.db
      .updateTable("channel_keys")
      .set((row) => ({ balance_asked_time: row.ref("id") }))
      .where("channel_id", "=", id)
      .execute();
    expect([...(await keysAsked()).keys].toSorted((one, other) => one - other)).toEqual([0, 1, 2, 3, 4, 5]);
  });

  test("of several providers are asked at once on the schedule, the channels of one in turn", async () => {
    const others = await Promise.all([createFakeUpstream(), createFakeUpstream()]);
    onTestFinished(async () => {
      await Promise.all(others.map((one) => one.close()));
    });
    const { ctx } = world.app;
    const often = { ...ctx, config: { ...ctx.config, channelBalanceFrequencyMs: 60_000 } };
    const providers = [world.upstream, ...others];
    // Two channels at the first provider, one at each of the others: 2 keys each.
    for (const place of [
      `${world.upstream.url}/one`,
      `${world.upstream.url}/two`,
      ...others.map(({ url }) => url),
    ])
      await addKeys(2, CUSTOM, { base_url: place });
    const open: { readonly at: number; readonly channel: string }[] = [];
    const mixed: string[] = [];
    const meet = Promise.withResolvers<void>();
    const answers = (at: number): Step => {
      const usage = json({ total_usage: 0 });
      const limit = json({ hard_limit_usd: 1 });
      return async (res, asked) => {
        if (asked.path.includes("/usage")) return usage(res, asked);
        const call = { at, channel: asked.path.slice(0, 4) };
        if (open.some((one) => one.at === at && one.channel !== call.channel)) mixed.push(asked.path);
        open.push(call);
        // None is answered before all providers are asked.
        if (new Set(open.map((one) => one.at)).size === providers.length) meet.resolve();
        await meet.promise;
        open.splice(open.indexOf(call), 1);
        return limit(res, asked);
      };
    };
    for (const [at, upstream] of providers.entries()) upstream.script(answers(at));
    expect(await keyBalances.run(often)).toBe("8 keys asked, 8 balances updated");
    expect(mixed).toEqual([]);
    const ways = new Set(world.upstream.journal.map(({ path }) => path.slice(0, 4)));
    expect(ways).toEqual(new Set(["/one", "/two"]));
  });

  test("are asked and tested past a key that does not open, which a lost secret leaves behind", async () => {
    const id = await addKeys(4);
    const [first, second] = (await list(id)).map((row) => row.id);
    const { ctx } = world.app;
    await ctx.db
      .updateTable("channel_keys")
      .set({ key_sealed: "bm90IHNlYWxlZA" })
      .where("id", "=", first ?? 0)
      .execute();
    world.upstream.script(billing());
    const often = { ...ctx, config: { ...ctx.config, channelBalanceFrequencyMs: 60_000 } };
    expect(await keyBalances.run(often)).toBe("4 keys asked, 3 balances updated");
    expect(await channelOf(id)).toMatchObject({ balance: 1 + 2 + 3 });
    expect(await call("POST", `/api/channel/${id}/keys/balance`, { key_id: first })).toMatchObject({
      success: false,
      message: "该渠道的类型或密钥无法使用",
    });
    expect(await call("POST", `/api/channel/${id}/keys/balance`, { key_id: second })).toMatchObject({
      balance: 1,
    });
    // It is asked again when its time comes, and keeps no other key waiting.
    await ctx.db
      .updateTable("channel_keys")
      .set({ status: ChannelStatus.autoDisabled, probe_time: 1 })
      .where("id", "=", first ?? 0)
      .execute();
    expect(await keyProbes.run(ctx)).toBe("1 asked, 0 enabled");
    expect(await keyProbes.run(ctx)).toBe("0 asked, 0 enabled");
  });

  test("are no question to a type that has none, or a channel with one key", async () => {
    const id = await addKeys(2, NO_BALANCE);
    const [row] = await list(id);
    const none = "该渠道类型不支持查询余额";
    expect((await call("POST", `/api/channel/${id}/keys/balance_all`)).message).toBe(none);
    expect((await call("POST", `/api/channel/${id}/keys/balance`, { key_id: row?.id })).message).toBe(none);
    const other = await world.add({ type: CUSTOM, key: name(500), models: "m" });
    expect((await call("POST", `/api/channel/${other}/keys/balance_all`)).message).toBe("该渠道只有一个密钥");
    expect((await call("POST", `/api/channel/${other}/keys/balance`, { key_id: row?.id })).message).toBe(
      "找不到该密钥",
    );
  });
});
