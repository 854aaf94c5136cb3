// What an upstream lists anew or no more, in the console: shown in the list of channels, applied with one click (requirements C46).
import { afterAll, beforeAll, expect, it } from "vitest";
import { createFakeUpstream, type FakeUpstream, json } from "#test/emulators/fake-upstream.ts";
import { screenshots } from "#test/worlds/browser.ts";
import { createConsoleWorld } from "#test/worlds/console-world.ts";
import { manage } from "#test/worlds/process.ts";

const world = createConsoleWorld();
let upstream: FakeUpstream;
const listing = (...names: readonly string[]) => json({ data: names.map((id) => ({ id })) });

beforeAll(async () => {
  upstream = await createFakeUpstream();
}, 180_000);

afterAll(() => upstream?.close());

it("is told, chosen and applied, and a list that shrank is not taken before an administrator says so", async () => {
  const { url } = world.server;
  await manage(url, "POST", "/api/channel/", {
    type: 8,
    name: "主力渠道",
    key: "sk-canary-models-0123456789",
    base_url: upstream.url,
    models: "gpt-4o,gpt-4o-mini,claude-3-opus",
    group: "default",
  });
  upstream.script(listing("gpt-4o", "gpt-4o-mini", "claude-3-opus"));
  const { page, context, complaints } = await world.visit("root");
  await page.goto("/channel/models/1");
  await page.getByText("还没有查询过上游。").waitFor();
  await page.getByRole("button", { name: "查询上游" }).click();
  await page.getByText("没有差异。").waitFor();
  upstream.script(
    listing("OpenAI/GPT-4o", "gpt-4o-mini", "gpt-4.1", "gpt-4.1-mini", "a-model-without-a-price"),
  );
  await page.getByRole("button", { name: "查询上游" }).click();
  await page.getByText("重定向到上游的 OpenAI/GPT-4o").waitFor();
  await screenshots(page, "channel-models");
  await page.goto("/channel");
  const news = page.getByRole("link", { name: "上游模型 +3 −2" });
  await news.waitFor();
  await screenshots(page, "channel-models-list");
  await news.click();
  await page.getByRole("checkbox", { name: "选择 claude-3-opus" }).check();
  await page.getByRole("button", { name: "采用所选（4）" }).click();
  await page.getByText("已采用 4 项变化").waitFor();
  await page.getByText("设置价格").waitFor();
  await expect
    .poll(() => manage(url, "GET", "/api/channel/1"))
    .toMatchObject({ models: "gpt-4o,gpt-4o-mini,gpt-4.1,gpt-4.1-mini", models_fresh: 1, models_gone: 0 });
  upstream.script(listing("gpt-4o-mini"));
  await page.getByRole("button", { name: "查询上游" }).click();
  const accept = page.getByRole("button", { name: "确认无误，采用新列表" });
  await accept.waitFor();
  await screenshots(page, "channel-models-halved");
  await accept.click();
  await accept.waitFor({ state: "detached" });
  await page.getByText("上游列出 1 个模型").waitFor();
  expect(complaints).toEqual([]);
  await context.close();
});
