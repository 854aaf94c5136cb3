// Prices from a list in the console: a file is compared and kept as a draft, chosen, approved, published apart from that, taken back
// (requirements X02–X04).
import { expect, it } from "vitest";
import { screenshots } from "#test/worlds/browser.ts";
import { createConsoleWorld } from "#test/worlds/console-world.ts";

const world = createConsoleWorld();

const LIST = JSON.stringify({
  openai: {
    models: {
      "gpt-4o": { cost: { input: 2.75, output: 11, cache_read: 1.25 } },
      "gpt-4o-mini": { cost: { input: 0.6, output: 2.4 } },
      "gpt-4": { cost: { input: 30_000, output: 60_000 } },
      "gpt-3.5-turbo": { cost: { input: 0.5, output: 1.5 }, status: "deprecated" },
      "gpt-5.4": {
        cost: {
          input: 2.5,
          output: 15,
          cache_read: 0.25,
          tiers: [{ input: 7, output: 22.5, cache_read: 0.7, tier: { type: "context", size: 272_000 } }],
        },
      },
    },
  },
});

it("are compared, approved, published and taken back", { timeout: 240_000 }, async () => {
  const { page, context, complaints } = await world.visit("root");
  const ratiosOf = async (option = "ModelRatio") => {
    const rows: { key: string; value: string }[] = (await (await page.request.get("/api/option/")).json())
      .data;
    return JSON.parse(rows.find(({ key }) => key === option)?.value ?? "{}");
  };
  await page.goto("/price/update");
  await page.getByText("还没有从价目表发布过价格").waitFor();
  await page.getByText("还没有草稿").waitFor();
  await page.getByLabel("价目表文件").setInputFiles({
    name: "prices.json",
    mimeType: "application/json",
    buffer: Buffer.from(LIST),
  });
  await page.getByText("prices.json").waitFor();
  expect(await page.getByLabel("价目表文件").isVisible()).toBe(false);
  await screenshots(page, "price-list-file");
  expect(await page.getByLabel("地址").inputValue()).toBe("");
  await page.getByRole("button", { name: "比较价格" }).click();
  await page.waitForURL(/\/price\/draft\/1$/);
  await page.getByText("5 个与本站有关").waitFor();
  await page.getByText("价格不同的模型过多").waitFor();
  await page.getByText("$2.5 / $10 · 缓存 $1.25 → $2.75 / $11 · 缓存 $1.25").waitFor();
  // What nothing speaks against is chosen at first; the rest is a choice of its own, or none.
  expect(await page.getByRole("checkbox", { name: "gpt-4o", exact: true }).isChecked()).toBe(true);
  await screenshots(page, "price-draft");
  await page.getByText("需确认 2").click();
  await page.getByText("涨幅过大").first().waitFor();
  await page.getByText(/输入超过 272,000 token：\$5 .* → \$7 /).waitFor();
  expect(await page.getByRole("checkbox", { name: "gpt-5.4" }).isChecked()).toBe(false);
  await page.getByRole("checkbox", { name: "gpt-5.4" }).check();
  await screenshots(page, "price-draft-doubtful");
  await page.getByText("不可用 1").click();
  await page.getByText("疑似单位错误").first().waitFor();
  expect(await page.getByRole("checkbox", { name: "gpt-4", exact: true }).isDisabled()).toBe(true);
  await page.getByText("无变化 1").click();
  await page.getByText("厂商已标记为弃用").waitFor();
  await page.getByText("需确认 2").click();
  await page.getByRole("button", { name: "批准所选的 2 个" }).click();
  await page.getByText("请填写原因").waitFor();
  await page.getByText("请先整体核对这份草稿").waitFor();
  await screenshots(page, "price-draft-unchecked");
  await page.getByLabel("原因").fill("厂商调价");
  await page.getByRole("checkbox", { name: "我已整体核对" }).check();
  await page.getByRole("button", { name: "批准所选的 2 个" }).click();
  await page.getByText("待发布").waitFor();
  expect((await ratiosOf())["gpt-4o"]).toBe(1.25);
  // It is kept, and opened later.
  await page.goto("/price/update");
  await page.getByText("个有变化").waitFor();
  await screenshots(page, "price-drafts");
  await page.getByRole("link", { name: "草稿 1：prices.json" }).click();
  await page.getByRole("button", { name: "发布价格" }).click();
  await page.getByText("· 版本 1").waitFor();
  await screenshots(page, "price-draft-published");
  expect((await ratiosOf())["gpt-4o"]).toBe(1.375);
  expect((await ratiosOf())["gpt-5.4>272000"]).toBe(3.5);
  expect((await ratiosOf())["gpt-4o-mini"]).toBe(0.075);
  await page.goto("/price/update");
  await page.getByText("版本 1：厂商调价").waitFor();
  await page.getByRole("button", { name: "撤销" }).click();
  await page
    .getByRole("tooltip")
    .getByRole("button", { name: /撤\s*销/ })
    .click();
  await page.getByText("（撤销版本 1）").waitFor();
  await screenshots(page, "price-undone");
  expect((await ratiosOf())["gpt-4o"]).toBe(1.25);
  expect(complaints).toEqual([]);
  await context.close();
});

it("count calls where the operator says so", async () => {
  const { page, context, complaints } = await world.visit("root");
  await page.goto("/price/edit?model=gpt-4o");
  await page.getByLabel("计费方式").click();
  await page.getByTitle("按次", { exact: true }).click();
  await page.getByLabel("每次").fill("0.1");
  await screenshots(page, "model-price-call");
  await page.getByRole("button", { name: "保存价格" }).click();
  await page.getByText("价格已保存").waitFor();
  await page.goto("/price?keyword=gpt-4o");
  await page.getByText("每次").first().waitFor();
  await page.getByText("$0.1", { exact: true }).first().waitFor();
  await screenshots(page, "model-prices-call");
  // A list that names it no more.
  const list = (model: string) => ({ text: `{"openai":{"models":{"${model}":{"cost":{"input":1}}}}}` });
  for (const model of ["gpt-4o", "gpt-4"])
    await page.request.post("/api/price/draft", {
      data: list(model),
      headers: { "sec-fetch-site": "same-origin" },
    });
  await page.goto("/price?view=unlisted");
  await page.getByText("价目表不再列出", { exact: false }).first().waitFor();
  await page.getByRole("row").filter({ hasText: "gpt-4o" }).first().waitFor();
  await screenshots(page, "model-prices-unlisted");
  expect(complaints).toEqual([]);
  await context.close();
});
