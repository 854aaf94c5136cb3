// The forms of channels and tokens as the specification wants them: what they refuse, their defaults, presets and batches.
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { startHttpEmulator } from "#test/emulators/http-emulator.ts";
import { createConsoleWorld } from "#test/worlds/console-world.ts";

const world = createConsoleWorld();

/** The form of a new channel, once it knows which models belong to which type: a change of type fills them in. */
async function openNewChannel(page: Page): Promise<void> {
  await page.goto("/channel/add");
  await page.getByText(/有 [1-9]\d* 个相关模型/).waitFor();
}

/** Picks a type by its name once the list offers it. */
async function chooseType(page: Page, label: string): Promise<void> {
  await page.getByLabel("类型").fill(label);
  await page.locator(".ant-select-item-option-active").filter({ hasText: label }).waitFor();
  await page.keyboard.press("Enter");
}

describe("channels (requirements B5)", () => {
  it("have a form that refuses what is missing, and knows keys, defaults and batches of each type (requirements B5)", async () => {
    const { page, context } = await world.visit("root");
    const sent: unknown[] = [];
    page.on("request", (request) => {
      if (request.method() === "POST" && request.url().endsWith("/api/channel/"))
        sent.push(request.postDataJSON());
    });
    await openNewChannel(page);
    const submit = page.getByRole("button", { name: "提交", exact: true });
    await submit.click();
    await page.getByText("请填写渠道名称和渠道密钥").first().waitFor();
    await page.getByText("请至少选择一个模型").waitFor();
    const choose = (label: string) => chooseType(page, label);
    for (const [label, hint] of [
      ["百度文心千帆", "APIKey|SecretKey"],
      ["讯飞星火认知", "APPID|APISecret|APIKey"],
      ["知识库：FastGPT", "APIKey-AppId"],
      ["腾讯混元", "AppId|SecretId|SecretKey"],
    ] as const) {
      await choose(label);
      await expect.poll(() => page.locator("#key").getAttribute("placeholder")).toContain(hint);
      // The placeholder is gone once something is typed, the line below is not.
      await page.locator("#key_extra").getByText(hint).waitFor();
      if (label === "讯飞星火认知") expect(await page.locator("#other").inputValue()).toBe("v2.1");
    }
    await choose("Azure OpenAI");
    await expect.poll(() => page.locator("#other").inputValue()).toBe("2023-06-01-preview");
    await choose("自定义渠道");
    await page.getByLabel("名称", { exact: true }).fill("批量");
    await page.getByLabel("Base URL").fill("https://up.example/v1/");
    await page.getByRole("button", { name: "清除所有模型" }).click();
    await page.getByLabel("自定义模型名称").fill("gpt-4o, my-model");
    await page.getByRole("button", { name: "填入", exact: true }).click();
    await page.getByLabel("批量创建").check();
    await page.locator("textarea#key").fill("key-one\n\nkey-two\n");
    await page.getByText("将创建 2 个渠道").waitFor();
    await page.getByText("JSON", { exact: true }).first().click();
    const mapping = page.getByPlaceholder(/my-deployment/);
    await mapping.fill("{broken");
    await submit.click();
    await page.getByText("模型映射必须是合法的 JSON 格式").first().waitFor();
    expect(sent).toEqual([]);
    await mapping.fill('{"gpt-4o":"mine"}');
    await submit.click();
    await page.getByText("已创建 2 个渠道").waitFor();
    expect(sent).toMatchObject([
      { type: 8, base_url: "https://up.example/v1", models: "gpt-4o,my-model", key: "key-one\nkey-two" },
    ]);
    await context.close();
  });

  it("read the list of models of the upstream, with what the form holds", async () => {
    const upstream = await startHttpEmulator(({ headers }) =>
      headers["authorization"] === "Bearer up-key"
        ? { json: { data: [{ id: "deep-1" }, { id: "deep-2" }] } }
        : { status: 401, json: {} },
    );
    const { page, context } = await world.visit("root");
    await openNewChannel(page);
    await page.getByLabel("类型").fill("自定义渠道");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "清除所有模型" }).click();
    await page.getByLabel("Base URL").fill(upstream.url);
    await page.locator("#key").fill("wrong");
    await page.getByRole("button", { name: "获取上游模型" }).click();
    await page.getByText("获取模型列表失败，上游返回状态码 401").waitFor();
    await page.locator("#key").fill("up-key");
    await page.getByRole("button", { name: "获取上游模型" }).click();
    await page.getByText("上游提供 2 个模型").waitFor();
    await page.getByRole("button", { name: "填入上游模型" }).click();
    await page.getByText(/已选 2 个/).waitFor();
    // The chosen names; the list of the field has rows of the same text that are not shown.
    const chosen = page.locator('.tg-models .ant-select [title^="deep-"]');
    expect(await chosen.allTextContents()).toEqual(["deep-1", "deep-2"]);
    // Another type is another upstream: what the first one has is not offered any more.
    await page.getByLabel("类型").fill("DeepSeek");
    await page.keyboard.press("Enter");
    await page.getByText(/DeepSeek 有 \d+ 个相关模型/).waitFor();
    expect(await page.getByRole("button", { name: "填入上游模型" }).count()).toBe(0);
    await upstream.close();
    await context.close();
  });

  it("say which models have no price, where a row of the price table is begun for them (requirements W10.8)", async () => {
    const { page, context } = await world.visit("root");
    await openNewChannel(page);
    await page.locator("#name").fill("本地");
    await page.locator("#key").fill("sk-local");
    const note = page.getByRole("alert").filter({ hasText: "还没有价格" });
    expect(await note.count()).toBe(0);
    await page.getByLabel("自定义模型名称").fill("house-llm,house-tiny");
    await page.keyboard.press("Enter");
    await note.getByText("2 个模型还没有价格").waitFor();
    await page.getByRole("button", { name: "提交", exact: true }).click();
    await page.getByText("渠道创建成功！").waitFor();
    await page.goto("/channel/add");
    await page.getByLabel("自定义模型名称").fill("house-llm");
    await page.keyboard.press("Enter");
    const [settings] = await Promise.all([
      context.waitForEvent("page"),
      note.getByRole("link", { name: "设置价格" }).click(),
    ]);
    await settings.getByRole("row").filter({ hasText: "house-llm" }).waitFor();
    await settings.goto("/price/ratio");
    const prices = settings.locator("#model-ratio");
    await prices.getByRole("heading", { name: "渠道中有、但没有价格的模型" }).waitFor();
    expect(await prices.getByRole("listitem").allTextContents()).toEqual(
      expect.arrayContaining(["house-llm", "house-tiny"]),
    );
    await prices.getByRole("button", { name: "为 house-llm 添加价格" }).click();
    await prices.getByRole("spinbutton", { name: "house-llm 的价格", exact: true }).fill("3");
    await prices.getByRole("button", { name: "为 house-tiny 添加价格" }).click();
    await prices
      .getByRole("button", { name: /^为 house-.* 添加价格$/ })
      .first()
      .waitFor({ state: "detached" });
    await prices.getByRole("button", { name: "保存模型倍率" }).click();
    await settings.getByText("操作成功完成").waitFor();
    await context.close();
  });

  it("show why the server refuses a key", async () => {
    const { page, context } = await world.visit("root");
    await openNewChannel(page);
    await chooseType(page, "AWS Bedrock");
    await page.getByLabel("名称", { exact: true }).fill("云");
    await page.locator("#key").fill("AKIA-alone");
    await page.getByRole("button", { name: "提交", exact: true }).click();
    await page.getByText("密钥格式应为 AK|SK|Region 或 APIKey|Region").waitFor();
    await context.close();
  });

  it("take priority and weight in place: empty is ignored, a weight below 0 becomes 0", async () => {
    const { page, context } = await world.visit("root");
    const sent: unknown[] = [];
    page.on("request", (request) => {
      if (request.method() === "PUT") sent.push(request.postDataJSON());
    });
    await page.goto("/channel");
    const weight = page.getByLabel(/的权重$/).first();
    await weight.fill("5");
    await weight.press("Enter");
    await page.getByText("操作成功").first().waitFor();
    await weight.fill("-7");
    await weight.press("Enter");
    const priority = page.getByLabel(/的优先级$/).first();
    await priority.fill("");
    await priority.press("Enter");
    await expect.poll(() => sent).toMatchObject([{ weight: 5 }, { weight: 0 }]);
    await context.close();
  });

  it("pass no field of the old type on when another is chosen, and bring it back with its type", async () => {
    const { page, context } = await world.visit("root");
    const draft = { type: 3, name: "版本", key: "k", base_url: "https://a.example", other: "2024-10-21" };
    await page.request.post("/api/channel/", { data: { ...draft, models: "gpt-4o", group: "default" } });
    await page.goto("/channel");
    await page.locator("tr", { hasText: "版本" }).getByRole("button", { name: "编辑" }).click();
    const other = page.locator("#other");
    await expect.poll(() => other.inputValue()).toBe("2024-10-21");
    await chooseType(page, "讯飞星火认知");
    await expect.poll(() => other.inputValue()).toBe("v2.1");
    await chooseType(page, "Azure OpenAI");
    await expect.poll(() => other.inputValue()).toBe("2024-10-21");
    await context.close();
  });
});

describe("tokens (requirements B2, B5)", () => {
  it("have a form with a default quota, presets of time, and a name that must be there", async () => {
    const { page, context } = await world.visit("lihua");
    await page.goto("/token/add");
    // Typing can begin at once.
    await page.locator("#name:focus").waitFor();
    expect(await page.locator("#remain_quota").inputValue()).toBe("500000");
    await page.getByRole("button", { name: "提交" }).click();
    await page.getByText("请输入令牌名称").waitFor();
    const expiry = page.getByLabel("过期时间");
    for (const [preset, seconds] of [
      ["一个月后过期", 30 * 86_400],
      ["一天后过期", 86_400],
      ["一小时后过期", 3_600],
      ["一分钟后过期", 60],
    ] as const) {
      await page.getByRole("button", { name: preset }).click();
      const ahead = async () => (new Date(await expiry.inputValue()).getTime() - Date.now()) / 1000;
      await expect
        .poll(async () => Math.abs((await ahead()) - seconds), { message: preset })
        .toBeLessThan(30);
    }
    await page.getByRole("button", { name: "永不过期" }).click();
    await page.getByLabel("名称").fill("永远");
    const call = page.waitForRequest((request) => request.method() === "POST");
    await page.getByRole("button", { name: "提交" }).click();
    expect((await call).postDataJSON()).toMatchObject({ expired_time: -1, remain_quota: 500_000 });
    await page.waitForURL("**/token");
    await context.close();
  });

  it("are copied as the configuration of a client, with address, key and a model", async () => {
    const { page, context } = await world.visit("root");
    await page.goto("/token");
    await page
      .getByRole("button", { name: /^复制令牌 .* 的其他形式$/ })
      .first()
      .click();
    await page.getByRole("menuitem", { name: "客户端配置…" }).click();
    const dialog = page.getByRole("dialog", { name: /^客户端配置/ });
    await dialog.getByRole("button", { name: "复制", exact: true }).click();
    await page.getByText("已复制到剪贴板！").waitFor();
    // The sentence may still be that of the copy before.
    const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
    await expect.poll(clipboard).toContain("{");
    const copied: unknown = JSON.parse(await clipboard());
    expect(copied).toEqual({
      env: {
        ANTHROPIC_BASE_URL: world.server.url,
        ANTHROPIC_AUTH_TOKEN: expect.stringMatching(/^sk-\w{48}$/),
        ANTHROPIC_MODEL: expect.stringMatching(/./),
      },
    });
    await context.close();
  });

  it("come into the search box, with their prefix, when the clipboard refuses them (requirements B8)", async () => {
    const { page, context } = await world.visit("root");
    await page.addInitScript(() => {
      navigator.clipboard.writeText = () => Promise.reject(new Error("refused"));
    });
    await page.goto("/token");
    const copy = page.getByRole("button", { name: /^复制令牌 .* 的密钥$/ }).first();
    const box = page.getByLabel("搜索令牌的名称");
    await copy.click();
    await page.getByText("无法复制到剪贴板，请手动复制").waitFor();
    expect(await box.inputValue()).toMatch(/^sk-[0-9A-Za-z]{48}$/);
    expect(page.url()).not.toContain("sk-");
    // Again and again, and what is searched for then stays there.
    await box.fill("");
    await copy.click();
    await expect.poll(() => box.inputValue()).toMatch(/^sk-[0-9A-Za-z]{48}$/);
    await box.fill("beta");
    await box.press("Enter");
    await page.waitForURL("**/token?keyword=beta");
    await page.getByText("没有找到与“beta”匹配的内容").waitFor();
    expect(await box.inputValue()).toBe("beta");
    await context.close();
  });
});

describe("leaving a form (console.md, Forms)", () => {
  it("with changes asks first; staying keeps them, going drops them, and without changes nothing is asked", async () => {
    const { page, context } = await world.visit("lihua");
    const dialog = page.getByRole("dialog", { name: "放弃未保存的修改？" });
    const leave = () => page.getByRole("menuitem", { name: "充值" }).click();
    await page.goto("/token/add");
    await page.locator("#name").fill("写到一半");
    await leave();
    await dialog.getByRole("button", { name: "继续编辑" }).click();
    await dialog.waitFor({ state: "hidden" });
    expect(new URL(page.url()).pathname).toBe("/token/add");
    expect(await page.locator("#name").inputValue()).toBe("写到一半");
    await leave();
    await dialog.getByRole("button", { name: "放弃修改" }).click();
    await page.waitForURL("**/topup");
    await page.goto("/token/add");
    await page.locator("#name").waitFor();
    await leave();
    await page.waitForURL("**/topup");
    expect(await dialog.count()).toBe(0);
    await context.close();
  });
});
