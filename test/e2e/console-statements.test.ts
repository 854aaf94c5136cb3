// Statements in a real browser: on the page, on paper and as a file, in the language of their reader; and those of a user for who keeps the books.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { monthOf } from "#contract/month.ts";
import { screenshot, screenshots } from "#test/worlds/browser.ts";
import { bytesOf, type ConsoleWorld, openConsoleWorld } from "#test/worlds/console-world.ts";
import { readPdf } from "#test/worlds/pdf-reader.ts";
import { manage } from "#test/worlds/process.ts";

const CHINESE = /[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]/;
const month = monthOf(Date.now() / 1_000);
let world: ConsoleWorld;

beforeAll(async () => {
  world = await openConsoleWorld();
  const { url } = world.server;
  await manage(url, "PUT", "/api/user/", { id: 2, username: "lihua", quota: 1_500_000, remark: "测试" });
}, 180_000);

afterAll(async () => {
  await world?.close();
});

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
