// 模型与价格 in the console: a model without a price gets one in yuan, one is edited in dollars and as ratios, and taken back
// (requirements X07, X08).
import { beforeAll, expect, it } from "vitest";
import { screenshots } from "#test/worlds/browser.ts";
import { createConsoleWorld } from "#test/worlds/console-world.ts";
import { manage } from "#test/worlds/process.ts";

const world = createConsoleWorld();

beforeAll(async () => {
  const channel = {
    name: "上游",
    type: 1,
    key: "sk-1",
    group: "default",
    models: "gpt-4o,gpt-5.4,house-llm",
  };
  await manage(world.server.url, "POST", "/api/channel/", channel);
}, 180_000);

it("is priced in money and as ratios, a row at a time", { timeout: 240_000 }, async () => {
  const { page, context, complaints } = await world.visit("root");
  const ratiosOf = async (option: string) => {
    const rows: { key: string; value: string }[] = (await (await page.request.get("/api/option/")).json())
      .data;
    return JSON.parse(rows.find(({ key }) => key === option)?.value ?? "{}");
  };
  const row = (model: string) => page.getByRole("row").filter({ hasText: model });
  await page.goto("/price");
  await page.getByText("渠道中有 1 个模型没有价格").waitFor();
  await page.getByRole("link", { name: "查看", exact: true }).click();
  await row("house-llm").getByText("没有价格").waitFor();
  await screenshots(page, "model-prices-unpriced");
  await row("house-llm").getByRole("button", { name: /编辑/ }).click();
  await page.getByText("人民币", { exact: true }).click();
  await page.getByLabel("输入", { exact: true }).first().fill("12");
  await page.getByLabel("输出", { exact: true }).first().fill("40");
  await page.getByRole("button", { name: "保存价格" }).click();
  await page.getByText("价格已保存").waitFor();
  expect((await ratiosOf("ModelRatio"))["house-llm"]).toBe(0.857_142_857_143);
  await page.goto("/price?view=served&currency=CNY");
  await row("house-llm").getByText("¥12", { exact: true }).waitFor();
  await row("house-llm").getByText("¥40", { exact: true }).waitFor();
  await row("house-llm").getByText("手动").waitFor();
  await screenshots(page, "model-prices");
  await page.goto("/price/edit?model=gpt-5.4");
  await page.getByLabel("输入", { exact: true }).first().fill("3");
  await page.getByText("倍率", { exact: true }).click();
  await expect.poll(() => page.getByLabel("输入", { exact: true }).first().inputValue()).toBe("1.5");
  // Its price in money stays: $15 is five times $3.
  expect(await page.getByLabel("输出", { exact: true }).first().inputValue()).toBe("5");
  await page.getByRole("button", { name: "单独定价" }).click();
  await page.getByLabel("输入", { exact: true }).nth(1).waitFor();
  await screenshots(page, "model-price-edit");
  await page.getByRole("button", { name: "保存价格" }).click();
  await page.getByText("价格已保存").waitFor();
  expect((await ratiosOf("ModelRatio"))["gpt-5.4"]).toBe(1.5);
  expect((await ratiosOf("CompletionRatio"))["gpt-5.4"]).toBe(5);
  expect((await ratiosOf("ModelRatio"))["gpt-5.4>272000"]).toBe(2.5);
  await page.goto("/price/update");
  await page.getByText("版本 2：修改：gpt-5.4").waitFor();
  await page.getByRole("button", { name: "撤销" }).first().click();
  await page
    .getByRole("tooltip")
    .getByRole("button", { name: /撤\s*销/ })
    .click();
  await page.getByText("（撤销版本 2）").waitFor();
  expect((await ratiosOf("ModelRatio"))["gpt-5.4"]).toBe(1.25);
  await screenshots(page, "price-versions");
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto("/price?view=served");
  await page.getByText("house-llm").waitFor();
  expect(complaints).toEqual([]);
  await context.close();
});
