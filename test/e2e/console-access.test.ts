// For all users: what opens over a page breaks no rule of accessibility (axe), and the main tasks need no mouse. The pages: console-pages.test.ts.
import type { Locator, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { furnishFirst } from "#test/worlds/console-pages.ts";
import { createConsoleWorld } from "#test/worlds/console-world.ts";
import { DESK, settled, violations } from "#test/worlds/page-looks.ts";
import { manage, rootKey } from "#test/worlds/process.ts";

const world = createConsoleWorld();
furnishFirst(world);

interface Finding {
  readonly path: string;
  readonly look: string;
  readonly found: readonly string[];
}

interface Opener {
  readonly path: string;
  readonly open: (page: Page) => Promise<unknown>;
}

const button = (page: Page, name: string | RegExp) => page.getByRole("button", { name }).first();

/** Menus and dialogs that open over a page. */
const openers: readonly Opener[] = [
  {
    path: "/token",
    open: async (page) => {
      await page.keyboard.press("ControlOrMeta+K");
      await page.getByRole("combobox", { name: "跳转或搜索" }).fill("没有这样的东西");
      await page.getByText("没有找到相关内容").waitFor();
    },
  },
  { path: "/token", open: (page) => button(page, "删除").click() },
  { path: "/token", open: (page) => button(page, /的其他形式/).click() },
  { path: "/token", open: (page) => page.getByRole("button", { name: "用户菜单" }).click() },
  { path: "/channel", open: (page) => button(page, "删除禁用渠道").click() },
  { path: "/channel", open: (page) => page.getByLabel("选择本页全部").first().check() },
  {
    path: "/channel",
    open: async (page) => {
      await page.getByLabel("选择本页全部").first().check();
      await page.getByRole("toolbar", { name: "批量操作" }).getByRole("button", { name: "删除" }).click();
    },
  },
  { path: "/log", open: (page) => page.locator("tbody tr.ant-table-row").first().click() },
  { path: "/user/add", open: (page) => button(page, "提交").click() },
  { path: "/setting?tab=other", open: (page) => button(page, "检查更新").click() },
];

describe("what opens over a page, light and dark", () => {
  it("has no serious violation", async () => {
    const { page, context } = await world.visit("root", DESK);
    const findings: Finding[] = [];
    for (const { path, open } of openers) {
      await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
      await page.goto(path);
      await settled(page);
      await open(page);
      for (const look of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme: look });
        await settled(page);
        const found = await violations(page, look === "dark");
        if (found.length > 0) findings.push({ path, look, found });
      }
    }
    expect(findings).toEqual([]);
    await context.close();
  }, 180_000);
});

describe("a list that is still loading", () => {
  it("has a header for each cell, too", async () => {
    const { page, context } = await world.visit("root");
    await page.route("**/api/user/?*", () => undefined);
    await page.goto("/user");
    await page.locator(".tg-bones .tg-bone").first().waitFor();
    expect(await violations(page)).toEqual([]);
    await context.close();
  });
});

describe("the log", () => {
  it("fits 1440 px without scrolling sideways, and tells administrators which channels failed before a call was answered", async () => {
    const { url } = world.server;
    await world.setOption("RetryTimes", "3");
    const broken = {
      type: 1,
      key: "sk-x",
      base_url: "http://127.0.0.1:9",
      models: "gpt-4o",
      group: "default",
    };
    await manage(url, "POST", "/api/channel/", { ...broken, name: "连不上的上游", priority: 99 });
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer sk-${rootKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "gpt-4o", messages: [{ role: "user", content: "hello" }] }),
    });
    expect(answer.status).toBe(200);
    const { page, context } = await world.visit("root", DESK);
    await page.goto("/log?model_name=gpt-4o");
    const entry = page.locator("tbody tr.ant-table-row").first();
    await entry.waitFor();
    const areas = page.getByRole("group", { name: /可横向滚动/ });
    const hidden = await areas.evaluateAll((all) => all.map((area) => area.scrollWidth - area.clientWidth));
    expect(hidden.length).toBeGreaterThan(0);
    expect(hidden.filter((pixels) => pixels > 0)).toEqual([]);
    await entry.click();
    const attempts = page.getByRole("dialog").getByRole("listitem");
    expect(await attempts.allTextContents()).toEqual([
      expect.stringMatching(/^#4 连不上的上游无法连接或等待超时$/),
      expect.stringMatching(/^#1 上游一号完成请求$/),
    ]);
    await context.close();
  });
});

/** Presses Tab until the keyboard is at `target`. Throws: when it is not reached within a page's worth of stops. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  for (let stops = 0; stops < 120; stops += 1) {
    if (await target.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`the keyboard does not reach ${target}`);
}

async function typeInto(page: Page, target: Locator, text: string): Promise<void> {
  await tabTo(page, target);
  await page.keyboard.press("ControlOrMeta+A");
  await page.keyboard.type(text);
}

async function press(page: Page, target: Locator): Promise<void> {
  await tabTo(page, target);
  await page.keyboard.press("Enter");
}

describe("without a mouse", () => {
  it("a user logs in, creates a token and copies its key", async () => {
    const { page, context } = await world.visit();
    await page.goto("/login");
    await typeInto(page, page.getByRole("textbox", { name: "用户名" }), "lihua");
    await typeInto(page, page.getByRole("textbox", { name: "密码" }), "river-stone-42");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/token");
    await press(page, page.getByRole("link", { name: "添加新的令牌" }));
    await page.waitForURL("**/token/add");
    await typeInto(page, page.locator("#name"), "键盘");
    await press(page, page.getByRole("button", { name: "提交", exact: true }));
    await page.waitForURL("**/token");
    await press(page, page.getByRole("button", { name: "复制令牌 键盘 的密钥" }));
    await page.getByText("已复制").first().waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toMatch(/^sk-[0-9A-Za-z]{48}$/);
    await press(page, page.getByRole("row", { name: /键盘/ }).getByRole("button", { name: "删除" }));
    await press(page, page.getByRole("button", { name: "确认删除" }));
    await page.getByRole("row", { name: /键盘/ }).waitFor({ state: "detached" });
    await context.close();
  });

  it("an administrator adds a channel, reached through the palette", async () => {
    const { page, context } = await world.visit("root");
    await page.goto("/token");
    await page.getByRole("heading", { name: "我的令牌" }).waitFor();
    await page.keyboard.press("ControlOrMeta+K");
    await page.getByRole("combobox", { name: "跳转或搜索" }).waitFor();
    await page.keyboard.type("添加新的渠道");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/channel/add");
    await typeInto(page, page.locator("#name"), "键盘渠道");
    await typeInto(page, page.locator("#key"), "sk-keyboard");
    await typeInto(page, page.getByLabel("自定义模型名称"), "gpt-4o-mini");
    await page.keyboard.press("Enter");
    await press(page, page.getByRole("button", { name: "提交", exact: true }));
    await page.waitForURL("**/channel");
    await page.getByRole("row", { name: /键盘渠道/ }).waitFor();
    await context.close();
  });

  it("the log is filtered, and an entry opened and closed, with the keyboard back where it was", async () => {
    const { page, context } = await world.visit("root");
    await page.goto("/log");
    await page
      .getByRole("row", { name: /gpt-4o-mini/ })
      .first()
      .waitFor();
    await typeInto(page, page.getByLabel("模型名称"), "gpt-4o-mini");
    // The rows are others once the answer is there.
    const answered = page.waitForResponse(/\/api\/log\/\?.*model_name=gpt-4o-mini/);
    await page.keyboard.press("Enter");
    await page.waitForURL(/model_name=gpt-4o-mini/);
    await answered;
    const entry = page.locator("tbody tr.ant-table-row").first();
    await press(page, entry);
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    await expect.poll(() => entry.evaluate((row) => row === document.activeElement)).toBe(true);
    await context.close();
  });

  it("a question and a menu take the keyboard and give it back", async () => {
    const { page, context } = await world.visit("lihua");
    await page.goto("/token");
    const row = page.getByRole("row", { name: /生产环境/ });
    const isHere = (target: Locator) =>
      expect.poll(() => target.evaluate((element) => element === document.activeElement)).toBe(true);
    const remove = row.getByRole("button", { name: "删除" });
    await press(page, remove);
    await isHere(page.getByRole("button", { name: "取消" }));
    await page.keyboard.press("Escape");
    await isHere(remove);
    const more = row.getByRole("button", { name: "复制令牌 生产环境 的其他形式" });
    await press(page, more);
    await isHere(page.getByRole("menuitem", { name: "复制密钥" }));
    await page.keyboard.press("Enter");
    await page.getByText("已复制").first().waitFor();
    await isHere(more);
    const columns = page.getByRole("button", { name: "选择显示的列" });
    await columns.focus();
    await page.keyboard.press("Enter");
    await isHere(page.getByRole("checkbox", { name: "状态" }));
    await page.keyboard.press("Escape");
    await isHere(columns);
    await context.close();
  });

  it("a pill tells why a channel is disabled", async () => {
    const { page, context } = await world.visit("root");
    await page.goto("/channel");
    await tabTo(page, page.getByRole("row", { name: /上游二号/ }).getByText("已禁用"));
    await page.getByRole("tooltip", { name: "本渠道被手动禁用" }).waitFor();
    await context.close();
  });

  it("a field is emptied by a button with a Chinese name", async () => {
    const { page, context } = await world.visit("root");
    await page.goto("/log?model_name=gpt-4o-mini");
    await press(page, page.getByRole("button", { name: "清除", exact: true }));
    expect(await page.getByLabel("模型名称").inputValue()).toBe("");
    await page.goto("/channel/edit/1");
    await page.getByRole("button", { name: "清除", exact: true }).first().waitFor();
    await context.close();
  });

  it("settings are saved", async () => {
    const { page, context } = await world.visit("root");
    await page.goto("/setting?tab=other");
    await typeInto(page, page.getByLabel("系统名称"), "键盘站");
    await press(page, page.getByRole("button", { name: "保存个性化设置" }));
    await page.getByRole("link", { name: "键盘站 首页" }).waitFor();
    await context.close();
  });

  it("the arrows between pages say where they lead", async () => {
    const { page, context } = await world.visit("root");
    await page.goto("/log");
    await page.getByRole("button", { name: "上一页" }).waitFor();
    expect(await page.getByRole("button", { name: "下一页" }).count()).toBe(1);
    await context.close();
  });
});
