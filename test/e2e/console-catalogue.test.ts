// The catalogue in the browser: for guests without antd, for users in the shell (requirements X05, X06).
import { beforeAll, expect, it } from "vitest";
import { createConsoleWorld } from "#test/worlds/console-world.ts";
import { manage } from "#test/worlds/process.ts";

const world = createConsoleWorld();

beforeAll(async () => {
  await manage(world.server.url, "POST", "/api/channel/", {
    type: 1,
    name: "上游",
    key: "sk-upstream",
    base_url: "http://127.0.0.1:9",
    models: "gpt-4o,gpt-4o-mini,claude-opus-5,dall-e-3",
    group: "default",
  });
  await world.setOption("ModelLastDays", '{"gpt-4o":"2099-12-31"}');
}, 180_000);

it("lets a guest search and filter, see prices and copy a call, without antd", async () => {
  const { page, context } = await world.visit(undefined, { width: 390, height: 844 });
  await page.goto("/models");
  await page.getByText("4 个模型").waitFor();
  await page.getByLabel("厂商").selectOption("OpenAI");
  await page.getByText("3 个模型").waitFor();
  await page.getByLabel("能力").selectOption("图片");
  await page.getByText("1 个模型").waitFor();
  await page.getByText("$0.04").waitFor();
  expect(new URL(page.url()).searchParams.get("ability")).toBe("image");
  await page.getByLabel("能力").selectOption("");
  await page.getByLabel("搜索模型").fill("gpt-4o");
  await page.getByText("2 个模型").waitFor();
  await page.getByText("2099-12-31 后停用").waitFor();
  await page.getByText("gpt-4o-mini").click();
  await page.getByText('"model": "gpt-4o-mini"').waitFor();
  expect(await page.getByRole("button", { name: "复制调用示例" }).isVisible()).toBe(true);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  expect(await page.locator("[class^='ant-'], [class*=' ant-']").count()).toBe(0);
  await context.close();
});

it("stands in the shell for users, in the operator's currency, and asks guests to log in when closed", async () => {
  await world.setOption("PriceCurrency", "CNY");
  await world.setOption("CatalogueForGuestsEnabled", "false");
  const user = await world.visit("lihua");
  await user.page.goto("/models");
  await user.page.getByRole("menuitem", { name: "模型广场" }).waitFor();
  await user.page.getByText("¥17.5").waitFor();
  await user.context.close();
  const guest = await world.visit();
  await guest.page.goto("/models");
  await guest.page.getByText("登录后可查看模型与价格").waitFor();
  await guest.context.close();
});
