// Alerts in a browser: a robot is set up, takes a test message, tells of a channel, and shows what it could not bring.
import { afterAll, beforeAll, expect, it } from "vitest";
import { ROBOT, type Robots, startRobots } from "#test/emulators/robots.ts";
import { screenshot } from "#test/worlds/browser.ts";
import { type ConsoleWorld, openConsoleWorld, type Window } from "#test/worlds/console-world.ts";

let world: ConsoleWorld;
let robots: Robots;

beforeAll(async () => {
  robots = await startRobots(Date.now);
  world = await openConsoleWorld({ CHAT_VENDOR_URL: robots.url, EGRESS_ALLOW: "127.0.0.0/8" });
}, 180_000);

afterAll(async () => {
  await world?.close();
  await robots?.close();
});

async function shoot({ page }: Window, name: string): Promise<void> {
  for (const width of [390, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    await screenshot(page, `${name}-${width}`);
  }
}

it("sets up a robot, tests it, and shows what was sent and what failed", async () => {
  const admin = await world.visit("root");
  const { page } = admin;
  await page.goto(`${world.server.url}/setting?tab=operation`);
  await page.getByRole("link", { name: "管理通知" }).click();
  await page.getByText("还没有通知对象").waitFor();
  await shoot(admin, "alert-empty");
  await page.getByRole("link", { name: "添加通知对象" }).first().click();
  await page.getByLabel("名称", { exact: true }).fill("值班群");
  await page.getByLabel("地址", { exact: true }).fill("https://evil.example/hook");
  await page.getByLabel("签名密钥").fill(ROBOT.feishuSecret);
  await page.getByLabel("管理员登录（通知）").check();
  await shoot(admin, "alert-form");
  await page.getByRole("button", { name: "提交" }).click();
  await page.getByText("地址不是飞书机器人的地址", { exact: false }).first().waitFor();
  await page.getByLabel("地址", { exact: true }).fill(ROBOT.feishu);
  await page.getByRole("button", { name: "提交" }).click();
  await page.getByRole("button", { name: "测试" }).click();
  await page.getByText("测试消息已发送！").waitFor();
  expect(robots.taken.map(({ vendor }) => vendor)).toEqual(["feishu"]);

  robots.fail("feishu", { json: { code: 19024, msg: "Key Words Not Found" } });
  await (await world.visit("wangfang")).context.close();
  await page.goto(`${world.server.url}/alert?tab=deliveries`);
  await page.getByText("管理员 wangfang 登录").waitFor();
  await expect
    .poll(async () => {
      await page.reload();
      await page.getByText("管理员 wangfang 登录").waitFor();
      return page.getByText("消息不含机器人要求的关键词").count();
    })
    .toBeGreaterThan(0);
  await shoot(admin, "alert-deliveries");
  robots.fail("feishu", undefined);
  await page.getByRole("button", { name: "重新发送" }).first().click();
  await page.getByText("已重新排队发送！").waitFor();
  await expect.poll(() => robots.taken.length).toBe(2);

  await page.goto(`${world.server.url}/alert`);
  await page.getByText("值班群").first().waitFor();
  await shoot(admin, "alert-targets");
  await page.getByRole("button", { name: "编辑" }).click();
  await page.getByText("发送测试消息").waitFor();
  expect(await page.content()).not.toContain("feishu-token-canary");
  await shoot(admin, "alert-edit");
  await page.goto(`${world.server.url}/alert?tab=conditions`);
  await page.getByText("目前没有未恢复的问题").waitFor();
  expect(admin.complaints).toEqual([]);
}, 120_000);
