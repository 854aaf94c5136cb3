// 毛利 in the console: what a call brought, cost and earned, on a desk and on a phone (requirements X10).
import { afterAll, beforeAll, expect, it } from "vitest";
import { chatReply, createFakeUpstream, type FakeUpstream, json } from "#test/emulators/fake-upstream.ts";
import { screenshot, screenshots } from "#test/worlds/browser.ts";
import { type ConsoleWorld, openConsoleWorld } from "#test/worlds/console-world.ts";
import { manage } from "#test/worlds/process.ts";

let world: ConsoleWorld;
let upstream: FakeUpstream;

beforeAll(async () => {
  upstream = await createFakeUpstream();
  world = await openConsoleWorld({ EGRESS_ALLOW: new URL(upstream.url).host });
}, 180_000);

afterAll(async () => {
  await world?.close();
  await upstream?.close();
});

it("are shown with cost and cache", async () => {
  const { url } = world.server;
  const models = "gpt-4o,gpt-4o-mini";
  await manage(url, "POST", "/api/channel/", {
    type: 8,
    name: "便宜上游",
    key: "sk-1",
    base_url: upstream.url,
    models,
    group: "default",
    cost_ratio: 0.7,
    cost_sheet: '{"models": {"gpt-4o-mini": {"input": "9", "output": "9"}}}',
  });
  // What was given would bring nothing: the caller has a code, which brings its face value.
  const [code] = (await manage(url, "POST", "/api/redemption/", { name: "c", quota: 500_000 })) as string[];
  const caller = await world.visit("lihua");
  const ask = async (path: string, data: object) =>
    (await (await caller.page.request.post(path, { data })).json()).data;
  await ask("/api/user/topup", { key: code });
  const token = await ask("/api/token/", {
    name: "t",
    unlimited_quota: true,
    remain_quota: 0,
    expired_time: -1,
  });
  await caller.context.close();
  const details = { prompt_tokens_details: { cached_tokens: 600 } };
  const usage = { prompt_tokens: 1000, completion_tokens: 300, total_tokens: 1300, ...details };
  upstream.script(json(chatReply("hi", usage)));
  for (const model of models.split(",")) {
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer sk-${token.key}`, "content-type": "application/json" },
      body: JSON.stringify({ model, messages: [{ role: "user", content: "hi" }], max_tokens: 1_000 }),
    });
    expect(answer.status).toBe(200);
    await answer.text();
  }
  const { page, context, complaints } = await world.visit("root");
  await page.goto("/margin");
  const row = (name: string) => page.getByRole("row").filter({ hasText: name });
  // $0.00475 for what cost seven tenths of it.
  await row("gpt-4o").first().getByText("$0.003325").waitFor();
  await row("gpt-4o").first().getByText("30.0%").waitFor();
  await row("gpt-4o-mini").getByText("-$0.01", { exact: false }).first().waitFor();
  await screenshots(page, "margin");
  await page.goto("/margin?by=channel&currency=CNY");
  await row("便宜上游").getByText("60.0%").waitFor();
  await page.setViewportSize({ width: 390, height: 844 });
  await page.getByText("便宜上游").waitFor();
  await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  await screenshot(page, "margin-channels-390");
  expect(complaints).toEqual([]);
  await context.close();
});
