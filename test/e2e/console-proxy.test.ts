// The proxy of a channel and of all in the console: chosen, kept, and never shown with its credentials (requirements C08, C17).
import { expect, it } from "vitest";
import { createConsoleWorld } from "#test/worlds/console-world.ts";

const world = createConsoleWorld();

it("goes in with its credentials and comes out without them", async () => {
  const { page, context } = await world.visit("root");
  const sent: { proxy?: string; reuse?: string }[] = [];
  page.on("request", (request) => {
    if (["POST", "PUT"].includes(request.method()) && request.url().endsWith("/api/channel/"))
      sent.push(request.postDataJSON());
  });
  await page.goto("/channel/add");
  await page.getByText(/有 [1-9]\d* 个相关模型/).waitFor();
  await page.getByLabel("名称", { exact: true }).fill("经代理");
  await page.locator("#key").fill("sk-behind-a-proxy");
  await page.getByRole("button", { name: "填入相关模型" }).click();
  await page.getByText("使用系统设置里的出站代理").waitFor();
  await page.getByLabel("出站代理").press("ArrowDown");
  const active = page.locator(".ant-select-item-option-active");
  await active.filter({ hasText: "跟随全局设置" }).waitFor();
  // From the first to the last.
  await page.keyboard.press("ArrowUp");
  await active.filter({ hasText: "SOCKS5H（代理解析域名）" }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByText("域名由代理解析").waitFor();
  const submit = page.getByRole("button", { name: "提交", exact: true });
  await submit.click();
  await page.getByText("请填写代理地址").first().waitFor();
  // A whole address, as sellers give it, fills in the fields.
  await page.getByLabel("代理地址").fill("socks5h://some%40one:pass@other.example.com:9");
  await page.getByLabel("代理地址").blur();
  await expect.poll(() => page.getByLabel("代理地址").inputValue()).toBe("other.example.com:9");
  expect(await page.getByLabel("代理用户名").inputValue()).toBe("some@one");
  expect(await page.getByLabel("代理密码").inputValue()).toBe("pass");
  await page.getByLabel("代理地址").fill("proxy.example.com:1080");
  await page.getByLabel("代理用户名").fill("us@er");
  await page.getByLabel("代理密码").fill("canary:password");
  await page.getByLabel("代理地址").scrollIntoViewIfNeeded();
  await submit.click();
  await page.getByText("渠道创建成功").waitFor();
  expect(sent.at(-1)).toMatchObject({
    proxy: "socks5h://us%40er:canary%3Apassword@proxy.example.com:1080",
    reuse: "auto",
  });
  // Its proxy is nowhere: after three failures it rests, and the list says so.
  await page.goto("/channel");
  await page.getByText("经代理").first().waitFor();
  for (let call = 0; call < 3; call += 1) await page.request.get("/api/channel/test/1");
  await page.getByLabel("刷新").click();
  await page.getByText("代理暂停").waitFor();
  await page.setViewportSize({ width: 390, height: 844 });
  await page.getByRole("listitem").getByText("代理暂停").waitFor();
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.goto("/channel/edit/1");
  await expect.poll(() => page.getByLabel("代理地址").inputValue()).toBe("proxy.example.com:1080");
  expect(await page.locator("#proxy_user").getAttribute("placeholder")).toContain("已设置");
  expect(await page.content()).not.toContain("canary");
  await page.setViewportSize({ width: 390, height: 844 });
  await page.getByLabel("代理密码").scrollIntoViewIfNeeded();
  await page.getByLabel("清除已保存的代理凭证").check();
  await submit.click();
  await page.getByText("渠道更新成功").waitFor();
  expect(sent.at(-1)).toMatchObject({ proxy: "socks5h://@proxy.example.com:1080" });
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.goto("/setting?tab=system#proxy");
  await page.getByText("配置出站代理").waitFor();
  await page.getByText("配置出站代理").scrollIntoViewIfNeeded();
  await context.close();
});
