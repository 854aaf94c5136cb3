// Why a call went where it went, from its entry in the log to the page that says it (requirements C47), and a rule that leaves no channel (C44).
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { chatReply, createFakeUpstream, type FakeUpstream, json } from "#test/emulators/fake-upstream.ts";
import { screenshots } from "#test/worlds/browser.ts";
import { type ConsoleWorld, openConsoleWorld } from "#test/worlds/console-world.ts";
import { manage, rootKey } from "#test/worlds/process.ts";

let world: ConsoleWorld;
let upstream: FakeUpstream;

beforeAll(async () => {
  world = await openConsoleWorld();
  upstream = await createFakeUpstream();
}, 180_000);

afterAll(async () => {
  await world?.close();
  await upstream?.close();
});

async function ask(): Promise<number> {
  const answer = await fetch(`${world.server.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer sk-${rootKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "gpt-4o-mini", messages: [{ role: "user", content: "hi" }] }),
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
  const { url } = world.server;
  await world.setOption("RetryTimes", "3");
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
  await table.getByText("upstream_500").waitFor();
  await table.getByText("请求发往这里").waitFor();
  await table.getByText("当时有优先级更高的渠道可用").waitFor();
  await page.getByText("路由规则“夜间规则”没有给模型 gpt-4o-mini 留下可用的渠道").waitFor();
  await screenshots(page, "route-call");
  await page.goto("/log?type=6");
  await openFirst(page);
  await page.getByRole("link", { name: "为什么没有渠道" }).click();
  await table.getByText("规则排除").first().waitFor();
  await screenshots(page, "route-none");
  expect(complaints).toEqual([]);
  await context.close();
});
