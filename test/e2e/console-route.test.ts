// Why a call went where it went, from its entry in the log to the page that says it (requirements C47), and a rule that leaves no channel (C44).
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  chatReply,
  chunk,
  createFakeUpstream,
  DONE,
  type FakeUpstream,
  json,
  sse,
} from "#test/emulators/fake-upstream.ts";
import { screenshots } from "#test/worlds/browser.ts";
import { createConsoleWorld } from "#test/worlds/console-world.ts";
import { manage, rootKey } from "#test/worlds/process.ts";

const world = createConsoleWorld();
let upstream: FakeUpstream;

beforeAll(async () => {
  upstream = await createFakeUpstream();
  const { url } = world.server;
  const draft = { type: 8, base_url: upstream.url, models: "gpt-4o-mini", group: "default" };
  await manage(url, "POST", "/api/channel/", {
    ...draft,
    name: "主力",
    key: "sk-canary-a-0123456789",
    priority: 9,
  });
  await manage(url, "POST", "/api/channel/", {
    ...draft,
    name: "备用",
    key: "sk-canary-b-0123456789",
    priority: 5,
  });
  await manage(url, "POST", "/api/channel/", { ...draft, name: "兜底", key: "sk-canary-c-0123456789" });
}, 180_000);

afterAll(() => upstream?.close());

async function ask(more: object = {}): Promise<number> {
  const answer = await fetch(`${world.server.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer sk-${rootKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "gpt-4o-mini", messages: [{ role: "user", content: "hi" }], ...more }),
  });
  await answer.text();
  return answer.status;
}

/** Opens the newest entry of the log. */
async function openFirst(page: Page): Promise<void> {
  await page.getByRole("row").getByText("gpt-4o-mini").first().click();
  await page.getByRole("dialog", { name: "明细" }).waitFor();
}

it("is told from the log, with what failed before and what was not needed", async () => {
  await world.setOption("RetryTimes", "3");
  upstream.script((res, asked) =>
    String(asked.headers.authorization).includes("canary-a")
      ? json({ error: { message: "overloaded" } }, 500)(res, asked)
      : json(chatReply("hi"))(res, asked),
  );
  expect(await ask()).toBe(200);
  await world.setOption("RouteRules", '[{"name":"夜间规则","only":[99]}]');
  expect(await ask()).toBe(503);
  const { page, context, complaints } = await world.visit("root");
  await page.goto("/log?type=2");
  await openFirst(page);
  await page.getByRole("link", { name: "为什么是这个渠道" }).click();
  const table = page.getByRole("group", { name: "分组 default 的候选渠道" });
  await table.getByText("#1 主力").waitFor();
  await table.getByText("上游返回 500").waitFor();
  await table.getByText("请求发往这里").waitFor();
  await table.getByText("当时有优先级更高的渠道可用").waitFor();
  await page.getByText("路由规则“夜间规则”没有给模型 gpt-4o-mini 留下可用的渠道").waitFor();
  await screenshots(page, "route-call");
  // On a telephone verdict and reason are read without scrolling.
  await page.setViewportSize({ width: 390, height: 844 });
  for (const text of ["已失败", "上游返回 500", "请求发往这里"]) {
    const read = table.getByText(text);
    await expect
      .poll(async () => {
        const box = await read.boundingBox();
        return (box?.x ?? 0) + (box?.width ?? 999);
      })
      .toBeLessThan(374);
  }
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.goto("/log?type=6");
  await openFirst(page);
  await page.getByRole("link", { name: "为什么没有渠道" }).click();
  await table.getByText("规则排除").first().waitFor();
  await screenshots(page, "route-none");
  expect(complaints).toEqual([]);
  await context.close();
});

it("is told of a video that failed in the background, and of a count of tokens", {
  timeout: 120_000,
}, async () => {
  const { url } = world.server;
  await world.setOption("RouteRules", "[]");
  const options = (await manage(url, "GET", "/api/option/")) as { key: string; value: string }[];
  const ratios = options.find(({ key }) => key === "ModelRatio")?.value ?? "{}";
  await world.setOption("ModelRatio", JSON.stringify({ ...JSON.parse(ratios), "sora-2": 1 }));
  const draft = { type: 8, base_url: upstream.url, models: "sora-2", group: "default" };
  await manage(url, "POST", "/api/channel/", { ...draft, name: "视频甲", key: "sk-canary-v-0123456789" });
  await manage(url, "POST", "/api/channel/", { ...draft, name: "视频乙", key: "sk-canary-w-0123456789" });
  const error = { code: "moderated", message: "not allowed" };
  upstream.script((res, asked) =>
    json({ id: "up-1", status: asked.method === "POST" ? "queued" : "failed", error })(res, asked),
  );
  const asked = await fetch(`${url}/v1/videos`, {
    method: "POST",
    headers: { authorization: `Bearer sk-${rootKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "sora-2", prompt: "a cat", seconds: "4" }),
  });
  expect(asked.status).toBe(200);
  const entries = () => manage(url, "GET", "/api/log/?type=6&model_name=sora-2");
  await expect.poll(entries, { timeout: 60_000 }).toHaveLength(1);
  const { page, context, complaints } = await world.visit("root");
  await page.goto("/log?type=6&model_name=sora-2");
  await page.getByRole("row").getByText("sora-2").first().click();
  const details = page.getByRole("dialog", { name: "明细" });
  await details.getByText("上游未能完成任务，未收费，原因见任务").waitFor();
  await details.getByText("upstream_error").waitFor();
  await screenshots(page, "log-failed-task");
  await page.getByRole("link", { name: "为什么是这个渠道" }).click();
  const table = page.getByRole("group", { name: "分组 default 的候选渠道" });
  await table.getByText("视频").first().waitFor();
  await screenshots(page, "route-failed-task");
  await page.goto("/channel/route?group=default&model=gpt-4o-mini&format=count-messages");
  await page.getByText("没有渠道可以计数，由本服务自行计数，请求不会被拒绝").waitFor();
  await page.getByText("Claude token 计数（/v1/messages/count_tokens）").waitFor();
  await screenshots(page, "route-count");
  expect(complaints).toEqual([]);
  await context.close();
  // The other tests count the channels.
  await world.setOption("ModelRatio", ratios);
  const channels = (await manage(url, "GET", "/api/channel/")) as { id: number; models: string }[];
  for (const { id, models } of channels)
    if (models === "sora-2") await manage(url, "DELETE", `/api/channel/${id}`);
});

it("rules are filled in, put in order and told what they exclude; the JSON is the same", {
  timeout: 120_000,
}, async () => {
  const { url } = world.server;
  await world.setOption("RouteRules", '[{"name":"夜间规则","groups":["vip"],"only":[1]}]');
  const stored = async () => {
    const options = (await manage(url, "GET", "/api/option/")) as { key: string; value: string }[];
    return JSON.parse(options.find(({ key }) => key === "RouteRules")?.value ?? "");
  };
  const { page, context, complaints } = await world.visit("root");
  await page.goto("/channel/route");
  await page.getByRole("link", { name: "路由规则" }).click();
  await page.getByRole("heading", { name: "第 1 条：夜间规则" }).waitFor();
  await page.getByText("没有启用的渠道符合这些模型和分组。").waitFor();
  await page.getByRole("button", { name: "添加规则" }).click();
  const card = page.locator("section", { has: page.getByRole("heading", { name: /^第 2 条/ }) });
  await card.getByRole("button", { name: "第 2 条上移" }).waitFor();
  await page.getByRole("button", { name: "保存规则" }).click();
  await card.getByText("规则须有名称").waitFor();
  await card.getByText("渠道列表不能为空").waitFor();
  await card.getByLabel("名称").fill("长文本");
  await card.getByLabel("模型").fill("gpt-4*");
  await card.getByLabel("模型").press("Enter");
  await card.getByLabel("请求体大于（KiB）").fill("200");
  await card.getByLabel("渠道", { exact: true }).fill("备用");
  await page.getByTitle("#2 备用").click();
  await page.keyboard.press("Escape");
  await card.getByText("符合条件的 3 个启用渠道中排除 2 个：#1 主力、#3 兜底。").waitFor();
  await screenshots(page, "route-rules");
  await page.getByRole("button", { name: "第 2 条上移" }).click();
  await page.getByRole("heading", { name: "第 1 条：长文本" }).waitFor();
  await page.getByRole("button", { name: "保存规则" }).click();
  await page.getByText("路由规则已保存！").waitFor();
  const long = { name: "长文本", models: ["gpt-4*"], kib_over: 200, only: [2] };
  const night = { name: "夜间规则", groups: ["vip"], only: [1] };
  expect(await stored()).toEqual([long, night]);
  await page.getByText("JSON", { exact: true }).click();
  const text = page.getByRole("textbox", { name: "规则" });
  expect(JSON.parse(await text.inputValue())).toEqual([long, night]);
  await text.fill("[{");
  await page.getByText("表单", { exact: true }).click();
  await page.getByText("路由规则：格式有误").waitFor();
  await text.fill(JSON.stringify([{ name: "全部", avoid: [1, 2, 3] }, night]));
  await screenshots(page, "route-rules-json");
  await page.getByText("表单", { exact: true }).click();
  await page.getByText("符合条件的 3 个启用渠道一个也不剩，符合的请求会返回 503。").waitFor();
  await page.getByText("用不到：前面的规则“全部”适用于所有请求。").waitFor();
  await screenshots(page, "route-rules-none");
  await page.getByRole("button", { name: "删除第 1 条" }).click();
  await page.getByRole("button", { name: "保存规则" }).click();
  await expect.poll(stored).toEqual([night]);
  expect(complaints).toEqual([]);
  await context.close();
});

it("a call that was overtaken by another one beside it is told in the log", {
  timeout: 300_000,
}, async () => {
  await world.setOption("RouteRules", "[]");
  await world.setOption("HedgeStreamsEnabled", "true");
  let calls = 0;
  const stream = sse(chunk({ content: "hi" }), chunk({}, "stop"), DONE);
  upstream.script((res, asked) => {
    calls += 1;
    const waitMs = String(asked.headers.authorization).includes("canary-a") && calls % 30 === 0 ? 1_000 : 0;
    setTimeout(() => void stream(res, asked), waitMs);
  });
  const { url } = world.server;
  const overtaken = async () => {
    const list = (await manage(url, "GET", "/api/log/?type=2&p=0&size=100")) as {
      trail: { error: string }[];
    }[];
    return list.some(({ trail: [one] }) => one?.error === "overtaken");
  };
  for (let call = 0; call < 500 && !(await overtaken()); call += 1)
    expect(await ask({ stream: true })).toBe(200);
  const { page, context, complaints } = await world.visit("root");
  await page.goto("/log?type=2");
  await page
    .getByText(/^#[12] → #[12]/)
    .first()
    .click();
  const details = page.getByRole("dialog", { name: "明细" });
  await details.getByText("比同时请求的渠道慢，已中断，上游可能仍收提示的费用").waitFor();
  // What the prompt cost at the other channel, the cost of the call, and its loss: the quota was given.
  await expect.poll(() => details.getByText("$0.000001").count()).toBe(3);
  await screenshots(page, "log-overtaken");
  await page.getByRole("link", { name: "为什么是这个渠道" }).click();
  const table = page.getByRole("group", { name: "分组 default 的候选渠道" });
  await table.getByText("比同时请求的渠道慢").waitFor();
  await screenshots(page, "route-overtaken");
  await page.goto("/setting?tab=operation");
  const option = page.getByText("流式请求首字过慢时同时请求另一渠道").first();
  await option.scrollIntoViewIfNeeded();
  await screenshots(page, "setting-hedge");
  expect(complaints).toEqual([]);
  await context.close();
});

it("of a channel with fifty keys says of each why it is in or out, page by page", {
  timeout: 120_000,
}, async () => {
  const { url } = world.server;
  await world.setOption("RouteRules", "[]");
  const draft = { type: 8, base_url: upstream.url, models: "gpt-4o-mini", group: "default", name: "多密钥" };
  const more = { key: "sk-canary-many-0", key_mode: "random", priority: 99, limits: { rpm: 6_000 } };
  await manage(url, "POST", "/api/channel/", { ...draft, ...more });
  const channels = (await manage(url, "GET", "/api/channel/")) as { id: number; name: string }[];
  const id = channels.find(({ name }) => name === "多密钥")?.id ?? 0;
  const rows = Array.from({ length: 49 }, (_, at) => `sk-canary-many-${at + 1},密钥 ${at + 1},${at % 5}`);
  await manage(url, "POST", `/api/channel/${id}/keys`, { text: ["key,name,weight", ...rows].join("\n") });
  const listed = (await manage(url, "GET", `/api/channel/${id}/keys?size=100`)) as { id: number }[];
  const keys = listed.map((key) => key.id);
  const change = (from: number, to: number, what: object) =>
    manage(url, "PUT", `/api/channel/${id}/keys`, { ids: keys.slice(from, to), ...what });
  await change(0, 4, { status: 2 });
  await change(4, 7, { models: "gpt-4o" });
  await change(7, 17, { limits: { rpm: 1, day_quota: 5_000_000 } });
  await change(17, 18, { proxy: "direct" });
  await change(18, 20, { limits: { rpm: 600, tpm: 90_000, running: 4 } });
  upstream.script((res, asked) =>
    /many-(2[0-9])$/.test(String(asked.headers.authorization))
      ? json({ error: { message: "slow down" } }, 429, { "retry-after": "600" })(res, asked)
      : json(chatReply("hi"))(res, asked),
  );
  const { page, context, complaints } = await world.visit("root");
  await page.goto("/channel/route?group=default&model=gpt-4o-mini&format=chat");
  await page.getByRole("heading", { name: `渠道 #${id} 多密钥 的密钥（50 个）` }).waitFor();
  const table = page.getByRole("group", { name: `渠道 ${id} 的密钥` });
  await table.getByText("参与选择").first().waitFor();
  // Right before they are looked at: what is full for a minute is full no more on a machine that takes longer to open the page.
  for (let call = 0; call < 80; call += 1) await ask();
  await page.getByTitle("2", { exact: true }).click();
  await table.getByText("每分钟请求数已满").first().waitFor();
  await screenshots(page, "route-keys");
  await page.getByRole("combobox", { name: `渠道 ${id} 的密钥按结论筛选` }).click();
  await page.getByTitle("已禁用 4").click();
  await table
    .getByText(/管理员已停用/)
    .first()
    .waitFor();
  expect(await table.getByText(/管理员已停用/).count()).toBe(4);
  await page.goto("/channel/route?group=default&model=gpt-4o-mini&format=speech");
  await page.getByText("不按 Token").first().waitFor();
  expect(complaints).toEqual([]);
  await context.close();
});
