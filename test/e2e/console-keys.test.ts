// The keys of a channel in the console: fifty pasted behind a proxy, one refused while the channel serves on, tested, deleted by reason
// (requirements C26, C29). No key is shown again.
import { afterAll, beforeAll, expect, it } from "vitest";
import { chatReply, createFakeUpstream, type FakeUpstream, json } from "#test/emulators/fake-upstream.ts";
import { type ProxyWorld, startHttpProxy } from "#test/emulators/proxies.ts";
import { type ConsoleWorld, openConsoleWorld } from "#test/worlds/console-world.ts";
import { manage, rootKey } from "#test/worlds/process.ts";

const DEAD = "sk-canary-dead-000000007";
const key = (index: number) => (index === 7 ? DEAD : `sk-canary-live-${String(index).padStart(9, "0")}`);

let world: ConsoleWorld;
let upstream: FakeUpstream;
let proxy: ProxyWorld;

beforeAll(async () => {
  proxy = await startHttpProxy();
  world = await openConsoleWorld({ EGRESS_PROXY_ALLOW: `127.0.0.1:${proxy.port}` });
  upstream = await createFakeUpstream();
  upstream.script((res, asked) => {
    const isDead = asked.headers.authorization === `Bearer ${DEAD}`;
    const refused = {
      error: { message: "invalid key", type: "invalid_request_error", code: "invalid_api_key" },
    };
    return isDead ? json(refused, 401)(res, asked) : json(chatReply("hi"))(res, asked);
  });
}, 180_000);

afterAll(async () => {
  await world?.close();
  await upstream?.close();
  await proxy?.close();
});

async function ask(): Promise<number> {
  const answer = await fetch(`${world.server.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer sk-${rootKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "gpt-4o-mini", messages: [{ role: "user", content: "hi" }] }),
  });
  await answer.text();
  return answer.status;
}

it("are pasted, one ends alone, and is deleted by its reason", async () => {
  const { url } = world.server;
  await world.setOption("AutomaticDisableChannelEnabled", "true");
  await world.setOption("RetryTimes", "3");
  await manage(url, "POST", "/api/channel/", {
    type: 8,
    name: "多密钥渠道",
    key: key(0),
    base_url: upstream.url,
    models: "gpt-4o-mini",
    group: "default",
    proxy: `http://127.0.0.1:${proxy.port}`,
    key_mode: "round_robin",
  });
  const { page, context, complaints } = await world.visit("root");
  await page.goto("/channel/keys/1");
  await page.getByText("这个渠道只有一个密钥").waitFor();
  await page.getByRole("button", { name: "粘贴密钥" }).first().click();
  const pasted = Array.from({ length: 50 }, (_, index) => key(index + 1));
  await page.getByLabel("要添加的密钥").fill([...pasted, key(3), key(0), ""].join("\r\n"));
  await page.getByText("本渠道已有，跳过").waitFor();
  await page.getByRole("button", { name: "添加 50 个密钥" }).click();
  await page.getByText("51 个可用，0 个停用").waitFor();
  expect(await page.content()).not.toContain("canary");
  const before = proxy.made();
  // Each key has its turn, the dead one three times.
  for (let call = 0; call < 170; call += 1) expect(await ask()).toBe(200);
  expect(proxy.made()).toBeGreaterThan(before);
  await expect.poll(() => manage(url, "GET", "/api/channel/1/keys?status=3")).toMatchObject([{ status: 3 }]);
  expect(await manage(url, "GET", "/api/channel/1")).toMatchObject({ status: 1 });
  await page.goto("/channel/keys/1?status=3");
  await page.getByText("50 个可用，1 个停用").waitFor();
  await page.getByText("自动禁用", { exact: true }).first().waitFor();
  await page.getByRole("button", { name: "测试停用的密钥" }).click();
  await page.getByText("测试已开始").waitFor();
  await page.getByRole("button", { name: "按原因删除" }).click();
  await page.getByRole("button", { name: "删除 1 个" }).click();
  await page.getByText("50 个可用，0 个停用").waitFor();
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto("/channel");
  await page.getByRole("link", { name: "多密钥" }).click();
  await page.getByText("50 个可用，0 个停用").waitFor();
  expect(await page.content()).not.toContain("canary");
  expect(complaints).toEqual([]);
  await context.close();
});
