// Framed pages, what operators write, many channels at once and the log as a file, in a real browser against the real server.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type HttpEmulator, startHttpEmulator } from "#test/emulators/http-emulator.ts";
import { screenshot } from "#test/worlds/browser.ts";
import { type ConsoleWorld, contentOf, createConsoleWorld } from "#test/worlds/console-world.ts";
import { manage } from "#test/worlds/process.ts";

/** Tries everything a framed page must not do, and says what worked. */
const HOSTILE = `<!doctype html><meta charset="utf-8"><body><script>
  const said = [];
  const attempt = (name, act) => { try { said.push(name + "=" + act()); } catch { said.push(name + " refused"); } };
  attempt("parent", () => parent.document.title);
  attempt("stored", () => parent.localStorage.getItem("user"));
  attempt("top", () => { top.location.href = "https://example.com/"; return "tried"; });
  attempt("storage", () => typeof localStorage);
  document.body.append(said.join(", "));
</script>`;

const world = createConsoleWorld();
let server: ConsoleWorld["server"];
let visit: ConsoleWorld["visit"];
let setOption: ConsoleWorld["setOption"];
let outside: HttpEmulator;

beforeAll(async () => {
  ({ server, visit, setOption } = world);
  outside = await startHttpEmulator(({ path }) =>
    path.includes("subscription")
      ? { json: { hard_limit_usd: 42.5, has_payment_method: true } }
      : { json: { total_usage: 250 } },
  );
}, 180_000);

afterAll(() => outside?.close());

/** What the hostile page managed; its own script is part of its text. */
async function saidByFrame(page: Page): Promise<string> {
  const text = await page.frameLocator("iframe.tg-frame").getByText("parent refused").textContent();
  return text?.trim().split("\n").at(-1)?.trim() ?? "";
}

describe("framed pages", () => {
  it("say what to do while no link is set, and show it once it is", async () => {
    const { page, context } = await visit("root");
    await page.route("https://framed.example/**", (route) =>
      route.fulfill({ contentType: "text/html", body: HOSTILE }),
    );
    const links = { chat: "ChatLink", pricing: "PricingLink", docs: "DocsLink", cheap: "CheapLink" };
    for (const [path, option] of Object.entries(links)) {
      await page.goto(`/${path}`);
      await page.getByText("尚未设置").waitFor();
      await setOption(option, `https://framed.example/${path}`);
      await page.reload();
      const said = await saidByFrame(page);
      expect(said).toBe("parent refused, stored refused, top refused, storage=object");
      expect(new URL(page.url()).pathname).toBe(`/${path}`);
    }
    await context.close();
  });

  it("are of named sites only, also of one that was named after the page was loaded", async () => {
    const { page, context } = await visit("root");
    await page.route("https://*.example/**", (route) =>
      route.fulfill({ contentType: "text/html", body: `<a href="https://elsewhere.example/">on</a>` }),
    );
    await page.goto("/setting?tab=operation");
    await page.getByLabel("聊天页面链接").fill("https://late.example/chat");
    await page.getByRole("button", { name: "保存通用设置" }).click();
    await page.getByText("操作成功完成").first().waitFor();
    await page.getByRole("link", { name: "聊天", exact: true }).click();
    const link = page.frameLocator("iframe.tg-frame").getByRole("link", { name: "on" });
    await link.waitFor();
    const refused = page.waitForEvent("console", (message) => message.text().includes("frame-src"));
    await link.click();
    await refused;
    expect(new URL(page.url()).pathname).toBe("/chat");
    await context.close();
  });

  it("of home and about have no storage of any origin at all", async () => {
    const { page, context } = await visit();
    await page.route("https://framed.example/**", (route) =>
      route.fulfill({ contentType: "text/html", body: HOSTILE }),
    );
    for (const [option, path] of [
      ["About", "/about"],
      ["HomePageContent", "/"],
    ] as const) {
      await setOption(option, "https://framed.example/content");
      await page.goto(path);
      const said = await saidByFrame(page);
      expect(said).toBe("parent refused, stored refused, top refused, storage refused");
      await setOption(option, "");
    }
    await context.close();
  });
});

describe("what the operator writes", () => {
  it("is shown without anything that could run", async () => {
    const { page, context } = await visit();
    const dialogs: string[] = [];
    page.on("dialog", (dialog) => {
      dialogs.push(dialog.message());
      void dialog.dismiss();
    });
    const evil = `<h2>欢迎</h2><p onclick="alert(1)">正文</p><img src="x" onerror="alert(2)"><a href="javascript:alert(3)">去</a>`;
    await setOption("HomePageContent", `${evil}<script>alert(4)</script><iframe srcdoc="x"></iframe>`);
    await setOption(
      "About",
      "# 关于我们\n\n**稳定** 的接口 [文档](https://docs.example/) [坏](javascript:alert(5))",
    );
    await page.goto("/");
    await page.getByRole("heading", { name: "欢迎" }).waitFor();
    await page.getByText("正文").click();
    expect(
      await page
        .locator(".tg-prose script, .tg-prose iframe, .tg-prose [onclick], .tg-prose [onerror]")
        .count(),
    ).toBe(0);
    expect(await page.locator('.tg-prose a[href^="javascript"]').count()).toBe(0);
    await page.goto("/about");
    await page.getByRole("heading", { name: "关于我们" }).waitFor();
    expect(await page.getByRole("main").getByRole("link", { name: "文档" }).getAttribute("rel")).toContain(
      "noopener",
    );
    expect(await page.locator('.tg-prose a[href^="javascript"]').count()).toBe(0);
    expect(dialogs).toEqual([]);
    await setOption("HomePageContent", "");
    await setOption("About", "");
    await context.close();
  });

  it("as a notice is shown until it is dismissed, and again when it changes", async () => {
    const { page, context } = await visit();
    await setOption("Notice", "**今晚维护**");
    await page.goto("/");
    await page.getByText("今晚维护").waitFor();
    await page.getByRole("button", { name: "不再显示" }).click();
    await page.reload();
    await page.getByRole("heading", { name: /大模型接口/ }).waitFor();
    expect(await page.getByText("今晚维护").count()).toBe(0);
    await setOption("Notice", "维护已结束");
    await page.reload();
    await page.getByText("维护已结束").waitFor();
    await setOption("Notice", "");
    await context.close();
  });

  it("as a notice stands at once where it is known, and changes once the server has told another", async () => {
    const { page, context } = await visit();
    await setOption("Notice", "今晚维护");
    await page.goto("/");
    await page.getByText("今晚维护").waitFor();
    await setOption("Notice", "维护已结束");
    const { promise: held, resolve: answer } = Promise.withResolvers<void>();
    await page.route("**/api/notice", async (route) => {
      await held;
      await route.continue();
    });
    await page.reload();
    await page.getByText("今晚维护").waitFor();
    await page.getByRole("heading", { name: /大模型接口/ }).waitFor();
    answer();
    await page.getByText("维护已结束").waitFor();
    expect(await page.getByText("今晚维护").count()).toBe(0);
    await setOption("Notice", "");
    await context.close();
  });

  it("has terms with eleven numbered clauses beside it", async () => {
    const { page, context } = await visit();
    await page.goto("/terms");
    await page.locator(".tg-terms h2").last().waitFor();
    const clauses = await page.locator(".tg-terms h2").allInnerTexts();
    expect(clauses.map((text) => text.split(".")[0])).toEqual(
      Array.from({ length: 11 }, (_, index) => String(index + 1)),
    );
    await context.close();
  });
});

describe("many channels", () => {
  it("are chosen and disabled, enabled, tested and deleted at once", async () => {
    const { page, context } = await visit("root");
    for (const name of ["甲", "乙", "丙"]) {
      await manage(server.url, "POST", "/api/channel/", {
        type: 8,
        name: `渠道${name}`,
        key: `upstream-${name.codePointAt(0)}`,
        base_url: outside.url,
        models: "gpt-4o",
        group: "default",
      });
    }
    await page.goto("/channel");
    await page.getByRole("button", { name: "更新渠道 渠道甲 的余额" }).click();
    await page.getByText("$40.00").waitFor();
    for (const name of ["甲", "乙"])
      await page
        .getByRole("row", { name: new RegExp(`渠道${name}`) })
        .getByRole("checkbox")
        .check();
    const bar = page.getByRole("toolbar", { name: "批量操作" });
    await bar.getByText("已选择 2 项").waitFor();
    await bar.getByRole("button", { name: "禁用" }).click();
    await page.getByText("已禁用 2 个渠道").waitFor();
    await bar.getByRole("button", { name: "启用" }).click();
    await page.getByText("已启用 2 个渠道").waitFor();
    await bar.getByRole("button", { name: "测试" }).click();
    const failed = page.getByRole("dialog", { name: "测试成功 0 个，失败 2 个渠道" });
    for (const name of ["甲", "乙"]) await failed.getByText(`渠道${name}：`).waitFor();
    await failed.getByRole("button", { name: "知道了" }).click();
    await failed.waitFor({ state: "detached" });
    await screenshot(page, "channels-chosen");
    await bar.getByRole("button", { name: "删除" }).click();
    await page.getByRole("textbox", { name: /请输入/ }).fill("删除");
    await page.getByRole("button", { name: "确认删除" }).click();
    await page.getByText("已删除 2 个渠道").waitFor();
    expect(await page.getByRole("row", { name: /渠道[甲乙]/ }).count()).toBe(0);
    await context.close();
  });

  it("are tested in the background, and the disabled ones deleted after a question", async () => {
    const { page, context } = await visit("root");
    await page.goto("/channel");
    await page.getByRole("button", { name: "测试所有渠道" }).click();
    await page.getByText("已开始测试所有渠道").waitFor();
    // The list follows what the tests find, without being asked to, and no longer than they take.
    const list = /\/api\/channel\/\?/;
    const ended = await page.waitForResponse(
      async (response) => list.test(response.url()) && !(await response.json()).testing,
    );
    expect(await ended.json()).toMatchObject({ testing: false });
    const again = page.waitForRequest((request) => list.test(request.url()), { timeout: 6_000 });
    await expect(again).rejects.toThrow(/Timeout/);
    const row = page.getByRole("row", { name: /渠道丙/ });
    await row.getByRole("button", { name: "禁用" }).click();
    await row.getByText("已禁用").waitFor();
    await page.getByRole("button", { name: "删除禁用渠道" }).click();
    await page.getByRole("button", { name: "确认删除" }).click();
    await page.getByText("已删除所有禁用渠道，共计 1 个").waitFor();
    await row.waitFor({ state: "detached" });
    await context.close();
  });
});

describe("the log as a file", () => {
  it("holds the filtered entries without formulas; channels are for administrators", async () => {
    await manage(server.url, "POST", "/api/topup", { user_id: 2, quota: 1000, remark: "=1+1" });
    const root = await visit("root");
    await root.page.goto("/log");
    const coming = root.page.waitForEvent("download");
    await root.page.getByRole("button", { name: "导出 CSV" }).click();
    const download = await coming;
    expect(download.suggestedFilename()).toMatch(/^使用明细-\d{4}-\d\d-\d\d\.csv$/);
    const all = await contentOf(download);
    expect(all.startsWith("\ufeff时间,渠道 ID,渠道,此前失败,用户,")).toBe(true);
    expect(all).toContain("lihua");
    expect(all).not.toMatch(/(^|,)"?[=+@]/m);
    await root.context.close();
    const own = await visit("lihua");
    await own.page.goto("/log?type=1");
    const second = own.page.waitForEvent("download");
    await own.page.getByRole("button", { name: "导出 CSV" }).click();
    const mine = await contentOf(await second);
    expect(mine.split("\r\n")[0]).not.toContain("渠道");
    expect(mine.trim().split("\r\n")).toHaveLength(2);
    await own.context.close();
  });
});

describe("every page of this file", () => {
  it("asked for no address that holds a key", () => {
    expect(world.asked.length).toBeGreaterThan(50);
    expect(world.asked.filter((address) => /sk-[0-9A-Za-z]{20}|[0-9a-f]{32}/.test(address))).toEqual([]);
  });
});
