// The models of a channel beside its upstream's list: what is proposed, what is refused, what is applied, on both databases (requirements C46).
import { beforeEach, describe, expect, test, vi } from "vitest";
import { sealProxy } from "#server/channels/proxies.ts";
import { upstreamModels } from "#server/jobs/upstream-models.ts";
import { json } from "#test/emulators/fake-upstream.ts";
import { startHttpProxy } from "#test/emulators/proxies.ts";
import { asRoot, databases } from "#test/worlds/app.ts";
import { channelWorld } from "#test/worlds/channel-world.ts";

const HOUR = 3_600;
const listing = (...names: readonly string[]) => json({ data: names.map((id) => ({ id })) });

describe.each(databases)("the models of an upstream on $name", (database) => {
  const world = channelWorld(database);
  const { add, row } = world;

  beforeEach(async () => {
    const { db, options } = world.app.ctx;
    for (const table of ["channels", "model_lists", "log_sums"] as const)
      await db.deleteFrom(table).execute();
    await options.set("FallbackModelRatio", "");
    await options.set("UpstreamModelsHours", "24");
  });

  const path = (id: number) => `/api/channel/${id}/upstream_models`;
  const shown = async (id: number) => (await world.app.call(world.admin.who, "GET", path(id))).data;
  const apply = (id: number, body: object) => world.app.call(asRoot, "POST", `${path(id)}/apply`, body);

  /** What a check of a list shows. */
  async function check(id: number, names: readonly string[], body: object = {}) {
    world.upstream.script(listing(...names));
    return (await world.app.call(world.admin.who, "POST", `${path(id)}/check`, body)).data;
  }

  test("are no news at first, and new or gone from then on", async () => {
    const id = await add({ models: "gpt-4o,gpt-4o-mini" });
    expect(await shown(id)).toMatchObject({ checked_time: 0, total: 0, fresh: [], gone: [] });
    const first = await check(id, ["gpt-4o", "gpt-4o-mini", "gpt-4.1", "o3"]);
    expect(first).toMatchObject({ total: 4, problem: "", fresh: [], gone: [] });
    const second = await check(id, ["gpt-4o", "gpt-4.1", "o3", "gpt-4.1-mini", "unheard-of"]);
    expect(second.fresh).toEqual([
      { name: "gpt-4.1-mini", priced: true },
      { name: "unheard-of", priced: false },
    ]);
    expect(second.gone).toEqual([{ name: "gpt-4o-mini", upstream: "gpt-4o-mini", like: "", calls: 0 }]);
    // Nothing happens by itself.
    expect(await row(id)).toMatchObject({
      models: "gpt-4o,gpt-4o-mini",
      models_fresh: 2,
      models_gone: 1,
      models_problem: false,
    });
    const { data } = await world.app.call(world.admin.who, "GET", "/api/channel/");
    expect(data).toMatchObject([{ models_fresh: 2, models_gone: 1 }]);
  });

  test("are applied with one call, which the audit log tells of", async () => {
    const id = await add({ models: "gpt-4o,gpt-4o-mini" });
    await check(id, ["gpt-4o", "gpt-4o-mini"]);
    await check(id, ["gpt-4o", "gpt-4.1-mini", "o3"]);
    const answer = await apply(id, { add: ["gpt-4.1-mini"], remove: ["gpt-4o-mini"], ignore: ["o3"] });
    expect(answer.data).toMatchObject({ models: "gpt-4o,gpt-4.1-mini", models_fresh: 0, models_gone: 0 });
    expect(world.app.ctx.candidates.find("default", "gpt-4.1-mini").map((channel) => channel.id)).toEqual([
      id,
    ]);
    expect(world.app.ctx.candidates.find("default", "gpt-4o-mini")).toEqual([]);
    const acts = await world.app.ctx.db
      .selectFrom("audit")
      .selectAll()
      .orderBy("id", "desc")
      .limit(1)
      .execute();
    expect(acts).toMatchObject([{ action: "channel.models_apply", target: String(id) }]);
    expect(acts[0]?.detail).toContain('"add":["gpt-4.1-mini"]');
    // What was waved aside is not told again, unless it goes and comes back.
    expect((await check(id, ["gpt-4o", "gpt-4.1-mini", "o3"])).fresh).toEqual([]);
    await check(id, ["gpt-4o", "gpt-4.1-mini"]);
    expect((await check(id, ["gpt-4o", "gpt-4.1-mini", "o3"])).fresh).toEqual([{ name: "o3", priced: true }]);
  });

  test("that are spelt otherwise are proposed as a redirect, and clients' names stay", async () => {
    const id = await add({ models: "gpt-4o,gpt-4.1", model_mapping: '{"gpt-4.1":"openai/gpt-4.1"}' });
    const { fresh, gone } = await check(id, ["OpenAI/GPT-4o", "gpt-4.1"]);
    expect(fresh).toEqual([]);
    expect(gone).toMatchObject([
      { name: "gpt-4o", like: "OpenAI/GPT-4o" },
      { name: "gpt-4.1", upstream: "openai/gpt-4.1", like: "gpt-4.1" },
    ]);
    const changed = (await apply(id, { rename: ["gpt-4o"] })).data;
    expect(changed.models).toBe("gpt-4o,gpt-4.1");
    expect(JSON.parse(changed.model_mapping)).toEqual({
      "gpt-4.1": "openai/gpt-4.1",
      "gpt-4o": "OpenAI/GPT-4o",
    });
    expect((await shown(id)).gone).toMatchObject([{ name: "gpt-4.1" }]);
  });

  test("in a list that is empty, broken or halved are not taken, and what was proposed stays", async () => {
    const id = await add({ models: "gpt-4o" });
    await check(id, ["gpt-4o", "o3", "o4-mini", "gpt-4.1"]);
    await check(id, ["gpt-4o", "o3", "o4-mini", "gpt-4.1", "gpt-4.1-mini"]);
    const proposed = [{ name: "gpt-4.1-mini", priced: true }];
    expect(await check(id, [])).toMatchObject({
      problem: "上游没有返回模型列表",
      total: 5,
      fresh: proposed,
      gone: [],
    });
    world.upstream.script(json({ error: "no" }, 500));
    await world.app.call(world.admin.who, "POST", `${path(id)}/check`, {});
    expect(await shown(id)).toMatchObject({
      problem: "获取模型列表失败，上游返回状态码 500",
      fresh: proposed,
    });
    const halved = await check(id, ["o3", "o4-mini"]);
    expect(halved).toMatchObject({
      problem: "上游的模型从 5 个减少到 2 个，列表未采用",
      fresh: proposed,
      gone: [],
    });
    expect(await row(id)).toMatchObject({ models_problem: true, models_gone: 0 });
    // Until an administrator says that it is right.
    const accepted = await check(id, ["o3", "o4-mini"], { accept: true });
    expect(accepted).toMatchObject({
      problem: "",
      halved: false,
      total: 2,
      fresh: [],
      gone: [{ name: "gpt-4o" }],
    });
    expect((await row(id)).models).toBe("gpt-4o");
  });

  test("are refused when they have no price, are in use, are the last, or are not proposed", async () => {
    const id = await add({ models: "gpt-4o,gpt-4o-mini" });
    await check(id, ["gpt-4o", "gpt-4o-mini", "a", "b"]);
    await check(id, ["gpt-4o-mini", "a", "b", "unheard-of"]);
    expect((await apply(id, { add: ["unheard-of"] })).message).toBe("“unheard-of”还没有价格，请先设置价格");
    const hour = Math.floor(world.app.ctx.clock.seconds() / HOUR) * HOUR;
    const sums = { quota: 1, prompt_tokens: 1, completion_tokens: 1, requests: 3 };
    const used = { dimension: "model-channel", key: `gpt-4o\n${id}`, hour, ...sums } as const;
    await world.app.ctx.db.insertInto("log_sums").values(used).execute();
    expect((await shown(id)).gone).toMatchObject([{ name: "gpt-4o", calls: 3 }]);
    expect((await apply(id, { remove: ["gpt-4o"] })).message).toBe(
      "“gpt-4o”在过去 24 小时有 3 次调用，没有移除",
    );
    await world.app.ctx.db
      .updateTable("log_sums")
      .set({ hour: hour - 26 * HOUR })
      .execute();
    expect((await apply(id, { add: ["a"] })).message).toBe("差异已有变化，请刷新后重试");
    expect((await apply(id, { remove: ["gpt-4o"], ignore: ["gpt-4o"] })).message).toBe(
      "同一个模型只能选择一种处理",
    );
    expect((await row(id)).models).toBe("gpt-4o,gpt-4o-mini");
    expect((await apply(id, { remove: ["gpt-4o"] })).data.models).toBe("gpt-4o-mini");
    await check(id, ["a", "b"]);
    expect((await apply(id, { remove: ["gpt-4o-mini"] })).message).toBe("渠道至少要有一个模型");
    expect((await world.app.call(world.admin.who, "GET", path(9_999))).message).toBe("找不到该渠道");
  });

  test("of another address are compared anew, and a type without a list is no fault", async () => {
    const id = await add({ models: "gpt-4o" });
    await check(id, ["gpt-4o", "a"]);
    await check(id, ["b"], { accept: true });
    expect(await row(id)).toMatchObject({ models_fresh: 1, models_gone: 1 });
    await world.app.call(asRoot, "PUT", "/api/channel/", { id, base_url: `${world.upstream.url}/v2` });
    expect(await row(id)).toMatchObject({ models_fresh: 0, models_gone: 0 });
    expect(await check(id, ["gpt-4o", "c"])).toMatchObject({ total: 2, fresh: [], gone: [] });
    await world.app.call(asRoot, "DELETE", `/api/channel/${id}`);
    expect(await world.app.ctx.db.selectFrom("model_lists").selectAll().execute()).toEqual([]);
  });

  test("are asked for by the channel's proxy, on the timer alone while it is on, and never of what a person disabled", async () => {
    const proxy = await startHttpProxy();
    const { ctx } = world.app;
    const id = await add({ proxy_sealed: sealProxy(ctx.secrets, `http://127.0.0.1:${proxy.port}`) });
    const off = await add({ status: 2 });
    await ctx.options.set("UpstreamModelsHours", "0");
    expect(await upstreamModels.run(ctx)).toBe("off");
    await ctx.options.set("UpstreamModelsHours", "24");
    world.upstream.script(listing("gpt-4o-mini"));
    expect(await upstreamModels.run(ctx)).toBe("1 asked");
    expect(proxy.asked).toEqual([new URL(world.upstream.url).host]);
    expect(await shown(id)).toMatchObject({ total: 1, problem: "" });
    expect(await shown(off)).toMatchObject({ checked_time: 0 });
    expect(await upstreamModels.run(ctx)).toBe("0 asked");
    const later = ctx.clock.seconds() + 24 * HOUR;
    vi.spyOn(ctx.clock, "seconds").mockReturnValue(later);
    expect(await upstreamModels.run(ctx)).toBe("1 asked");
    await proxy.close();
  });

  test("that are applied while the channel is edited lose nothing", async () => {
    const id = await add({ models: "gpt-4o" });
    await check(id, ["gpt-4o"]);
    const names = ["gpt-4.1", "o3", "o4-mini", "gpt-4.1-mini"];
    await check(id, ["gpt-4o", ...names]);
    const answers = await Promise.all(names.map((name) => apply(id, { add: [name] })));
    expect(answers.map(({ success }) => success)).toEqual([true, true, true, true]);
    expect((await row(id)).models.split(",").toSorted()).toEqual(["gpt-4o", ...names].toSorted());
    expect(await shown(id)).toMatchObject({ fresh: [] });
  });
});
