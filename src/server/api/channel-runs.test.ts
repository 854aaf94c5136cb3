// Tests and balances of channels against a scripted provider (requirements W3.6, W9.6, W9.7, M32, R26, S07).
import { beforeEach, describe, expect, test, vi } from "vitest";
import { chatReply, json, type Step } from "#test/emulators/fake-upstream.ts";
import { asRoot, databases } from "#test/worlds/app.ts";
import { CHANNEL_KEY, channelWorld } from "#test/worlds/channel-world.ts";

describe.each(databases)("runs over channels on $name", (database) => {
  const world = channelWorld(database);
  const { add, row, set } = world;

  beforeEach(async () => {
    await world.app.ctx.db.deleteFrom("channels").execute();
    await set("AutomaticDisableChannelEnabled", "false");
    await set("AutomaticEnableChannelEnabled", "false");
    await set("ChannelDisableThreshold", "5");
  });

  const call = (path: string, method = "GET") => world.app.call(world.admin.who, method, path);

  /** Starts a run and waits for its notice, which comes last. */
  async function runTests(scope: string): Promise<string> {
    const notice = new Promise<string>((resolve) => {
      vi.spyOn(world.app.ctx, "notify").mockImplementation(({ title, content }) => {
        if (title === "渠道测试完成") resolve(content);
      });
    });
    expect(await call(`/api/channel/test?scope=${scope}`)).toMatchObject({ success: true, data: null });
    return notice;
  }
  const late =
    (ms: number, step: Step): Step =>
    async (res, asked) => {
      await new Promise((resolve) => setTimeout(resolve, ms));
      await step(res, asked);
    };
  const refusal = json({ error: { message: "no such key", type: "authentication_error" } }, 401);

  test("all channels are tested in the background, one after another, and logged without a charge to any user", async () => {
    const ids = [
      await add({ name: "one" }),
      await add({ name: "two", status: 2 }),
      await add({ name: "three" }),
    ];
    world.upstream.script(json(chatReply("hi")));
    const before = (await call("/api/user/self")).data.quota;
    const said = await runTests("all");
    expect(said).toContain("共测试 3 个渠道，通过 3 个");
    expect(world.upstream.journal).toHaveLength(3);
    for (const id of ids) {
      expect((await row(id)).test_time).toBeGreaterThan(0);
      const { data } = await world.app.call(asRoot, "GET", `/api/log/?type=5&channel=${id}`);
      expect(data).toMatchObject([{ channel: id, username: "admin", quota: 0 }]);
    }
    expect((await call("/api/user/self")).data.quota).toBe(before);
  });

  test("twenty at once make one run, the others are told so", async () => {
    await add();
    const all = Promise.withResolvers<void>();
    world.upstream.script((res, asked) => void all.promise.then(() => json(chatReply("hi"))(res, asked)));
    const answers = await Promise.all(Array.from({ length: 20 }, () => call("/api/channel/test")));
    all.resolve();
    expect(answers.filter(({ success }) => success)).toHaveLength(1);
    expect(answers.filter(({ message }) => message === "已有测试任务在执行")).toHaveLength(19);
    await vi.waitFor(
      async () => expect((await call("/api/channel/test?scope=disabled")).success).toBe(true),
      10_000,
    );
    expect(world.upstream.journal).toHaveLength(1);
  });

  test("the list tells whether a run is under way, for its reader to wait for", async () => {
    const id = await add();
    const isTesting = async () => [
      (await call("/api/channel/")).testing,
      (await call("/api/channel/search?keyword=test")).testing,
    ];
    await expect.poll(isTesting).toEqual([false, false]);
    let answer = () => {};
    const asked = new Promise<void>((resolve) => (answer = resolve));
    world.upstream.script(async (res, request) => {
      await asked;
      await json(chatReply("hi"))(res, request);
    });
    expect((await call("/api/channel/test")).success).toBe(true);
    expect(await isTesting()).toEqual([true, true]);
    answer();
    await expect.poll(isTesting).toEqual([false, false]);
    expect((await row(id)).test_time).toBeGreaterThan(0);
  });

  test.each(["", "all", "disabled"])("scope %j is known", async (scope) => {
    await expect.poll(async () => (await call(`/api/channel/test?scope=${scope}`)).success).toBe(true);
  });
  test.each(["enabled", "ALL", "0", "all,disabled"])("scope %j is refused", async (scope) => {
    await add();
    expect(await call(`/api/channel/test?scope=${scope}`)).toMatchObject({ status: 200, success: false });
    expect(world.upstream.journal).toHaveLength(0);
  });

  test("a key that no longer works disables its channel only when the option says so", async () => {
    const id = await add();
    world.upstream.script(refusal);
    expect(await runTests("all")).toContain("失败（1）");
    expect((await row(id)).status).toBe(1);
    await set("AutomaticDisableChannelEnabled", "true");
    expect(await runTests("all")).toContain("已自动禁用（1）");
    expect(await row(id)).toMatchObject({ status: 3, status_reason: expect.stringContaining("401") });
    await expect.poll(() => world.app.ctx.candidates.find("default", "gpt-4o-mini").length).toBe(0);
  });

  test("words of the upstream disable no channel (requirements R26)", async () => {
    await set("AutomaticDisableChannelEnabled", "true");
    const id = await add();
    const words = "your credit balance is too low: quota, permission denied, 已欠费";
    world.upstream.script(json({ error: { message: words, type: "invalid_request_error" } }, 400));
    await runTests("all");
    expect((await row(id)).status).toBe(1);
  });

  test("a slow channel is disabled above the threshold, and 0 means never", async () => {
    await set("AutomaticDisableChannelEnabled", "true");
    await set("ChannelDisableThreshold", "0.05");
    world.upstream.script(late(120, json(chatReply("hi"))));
    const id = await add();
    expect(await runTests("all")).toContain("响应过慢（1）");
    expect(await row(id)).toMatchObject({ status: 3, status_reason: expect.stringContaining("响应时间") });
    await set("ChannelDisableThreshold", "0");
    const other = await add();
    await runTests("all");
    expect((await row(other)).status).toBe(1);
  });

  test("a channel that works again is enabled if the system disabled it, never if an administrator did", async () => {
    await set("AutomaticEnableChannelEnabled", "true");
    world.upstream.script(json(chatReply("hi")));
    const byPerson = await add({ status: 2 });
    const bySystem = await add({ status: 3, status_reason: "x" });
    const enabled = await add();
    const said = await runTests("disabled");
    expect(said).toContain("共测试 2 个渠道");
    expect(said).toContain("已自动启用（1）");
    expect((await row(byPerson)).status).toBe(2);
    expect(await row(bySystem)).toMatchObject({ status: 1, status_reason: "" });
    expect((await row(enabled)).test_time).toBe(0);
  });

  test("without the option no channel is enabled", async () => {
    world.upstream.script(json(chatReply("hi")));
    const id = await add({ status: 3 });
    await runTests("disabled");
    expect((await row(id)).status).toBe(3);
  });

  test("a channel that an administrator changed during the run keeps that status", async () => {
    await set("AutomaticDisableChannelEnabled", "true");
    const id = await add();
    world.upstream.script(async (res, asked) => {
      await world.app.call(world.admin.who, "PUT", "/api/channel/", { id, status: 2 });
      await refusal(res, asked);
    });
    await runTests("all");
    expect((await row(id)).status).toBe(2);
  });

  test.each([
    ["off", 1, refusal],
    ["on", 3, json(chatReply("hi"))],
  ] as const)(
    "no channel is switched %s for a key that was replaced during its test",
    async (_, status, step) => {
      await set("AutomaticDisableChannelEnabled", "true");
      await set("AutomaticEnableChannelEnabled", "true");
      const id = await add({ status });
      world.upstream.script(async (res, asked) => {
        const change = { id, key: "sk-another-upstream-key-0123456789" };
        expect((await world.app.call(world.admin.who, "PUT", "/api/channel/", change)).success).toBe(true);
        await step(res, asked);
      });
      await runTests("all");
      expect(await row(id)).toMatchObject({ status });
    },
  );

  test("a test's message is what the model said, and nothing of it is kept", async () => {
    const id = await add();
    const told = (step: Step) => {
      world.upstream.script(step);
      return call(`/api/channel/test/${id}`);
    };
    expect(await told(json(chatReply("Hello there")))).toMatchObject({
      success: true,
      message: "Hello there",
      data: null,
      time: expect.any(Number),
      modelName: "gpt-4o-mini",
    });
    expect((await told(json(chatReply("x".repeat(5_000))))).message).toHaveLength(400);
    expect((await told(json(chatReply(`my key is ${CHANNEL_KEY}`)))).message).not.toContain(CHANNEL_KEY);
    // Only thoughts came.
    const mute = { ...chatReply(""), choices: [{ index: 0, message: { role: "assistant", content: null } }] };
    expect(await told(json(mute))).toMatchObject({ success: true, message: "" });
    const vectors = await add({ models: "text-embedding-3-small" });
    world.upstream.script(json({ object: "list", data: [{ embedding: [1] }] }));
    expect(await call(`/api/channel/test/${vectors}`)).toMatchObject({ success: true, message: "" });
    const logs = await world.app.ctx.db.selectFrom("logs").select("content").execute();
    expect(logs.length).toBeGreaterThan(0);
    expect(JSON.stringify(logs)).not.toContain("Hello there");
  });

  test("all disabled channels are deleted at once, and how many is told", async () => {
    await add();
    await add({ status: 2 });
    await add({ status: 3 });
    expect(await call("/api/channel/disabled", "DELETE")).toMatchObject({ success: true, data: 2 });
    expect((await call("/api/channel/")).data).toMatchObject([{ status: 1 }]);
    expect(await call("/api/channel/disabled", "DELETE")).toMatchObject({ success: true, data: 0 });
  });

  describe("balances", () => {
    const billing: Step = (res, asked) => {
      const isUsage = asked.path.includes("/usage");
      const body = isUsage
        ? { object: "list", total_usage: 1234.5 }
        : { object: "billing_subscription", has_payment_method: true, hard_limit_usd: 20 };
      return json(body)(res, asked);
    };
    const cases: readonly (readonly [type: number, step: Step, balance: number, path: RegExp])[] = [
      [1, billing, 7.655, /^\/v1\/dashboard\/billing\//],
      [8, billing, 7.655, /^\/v1\/dashboard\/billing\//],
      [
        4,
        json({ total_granted: 9, total_used: 2, total_available: 7.25 }),
        7.25,
        /^\/dashboard\/billing\/credit_grants$/,
      ],
      [12, json({ total_remaining: 3.5 }), 3.5, /^\/dashboard\/billing\/credit_grants$/],
      [13, json({ total_available: 88 }), 88, /^\/dashboard\/billing\/credit_grants$/],
      [5, json({ msg: "", data: { credit: "12345" } }), 12_345, /^\/sb-api\/user\/status\?api_key=sk-canary/],
      [20, json({ data: { total_credits: 10.1, total_usage: 0.3 } }), 9.8, /^\/v1\/credits$/],
      [
        36,
        json({
          is_available: true,
          balance_infos: [
            { currency: "USD", total_balance: "1.50" },
            { currency: "CNY", total_balance: "11.00" },
          ],
        }),
        11,
        /^\/user\/balance$/,
      ],
      [36, json({ balance_infos: [{ currency: "USD", total_balance: "1.50" }] }), 1.5, /^\/user\/balance$/],
      [44, json({ code: 20_000, data: { totalBalance: "88.88" } }), 88.88, /^\/v1\/user\/info$/],
      [32, json({ object: "account", balance: 12.5 }), 12.5, /^\/v1\/accounts$/],
      [43, billing, 7.655, /^\/v1\/dashboard\/billing\//],
      [25, json({ code: 0, data: { available_balance: 49.58894 } }), 49.58894, /^\/v1\/users\/me\/balance$/],
    ];

    test.each(cases)("type %i is asked as its row says", async (type, step, balance, path) => {
      const id = await add({ type });
      world.upstream.script(step);
      expect(await call(`/api/channel/update_balance/${id}/`)).toMatchObject({
        success: true,
        data: null,
        balance,
      });
      expect(world.upstream.journal.every((asked) => path.test(asked.path))).toBe(true);
      expect(world.upstream.journal[0]?.headers.authorization).toBe(`Bearer ${CHANNEL_KEY}`);
      const stored = await row(id);
      expect(stored.balance).toBe(balance);
      expect(stored.balance_updated_time).toBeGreaterThan(0);
    });

    test("an unpaid account is asked for the last hundred days", async () => {
      const id = await add({ type: 8 });
      world.upstream.script((res, asked) =>
        json(
          asked.path.includes("/usage")
            ? { total_usage: 0 }
            : { has_payment_method: false, hard_limit_usd: 5 },
        )(res, asked),
      );
      await call(`/api/channel/update_balance/${id}`);
      const query = new URLSearchParams(world.upstream.journal[1]?.path.split("?")[1]);
      const days =
        (Date.parse(query.get("end_date") ?? "") - Date.parse(query.get("start_date") ?? "")) / 86_400_000;
      expect(days).toBe(101);
    });

    test("a base with a version in it is not given another", async () => {
      const id = await add({ type: 8, base_url: `${world.upstream.url}/v1` });
      world.upstream.script(billing);
      expect((await call(`/api/channel/update_balance/${id}`)).balance).toBe(7.655);
      expect(world.upstream.journal[0]?.path).toBe("/v1/dashboard/billing/subscription");
    });

    test.each([
      ["a type without one", { type: 14 }, json({}), "该渠道类型不支持查询余额"],
      [
        "a refusal",
        { type: 8 },
        json({ error: { message: `bad key ${CHANNEL_KEY}` } }, 401),
        "查询余额失败，上游返回状态码 401",
      ],
      ["an inner page", { type: 4 }, json({ admin: "internal panel 10.0.0.1" }), "上游没有返回余额"],
      [
        "a redirect",
        { type: 4 },
        json({}, 302, { location: "http://127.0.0.1:1/" }),
        "查询余额失败，上游返回状态码 302",
      ],
      ["null data", { type: 5 }, json({ msg: "secret words", data: null }), "上游没有返回余额"],
      [
        "an unreachable host",
        { type: 4, base_url: "http://127.0.0.1:9" },
        json({}),
        "查询余额失败（refused）",
      ],
      ["a private host", { type: 4, base_url: "http://10.9.8.7" }, json({}), "查询余额失败（blocked）"],
    ] as const)("%s is a short sentence", async (_, change, step, message) => {
      const id = await add(change);
      world.upstream.script(step);
      const answer = await call(`/api/channel/update_balance/${id}`);
      expect(answer).toMatchObject({ status: 200, success: false, message });
      expect(JSON.stringify(answer)).not.toContain(CHANNEL_KEY);
      expect((await row(id)).balance_updated_time).toBe(0);
    });

    test("an unknown channel is not found", async () => {
      expect((await call("/api/channel/update_balance/987654")).message).toBe("找不到该渠道");
    });

    test("all enabled channels whose balance can be queried are queried in the background", async () => {
      const asked = [await add({ type: 4 }), await add({ type: 13 })];
      const left = [await add({ type: 14 }), await add({ type: 4, status: 2 })];
      world.upstream.script(json({ total_available: 5 }));
      expect(await call("/api/channel/update_balance/")).toMatchObject({ success: true, data: null });
      await vi.waitFor(async () => {
        for (const id of asked) expect((await row(id)).balance).toBe(5);
      }, 10_000);
      for (const id of left) expect((await row(id)).balance).toBe(0);
    });
  });
});
