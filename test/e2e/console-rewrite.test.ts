// Rules of a channel in the console: made by a form, with mistakes named at their fields; the same as JSON; the very request of any kind is
// shown without its key, and it is what arrives (requirements C32).
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { chatReply, createFakeUpstream, type FakeUpstream, json } from "#test/emulators/fake-upstream.ts";
import { screenshot, screenshots } from "#test/worlds/browser.ts";
import { createConsoleWorld } from "#test/worlds/console-world.ts";
import { manage } from "#test/worlds/process.ts";

const world = createConsoleWorld();
let upstream: FakeUpstream;

beforeAll(async () => {
  upstream = await createFakeUpstream();
  upstream.script(json(chatReply("hi")));
  await manage(world.server.url, "POST", "/api/channel/", {
    type: 8,
    name: "改写",
    key: "sk-canary-rewrite-0123",
    base_url: upstream.url,
    models: "gpt-4o-mini",
    group: "default",
    config: '{"region":"kept"}',
  });
}, 180_000);

afterAll(() => upstream?.close());

async function stored() {
  const { config } = (await manage(world.server.url, "GET", "/api/channel/1")) as { config: string };
  return JSON.parse(config);
}

const box = (page: Page, number: number) => page.getByRole("region", { name: `第 ${number} 条规则` });

/** Requests of other kinds, and what is told of each: where it goes, and how far rules reach. */
const KINDS = [
  ["Responses", "/v1/responses", "规则可以改写请求体和请求头"],
  ["后台响应", "/v1/responses", '"background": true'],
  ["生成图片", "/v1/images/generations", "规则可以改写请求体和请求头"],
  ["语音合成", "/v1/audio/speech", "规则可以改写请求体和请求头"],
  ["视频", "POST http", "/v1/videos"],
  ["实时会话", "GET http", "会话：规则改写建立连接的请求头"],
  ["模型列表", "GET http", "查询类请求：规则只改请求头", "（没有 JSON 请求体）"],
] as const;

async function addRule(page: Page, label: string): Promise<void> {
  await page.getByRole("button", { name: "添加规则" }).click();
  await page.getByRole("menuitem", { name: label }).click();
}

/** Chooses in a menu of the form, which may be longer than what is shown of it. */
async function choose(page: Page, menu: ReturnType<Page["getByLabel"]>, label: string): Promise<void> {
  await menu.click();
  await page.locator(".ant-select-dropdown:visible").getByTitle(label, { exact: true }).click();
}

it("are made by a form, shown and used", { timeout: 120_000 }, async () => {
  await world.setOption("ResponsesStateEnabled", "true");
  const { page, context, complaints } = await world.visit("root");
  await page.goto("/channel/edit/1");
  await addRule(page, "空白规则");
  const first = box(page, 1);
  await first.getByLabel("规则名称").fill("温度");
  await first.getByLabel("路径").fill("/model");
  await first.getByLabel("路径").blur();
  await first.getByText("/model：不能修改 model：它由网关决定").waitFor();
  await first.getByLabel("路径").fill("/temperature");
  await choose(page, first.getByLabel("值的类型"), "数字");
  await first.getByLabel("值", { exact: true }).fill("0.7");
  await first.getByLabel("值", { exact: true }).blur();
  await expect.poll(() => first.getByText("不能修改 model").count()).toBe(0);
  await first.getByRole("button", { name: "给第 1 条规则添加条件", exact: true }).click();
  await choose(page, first.getByLabel("条件", { exact: true }), "字段匹配");
  await first.getByLabel("路径").first().fill("/model");
  await first.getByLabel("模式").fill("gpt-4o*");
  await addRule(page, "添加请求头");
  const second = box(page, 2);
  await second.getByLabel("请求头名称").fill("Host");
  await second.getByLabel("请求头名称").blur();
  await second.getByText("这个请求头由网关决定，不能修改").waitFor();
  await page.getByRole("button", { name: "提交", exact: true }).click();
  expect(await page.getByText("渠道更新成功").count()).toBe(0);
  await second.getByLabel("请求头名称").fill("X-Trace");
  await page.getByRole("button", { name: "第 2 条规则上移", exact: true }).click();
  await page.getByRole("heading", { name: "第 1 条规则：请求头" }).waitFor();
  await page.getByRole("button", { name: "复制第 1 条规则" }).click();
  await page.getByRole("heading", { name: "第 2 条规则：请求头 2" }).waitFor();
  await page.getByRole("button", { name: "删除第 2 条规则", exact: true }).click();
  await page.getByRole("heading", { name: "第 2 条规则：温度" }).scrollIntoViewIfNeeded();
  await screenshots(page, "rewrite-form");

  await page.getByRole("button", { name: "预览请求" }).click();
  const dialog = page.getByRole("dialog", { name: "预览请求" });
  await dialog.getByRole("button", { name: "预览", exact: true }).click();
  await dialog.getByText("生效的规则：请求头、温度").waitFor();
  await dialog.getByText("authorization: Bearer ***").waitFor();
  await dialog.getByText(`POST ${upstream.url}/v1/chat/completions`).waitFor();
  await dialog.getByText('"temperature": 0.7').waitFor();
  await screenshots(page, "rewrite-preview");
  expect(await page.content()).not.toContain("canary");
  for (const [kind, ...texts] of KINDS) {
    await choose(page, dialog.getByLabel("客户端的请求", { exact: true }), kind);
    await dialog.getByRole("button", { name: "预览", exact: true }).click();
    for (const text of texts) await dialog.getByText(text).first().waitFor();
  }
  await page.keyboard.press("Escape");

  await page.getByRole("button", { name: "提交", exact: true }).click();
  await page.getByText("渠道更新成功").waitFor();
  expect(await stored()).toEqual({
    region: "kept",
    rewrite: {
      v: 1,
      rules: [
        { id: "请求头", do: [{ op: "setHeader", name: "X-Trace", value: "{{request_id}}" }] },
        {
          id: "温度",
          when: { like: { "/model": "gpt-4o*" } },
          do: [{ op: "set", path: "/temperature", value: 0.7 }],
        },
      ],
    },
  });
  await page.request.get("/api/channel/test/1");
  expect(upstream.journal.at(-1)?.json).toMatchObject({ temperature: 0.7 });
  expect(upstream.journal.at(-1)?.headers["x-trace"]).toBe("probe");
  expect(complaints).toEqual([]);
  await context.close();
});

it("are the same as JSON, back and forth; what the form cannot show stays there", {
  timeout: 120_000,
}, async () => {
  const rules = [
    { id: "a", do: [{ op: "remove", path: "/top_p" }] },
    { id: "b", do: [{ op: "passHeader", name: "X-Client" }] },
  ];
  const config = JSON.stringify({ rewrite: { v: 1, rules } });
  await manage(world.server.url, "PUT", "/api/channel/", { id: 1, config });
  const { page, context, complaints } = await world.visit("root");
  await page.emulateMedia({ colorScheme: "dark" });
  await page.goto("/channel/edit/1");
  const mode = page.getByRole("radiogroup", { name: "规则的编辑方式" });
  await box(page, 2).waitFor();
  await page.getByRole("button", { name: "预览请求" }).click();
  const dialog = page.getByRole("dialog", { name: "预览请求" });
  await dialog.getByRole("button", { name: "添加一行" }).click();
  await dialog.getByLabel("第 1 行名称").fill("x-client");
  await dialog.getByLabel("第 1 行值").fill("cli/7");
  await dialog.getByRole("button", { name: "预览", exact: true }).click();
  await dialog.getByText("X-Client: cli/7").scrollIntoViewIfNeeded();
  await screenshots(page, "rewrite-preview-dark");
  await page.keyboard.press("Escape");
  await mode.getByText("JSON").click();
  const text = page.getByLabel("规则", { exact: true });
  expect(JSON.parse(await text.inputValue())).toEqual(rules);
  await text.fill('[{"id":"后来","do":[{"op":"later","path":"/a"}]}]');
  await mode.getByText("表单").click();
  await page.getByText("第 1 条规则有表单不能显示的内容，请用 JSON 编辑").waitFor();
  await text.fill('[{"id":"模型","do":[{"op":"set","path":"/model","value":"x"}]}]');
  await text.blur();
  await page.getByText("不能修改 model：它由网关决定").waitFor();
  const any = [{ stream: true, formats: ["chat", "messages"] }, { equals: { "/user": null } }];
  const whole = [
    ...rules,
    {
      id: "截断 user",
      when: { models: ["gpt-*"], has: ["/user"], header: { "user-agent": "codex*" }, any },
      do: [
        { op: "text", path: "/user", how: "replace", value: "a", with: "b" },
        { op: "set", path: "/metadata", value: { tier: ["a"] } },
      ],
    },
  ];
  await text.fill(JSON.stringify(whole));
  await screenshot(page, "rewrite-json-dark");
  await mode.getByText("表单").click();
  await box(page, 3).getByText("条件组 2（任意一组符合即可）").scrollIntoViewIfNeeded();
  await screenshots(page, "rewrite-form-dark");
  await box(page, 3).getByText("操作 2").scrollIntoViewIfNeeded();
  await screenshots(page, "rewrite-actions-dark");
  const object = box(page, 3).getByLabel("值", { exact: true }).last();
  await object.fill('{ "tier": [');
  await mode.getByText("JSON").click();
  await box(page, 3).getByText("JSON 格式有误：第 1 行第 12 列").waitFor();
  await object.fill('{ "tier": ["a"] }');
  await mode.getByText("JSON").click();
  expect(JSON.parse(await text.inputValue())).toEqual(whole);
  await page.getByRole("button", { name: "提交", exact: true }).click();
  await page.getByText("渠道更新成功").waitFor();
  expect((await stored()).rewrite.rules).toEqual(whole);
  expect(complaints).toEqual([]);
  await context.close();
});
