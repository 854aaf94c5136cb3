// Rules of a channel in the console: an example is added, a mistake is named, the very request is shown without its key, and it is what arrives
// (requirements C32).
import { afterAll, beforeAll, expect, it } from "vitest";
import { chatReply, createFakeUpstream, type FakeUpstream, json } from "#test/emulators/fake-upstream.ts";
import { type ConsoleWorld, openConsoleWorld } from "#test/worlds/console-world.ts";
import { manage } from "#test/worlds/process.ts";

let world: ConsoleWorld;
let upstream: FakeUpstream;

beforeAll(async () => {
  world = await openConsoleWorld();
  upstream = await createFakeUpstream();
  upstream.script(json(chatReply("hi")));
}, 180_000);

afterAll(async () => {
  await world?.close();
  await upstream?.close();
});

it("are written, previewed and used", async () => {
  const { url } = world.server;
  await manage(url, "POST", "/api/channel/", {
    type: 8,
    name: "改写",
    key: "sk-canary-rewrite-0123",
    base_url: upstream.url,
    models: "gpt-4o-mini",
    group: "default",
    config: '{"region":"kept"}',
  });
  const { page, context, complaints } = await world.visit("root");
  await page.goto("/channel/edit/1");
  const rules = page.getByLabel("规则", { exact: true });
  await rules.fill('[{"id":"模型","do":[{"op":"set","path":"/model","value":"x"}]}]');
  await rules.blur();
  await page.getByText("不能修改 model：它由网关决定").waitFor();
  await rules.fill("");
  for (const label of ["设置一个参数", "添加请求头"]) {
    await page.getByRole("button", { name: "添加规则" }).click();
    await page.getByRole("menuitem", { name: label }).click();
  }
  await page.getByRole("button", { name: "预览请求" }).click();
  await page.getByRole("button", { name: "预览", exact: true }).click();
  await page.getByText("生效的规则：固定温度、请求头").waitFor();
  await page.getByText("authorization: Bearer ***").waitFor();
  await page.getByText('"temperature": 0.7').last().waitFor();
  expect(await page.content()).not.toContain("canary");
  await page
    .getByRole("button", { name: "Close" })
    .or(page.getByRole("button", { name: "关闭" }))
    .first()
    .click();
  await page.getByRole("button", { name: "提交", exact: true }).click();
  await page.getByText("渠道更新成功").waitFor();
  const stored = (await manage(url, "GET", "/api/channel/1")) as { config: string };
  expect(JSON.parse(stored.config)).toMatchObject({
    region: "kept",
    rewrite: { v: 1, rules: [{ id: "固定温度" }, { id: "请求头" }] },
  });
  await page.request.get("/api/channel/test/1");
  expect(upstream.journal.at(-1)?.json).toMatchObject({ temperature: 0.7 });
  expect(upstream.journal.at(-1)?.headers["x-request-id"]).toBe("probe");
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto("/channel/edit/1");
  await page.getByRole("button", { name: "预览请求" }).scrollIntoViewIfNeeded();
  await expect.poll(() => rules.inputValue()).toContain("固定温度");
  expect(complaints).toEqual([]);
  await context.close();
});
