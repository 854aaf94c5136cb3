// Statements in a real browser: on the page, on paper and as a file, in the language of their reader; and those of a user for who keeps the books.
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { monthOf } from "#contract/month.ts";
import { screenshot, screenshots } from "#test/worlds/browser.ts";
import { bytesOf, createConsoleWorld } from "#test/worlds/console-world.ts";
import { readPdf } from "#test/worlds/pdf-reader.ts";
import { manage } from "#test/worlds/process.ts";

const CHINESE = /[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]/;
const month = monthOf(Date.now() / 1_000);
const world = createConsoleWorld();

beforeAll(async () => {
  const { url } = world.server;
  await manage(url, "PUT", "/api/user/", { id: 2, username: "lihua", quota: 1_500_000, remark: "测试" });
}, 180_000);

/** What the button's file says. */
async function downloaded(page: Page, button: string) {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: button }).click(),
  ]);
  return { name: download.suggestedFilename(), ...readPdf(await bytesOf(download)) };
}

describe("a statement", () => {
  it("is a file with what the page says", async () => {
    const { context, page, complaints } = await world.visit("lihua");
    await page.goto(`/statement/${month}`);
    await page.getByRole("heading", { name: "额度", exact: true }).waitFor();
    await screenshots(page, "statement-month");
    const { name, texts } = await downloaded(page, "下载 PDF");
    expect(name).toBe(`statement-${month}-2.pdf`);
    expect(texts).toEqual(expect.arrayContaining(["期初", "期末", "lihua (#2)", "1,500,000"]));
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("adds up as it is shown, also where a dollar is no round number of units", async () => {
    await world.setOption("QuotaPerUnit", "300000");
    const { context, page, complaints } = await world.visit("lihua");
    // A month of several tokens, plans and tags, as the server would tell it.
    await page.route(`**/api/statement/${month}`, async (route) => {
      const answer = await (await route.fetch()).json();
      const row = { model_name: "claude-sonnet-4-5", calls: 1_234, plan_quota: 70_001, shortfall: 0 };
      const tokens = { prompt_tokens: 12_345_678, cached_tokens: 2_345_678, completion_tokens: 456_789 };
      const few = { prompt_tokens: 2_000, cached_tokens: 0, completion_tokens: 11 };
      // Of the third they are not known, as it was called before a newer version summed them.
      const usage = [
        { ...row, token_id: 1, token_name: "客服机器人", tags: "正式,客服", quota: 1_234_567, tokens },
        {
          ...{ ...row, tokens: few },
          token_id: 2,
          token_name: "数据分析",
          tags: "正式",
          quota: 400_000,
          plan_quota: 1,
        },
        { ...row, token_id: 3, token_name: "临时", tags: "", quota: 1, plan_quota: 0, shortfall: 5 },
      ];
      const sums = [
        { kind: "pay", entries: 1, quota: 3_000_001 },
        { kind: "consume", entries: 3_702, quota: -1_634_568 },
      ];
      const data = { ...answer.data, opening: 1, closing: 1_365_434, debt: 20_000, usage, sums };
      await route.fulfill({ json: { ...answer, data } });
    });
    await page.goto(`/statement/${month}`);
    await page
      .getByRole("row", { name: /^四舍五入差/ })
      .first()
      .waitFor();
    const section = (title: string) =>
      page.locator(".tg-section").filter({ has: page.getByRole("heading", { name: title, exact: true }) });
    const cells = (title: string, name: RegExp) =>
      section(title).getByRole("row", { name }).getByRole("cell").allTextContents();
    expect(await cells("额度", /^四舍五入差/)).toEqual(["四舍五入差", "", "$0.000001", ""]);
    expect(await cells("额度", /^期末/)).toEqual(["期末", "", "$4.551447", "1,365,434"]);
    expect(await cells("用量", /^四舍五入差/)).toEqual([
      ...["四舍五入差", "", "$0.000001", "", "", "", "", "", "—", "—", ""],
    ]);
    expect(await cells("用量", /^合计/)).toEqual([
      ...["合计", "", "$5.448560", "1,634,568", "3,702", "—", "—", "—"],
      ...["$0.233340", "$0.000017", ""],
    ]);
    expect(await cells("按标签", /^正式/)).toEqual([
      ...["正式", "$5.448557", "1,634,567", "2,468", "12,347,678", "2,345,678", "456,800"],
      ...["$0.233340", "—"],
    ]);
    await screenshots(page, "statement-rounded");
    await section("按标签").scrollIntoViewIfNeeded();
    await screenshots(page, "statement-rounded-tags");
    // On a telephone the columns of tokens would be out of sight.
    await page.setViewportSize({ width: 390, height: 844 });
    await expect
      .poll(async () => (await cells("用量", /^客服机器人/)).slice(0, 3))
      .toEqual(["客服机器人", "claude-sonnet-4-5提示 12,345,678其中缓存 2,345,678补全 456,789", "$4.115223"]);
    expect((await cells("用量", /^临时/))[1]).toBe("claude-sonnet-4-5");
    expect((await cells("按标签", /^正式/))[0]).toBe("正式提示 12,347,678其中缓存 2,345,678补全 456,800");
    expect(complaints).toEqual([]);
    await context.close();
    await world.setOption("QuotaPerUnit", "500000");
  });

  it("is English for a reader of English, on the page, printed and as a file", async () => {
    const { context, page } = await world.visit("lihua", undefined, { locale: "en-US" });
    await page.goto(`/statement/${month}`);
    await page.getByRole("heading", { name: "Quota", exact: true }).waitFor();
    await page.emulateMedia({ media: "print" });
    await screenshot(page, "statement-print-en");
    expect(await page.locator("main").textContent()).not.toMatch(CHINESE);
    expect(await page.title()).not.toMatch(CHINESE);
    await page.emulateMedia({ media: "screen" });
    const { texts, title } = await downloaded(page, "Download PDF");
    expect(title).toMatch(/^Monthly statement \d+\/\d{4}$/);
    expect(texts).toEqual(expect.arrayContaining(["Opening", "Closing", "lihua (#2)", "1,500,000"]));
    expect(texts.filter((text) => CHINESE.test(text))).toEqual([]);
    await context.close();
  });

  it("of a user is read by who keeps the books", async () => {
    const { context, page } = await world.visit("root");
    await page.goto("/user");
    const row = page.getByRole("row").filter({ hasText: "lihua" });
    await row.getByRole("button", { name: "账单" }).waitFor();
    await screenshots(page, "users-with-statements");
    await row.getByRole("button", { name: "账单" }).click();
    await page.getByRole("heading", { name: "用户账单 #2" }).waitFor();
    await screenshots(page, "statement-of-user");
    await page.getByRole("link", { name: "本期至今" }).click();
    await page.getByRole("heading", { name: "额度", exact: true }).waitFor();
    expect((await downloaded(page, "下载 PDF")).texts).toContain("lihua (#2)");
    await context.close();
  });
});
