// Prices from a list in the console: compared, chosen, published, taken back (requirements X02–X04).
import { afterAll, beforeAll, expect, it } from "vitest";
import { type ConsoleWorld, openConsoleWorld } from "#test/worlds/console-world.ts";

let world: ConsoleWorld;

beforeAll(async () => {
  world = await openConsoleWorld();
}, 180_000);

afterAll(() => world?.close());

const LIST = JSON.stringify({
  openai: {
    models: {
      "gpt-4o": { cost: { input: 3, output: 15, cache_read: 0.3 } },
      "gpt-4o-mini": { cost: { input: 0.6, output: 2.4 } },
      "gpt-4": { cost: { input: 30_000, output: 60_000 } },
      "gpt-3.5-turbo": { cost: { input: 0.5, output: 1.5 } },
    },
  },
});

it("are compared, published and taken back", async () => {
  const { page, context } = await world.visit("root");
  const priceOf = async (model: string) => {
    const rows: { key: string; value: string }[] = (await (await page.request.get("/api/option/")).json())
      .data;
    return JSON.parse(rows.find(({ key }) => key === "ModelRatio")?.value ?? "{}")[model];
  };
  await page.goto("/price/update");
  await page.getByText("还没有从价目表发布过价格").waitFor();
  await page.getByLabel("地址").fill("");
  await page.getByLabel("内容").fill(LIST);
  await page.getByRole("button", { name: "比较价格" }).click();
  await page.getByText("4 个与本站有关").waitFor();
  await page.getByText("$2.5 / $10 · 缓存 $1.25 → $3 / $15 · 缓存 $0.3").waitFor();
  // What nothing speaks against is chosen at first; the rest is a choice, or none.
  expect(await page.getByRole("checkbox", { name: "gpt-4o", exact: true }).isChecked()).toBe(true);
  expect(await page.getByRole("checkbox", { name: "gpt-4o-mini" }).isChecked()).toBe(false);
  await page.getByText("不可用 1").click();
  await page.getByText("疑似单位错误").first().waitFor();
  expect(await page.getByRole("checkbox", { name: "gpt-4", exact: true }).isDisabled()).toBe(true);
  await page.getByText("有变化 2").click();
  await page.setViewportSize({ width: 390, height: 844 });
  await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.getByRole("button", { name: "发布所选价格" }).click();
  await page.getByText("请填写原因").waitFor();
  await page.getByLabel("原因").fill("厂商调价");
  await page.getByRole("button", { name: "发布所选价格" }).click();
  await page.getByText("版本 1：厂商调价").waitFor();
  expect(await priceOf("gpt-4o")).toBe(1.5);
  expect(await priceOf("gpt-4o-mini")).toBe(0.075);
  await page.getByRole("button", { name: "撤销" }).click();
  await page
    .getByRole("tooltip")
    .getByRole("button", { name: /撤\s*销/ })
    .click();
  await page.getByText("（撤销版本 1）").waitFor();
  expect(await priceOf("gpt-4o")).toBe(1.25);
  await context.close();
});
