// The keys of a channel in the route explainer: each with its one reason, its odds, what is left of its limits and its proxy, on both databases
// (requirements C47).
import { describe, expect, test } from "vitest";
import type { KeyCount, RouteKey } from "#contract/route.ts";
import { statusFault } from "#server/upstream/errors/fault.ts";
import { chatReply, json } from "#test/emulators/fake-upstream.ts";
import { asRoot, databases } from "#test/worlds/app.ts";
import { createRouteWorld } from "#test/worlds/route-world.ts";

interface KeysPage {
  readonly data: readonly RouteKey[];
  readonly total: number;
  readonly counts: readonly KeyCount[];
}

describe.each(databases)("the keys of a channel on $name", (database) => {
  const world = createRouteWorld(database);

  /** A channel with keys of these names, which are k1, k2 … beside its first one. Returns their ids by name. */
  async function keyed(names: readonly string[], draft: object = {}) {
    await world.channel("keyed", draft);
    const [{ id } = { id: 0 }] = world.app.ctx.candidates.find("default", "gpt-4");
    const text = ["key,name,weight", ...names.map((name, at) => `sk-canary-${at}-of-the-ring,${name},1`)];
    await world.app.call(asRoot, "POST", `/api/channel/${id}/keys`, { text: text.join("\n") });
    const rows = await world.app.ctx.db
      .selectFrom("channel_keys")
      .select(["id", "name"])
      .where("channel_id", "=", id)
      .execute();
    return { id, keyOf: (name: string) => rows.find((row) => row.name === name)?.id ?? expect.fail(name) };
  }

  async function change(id: number, key: number, what: object): Promise<void> {
    const body = { ids: [key], ...what };
    expect(await world.app.call(asRoot, "PUT", `/api/channel/${id}/keys`, body)).toMatchObject({
      success: true,
    });
  }

  async function pageOf(id: number, more = ""): Promise<KeysPage> {
    const answer = await world.app.call(asRoot, "GET", `/api/route/keys/${id}?model=gpt-4${more}`);
    expect([answer.success, answer.message]).toEqual([true, ""]);
    return answer as unknown as KeysPage; // What the contract says.
  }

  async function ask(): Promise<number> {
    const response = await fetch(`${world.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer sk-${world.token.key}` },
      body: JSON.stringify({ model: "gpt-4", messages: [{ role: "user", content: "hi" }], max_tokens: 5 }),
    });
    await response.text();
    return response.status;
  }

  test("are in or out for one reason each, with odds, what is left of limits, and the proxy", async () => {
    const names = ["free", "full", "day", "off", "ended", "resting", "narrow", "tunnel"];
    const { id, keyOf } = await keyed(names, { key_mode: "round_robin" });
    const { ctx } = world.app;
    await change(id, keyOf(""), { status: 2 });
    await change(id, keyOf("full"), { limits: { rpm: 1 } });
    await change(id, keyOf("day"), { limits: { rpm: 600, day_quota: 1_000_000 } });
    await change(id, keyOf("off"), { status: 2 });
    await change(id, keyOf("narrow"), { models: "gpt-4o" });
    await change(id, keyOf("tunnel"), {
      proxy: "socks5://canary-user:canary-word@proxy.example.com:1080",
      limits: { running: 9 },
    });
    const ended = { status: 3, status_reason: "余额不足", status_time: 1_800_000_000 };
    await ctx.db.updateTable("channel_keys").set(ended).where("id", "=", keyOf("ended")).execute();
    await ctx.db
      .updateTable("channels")
      .set(({ eb }) => ({ keys_version: eb("keys_version", "+", 1) }))
      .where("id", "=", id)
      .execute();
    await ctx.candidates.reload();
    const live = ctx.candidates.byId(id) ?? expect.fail("no channel");
    // Its calls would go through a proxy that is not there, and the other's upstream is busy.
    const fail = (name: string, fault: ReturnType<typeof statusFault>, more: object = {}) =>
      live.keys?.failed(
        { ...live, keyId: keyOf(name), ...more },
        { model: "gpt-4", fault, isDisabling: false, isModelAbsent: false, now: ctx.clock.now() },
      );
    const busy = statusFault({ status: 429, body: undefined, text: "", retryAfterMs: 60_000, secrets: [] });
    fail("resting", busy);
    fail("tunnel", { ...busy, blame: "proxy" }, { keyProxy: "socks5://proxy.example.com:1080" });
    world.upstream.script(json(chatReply("hi")));
    for (let call = 0; call < 4; call += 1) expect(await ask()).toBe(200);
    const { data, total, counts } = await pageOf(id);
    const of = (name: string) => data.find((one) => one.name === name);
    expect(Object.fromEntries(data.map(({ name, verdict }) => [name, verdict]))).toEqual({
      ...{ "": "disabled", free: "next", full: "limited", day: "next", off: "disabled" },
      ...{ ended: "auto_disabled", resting: "resting", narrow: "model", tunnel: "resting" },
    });
    expect([total, counts]).toEqual([
      9,
      [
        { verdict: "next", count: 2 },
        { verdict: "limited", count: 1 },
        { verdict: "resting", count: 2 },
        { verdict: "model", count: 1 },
        { verdict: "auto_disabled", count: 1 },
        { verdict: "disabled", count: 2 },
      ],
    ]);
    expect(data.map(({ verdict }) => verdict)).toEqual(
      counts.flatMap(({ verdict, count }) => Array(count).fill(verdict)),
    );
    expect([of("free")?.odds, of("day")?.odds]).toEqual([0.5, 0.5]);
    expect(of("full")).toMatchObject({
      limit: "rpm",
      limits: [{ name: "rpm", amount: 1, left: 0 }],
      odds: 0,
    });
    const [rate, day] = of("day")?.limits ?? [];
    expect([rate, day]).toMatchObject([
      { name: "rpm", amount: 600 },
      { name: "day_quota", amount: 1_000_000 },
    ]);
    // Its calls, at ratio 15, were booked in its day; and the minute has given some of them back.
    expect(day?.left).toBeLessThan(1_000_000);
    expect(rate?.left).toBeGreaterThan(500);
    expect(of("resting")).toMatchObject({ rests: "saturated" });
    expect(of("resting")?.until).toBeGreaterThan(Date.now() / 1_000 + 30);
    expect(of("tunnel")).toMatchObject({
      ...{
        rests: "proxy",
        proxy: "socks5://proxy.example.com:1080",
        limits: [{ name: "running", amount: 9, left: 9 }],
      },
    });
    expect(of("ended")).toMatchObject({ reason: "余额不足", since: 1_800_000_000 });
    expect(of("off")?.since).toBeGreaterThan(0);
    expect(JSON.stringify(data)).not.toMatch(/canary/);
    const told = await world.app.call(asRoot, "GET", "/api/route/explain?model=gpt-4");
    expect(told.data.channels[0]).toMatchObject({ verdict: "next", keys: counts, keys_total: 9 });
  });

  test("come in pages, those that may be chosen first, and by verdict", async () => {
    const names = Array.from({ length: 59 }, (_, at) => `k${at + 1}`);
    const { id, keyOf } = await keyed(names);
    for (const name of ["k3", "k5", "k50"]) await change(id, keyOf(name), { status: 2 });
    for (const name of ["k7", "k8"]) await change(id, keyOf(name), { models: "other" });
    const whole: string[] = [];
    for (let page = 0; page < 4; page += 1) {
      const { data, total } = await pageOf(id, `&p=${page}&size=20`);
      expect([total, data.length]).toEqual([60, page === 3 ? 0 : 20]);
      whole.push(...data.map(({ verdict, name }) => `${verdict} ${name}`));
    }
    expect(new Set(whole).size).toBe(60);
    expect(whole.slice(-6)).toEqual([
      ...["next k59", "model k7", "model k8", "disabled k3", "disabled k5", "disabled k50"],
    ]);
    const off = await pageOf(id, "&verdict=disabled&p=1&size=2");
    expect([off.total, off.data.map(({ name }) => name)]).toEqual([3, ["k50"]]);
    const next = await pageOf(id, "&verdict=next&size=10");
    expect([next.total, next.data[0]?.odds]).toEqual([55, 1 / 55]);
  });

  test("that all are at their limits leave the channel without room", async () => {
    const { id, keyOf } = await keyed(["other"]);
    for (const name of ["", "other"]) await change(id, keyOf(name), { limits: { rpm: 1 } });
    world.upstream.script(json(chatReply("hi")));
    expect([await ask(), await ask()]).toEqual([200, 200]);
    const told = await world.app.call(asRoot, "GET", "/api/route/explain?model=gpt-4");
    expect(told.data.channels[0]).toMatchObject({
      verdict: "limited",
      limit: "rpm",
      limit_of: "key",
      odds: 0,
    });
    expect(told.data.refusal).toContain("达到了限额");
    expect(await ask()).toBe(429);
  });

  test("are told for the format of the calls: a count takes no tokens of a key", async () => {
    const { id, keyOf } = await keyed(["other"]);
    for (const name of ["", "other"]) await change(id, keyOf(name), { limits: { tpm: 5 } });
    world.upstream.script(json(chatReply("hi")));
    // Both keys' tokens of this minute are used up.
    for (let call = 0; call < 3; call += 1) await ask();
    const verdictsOf = async (format: string) =>
      (await pageOf(id, `&format=${format}`)).data.map(({ verdict }) => verdict);
    await expect.poll(() => verdictsOf("")).toEqual(["limited", "limited"]);
    expect(await verdictsOf("chat")).toEqual(["limited", "limited"]);
    // What this process remembers of full limits is for a second.
    await expect.poll(() => verdictsOf("count-messages")).toEqual(["next", "next"]);
    const refused = await world.app.call(asRoot, "GET", `/api/route/keys/${id}?model=gpt-4&format=fax`);
    expect(refused).toMatchObject({ success: false, message: expect.stringContaining("接口须为") });
  });

  test("nonsense is refused with a sentence", async () => {
    const { id } = await keyed(["other"]);
    await world.channel("single", { models: "gpt-4o" });
    const single = world.app.ctx.candidates.find("default", "gpt-4o")[0]?.id ?? 0;
    for (const path of [
      `${id}`,
      `${id}?model=gpt-4&verdict=maybe`,
      `${single}?model=gpt-4o`,
      "999999?model=gpt-4",
    ])
      expect(await world.app.call(asRoot, "GET", `/api/route/keys/${path}`)).toMatchObject({
        ...{ success: false, message: expect.stringMatching(/[\u4e00-\u9fff]/) },
      });
  });
});

describe("ten thousand keys", () => {
  const [sqlite] = databases;
  const world = createRouteWorld(sqlite ?? expect.fail("no database"));

  test("are told within two seconds", { timeout: 60_000 }, async () => {
    await world.channel("many");
    const [{ id } = { id: 0 }] = world.app.ctx.candidates.find("default", "gpt-4");
    const text = Array.from({ length: 9_999 }, (_, at) => `sk-canary-${at}-of-ten-thousand`).join("\n");
    await world.app.call(asRoot, "POST", `/api/channel/${id}/keys`, { text });
    const keys = world.app.ctx.candidates.byId(id)?.keys?.ids ?? [];
    expect(keys).toHaveLength(10_000);
    const limits = { rpm: 60 };
    await world.app.call(asRoot, "PUT", `/api/channel/${id}/keys`, { ids: keys, limits });
    const start = performance.now();
    const told = await world.app.call(asRoot, "GET", "/api/route/explain?model=gpt-4");
    expect(told.data.channels[0].keys).toEqual([{ verdict: "next", count: 10_000 }]);
    const page = await world.app.call(asRoot, "GET", `/api/route/keys/${id}?model=gpt-4&p=499&size=20`);
    expect(page.data).toHaveLength(20);
    expect(performance.now() - start).toBeLessThan(2_000);
  });
});
