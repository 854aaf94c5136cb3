// What users do with a page beside what it is for: they click twice, come back from a form to where they were, and read long
// notices of the operator. In a real browser against the real server.
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { createConsoleWorld } from "#test/worlds/console-world.ts";
import { manage } from "#test/worlds/process.ts";

const PHONE = { width: 390, height: 844 };
const world = createConsoleWorld();

/** Addresses that are sent something from now on. */
function sendsOf(page: Page): string[] {
  const sends: string[] = [];
  page.on("request", (request) => {
    if (["POST", "PUT"].includes(request.method())) sends.push(new URL(request.url()).pathname);
  });
  return sends;
}

/** A page that is busy: what waits for a timer, as showing that something is under way does, comes late. */
async function keepBusy(page: Page): Promise<void> {
  await page.evaluate(() => {
    const later = window.setTimeout.bind(window);
    Object.assign(window, { setTimeout: (act: () => void, ms = 0) => later(act, ms + 1_000) });
  });
}

describe("a double click", () => {
  it("redeems a code once, and tells no failure of a second try", async () => {
    // The contract: the new codes.
    const [code = ""] = (await manage(world.server.url, "POST", "/api/redemption/", {
      name: "once",
      quota: 1_000_000,
      count: 1,
    })) as string[];
    const { page, context } = await world.visit("lihua");
    const sends = sendsOf(page);
    await page.goto("/topup");
    await page.getByRole("textbox", { name: "兑换码", exact: true }).fill(` ${code}\t`);
    await page.getByRole("button", { name: "兑换", exact: true }).dblclick();
    await page.getByText("充值成功！").waitFor();
    await page.waitForLoadState("networkidle");
    expect(sends).toEqual(["/api/user/topup"]);
    expect(await page.getByText("兑换码已被使用").count()).toBe(0);
    await context.close();
  });

  it("registers once", async () => {
    const { page, context } = await world.visit();
    const sends = sendsOf(page);
    await page.goto("/register");
    await page.getByRole("textbox", { name: "用户名" }).fill("hasty");
    await page.getByRole("textbox", { name: "密码", exact: true }).fill("river-stone-42");
    await page.getByRole("textbox", { name: "再次输入密码" }).fill("river-stone-42");
    await page.getByRole("main").getByRole("button", { name: "注册", exact: true }).dblclick();
    await page.waitForURL("**/login");
    expect(sends).toEqual(["/api/user/register"]);
    await context.close();
  });

  it("saves a section of settings once", async () => {
    const { page, context } = await world.visit("root");
    const sends = sendsOf(page);
    await page.goto("/setting?tab=operation");
    await page.getByLabel("失败重试次数").fill("3");
    const save = page.getByRole("button", { name: "保存通用设置" });
    await keepBusy(page);
    await save.dblclick();
    await page.getByText("操作成功完成").waitFor();
    await page.waitForLoadState("networkidle");
    expect(sends).toEqual(["/api/option/"]);
    await context.close();
  });

  it("asks for a code by mail once", async () => {
    const { page, context } = await world.visit("lihua");
    let sends = 0;
    await page.route("**/api/verification?*", (route) => {
      sends += 1;
      return route.fulfill({ json: { success: true, message: "", data: null } });
    });
    await page.goto("/setting");
    await page.getByRole("button", { name: "绑定邮箱地址" }).click();
    await page.getByRole("textbox", { name: "邮箱地址" }).fill("li@example.com");
    const button = page.getByRole("button", { name: "获取验证码" });
    await keepBusy(page);
    await button.dblclick();
    await page.getByRole("button", { name: /重新发送 \((30|29)\)/ }).waitFor();
    expect(sends).toBe(1);
    await context.close();
  });
});

describe("a setting below its minimum", () => {
  it("is refused in words, instead of making it 0, which means no limit or no price", async () => {
    const { page, context } = await world.visit("root");
    const sends = sendsOf(page);
    for (const [path, label, button] of [
      ["/setting?tab=operation", "每个令牌每分钟的请求数上限", "保存请求限制"],
      ["/setting?tab=operation", "新用户初始额度", "保存额度设置"],
      ["/price/ratio", "未定价模型的倍率", "保存模型倍率"],
    ] as const) {
      await page.goto(path);
      const field = page.getByLabel(label);
      await field.fill("-5");
      await page.getByRole("button", { name: button }).click();
      await page.locator("form", { has: field }).getByText("不小于 0 的").waitFor();
      expect(await field.inputValue()).toBe("-5");
    }
    const ratio = page
      .getByLabel("的倍率", { exact: false })
      .and(page.locator("#model-ratio table input"))
      .first();
    const before = await ratio.inputValue();
    await ratio.fill("-5");
    await ratio.blur();
    expect(await ratio.inputValue()).toBe(before);
    expect(sends).toEqual([]);
    await context.close();
  });
});

describe("a user that comes back from a form", () => {
  it("finds the list as it was left: searched and sorted, after saving and after giving up", async () => {
    await manage(world.server.url, "POST", "/api/channel/", {
      name: "北京一号",
      type: 1,
      key: "up-key",
      models: "gpt-4o",
      group: "default",
    });
    const { page, context } = await world.visit("root");
    const list = `/channel?keyword=${encodeURIComponent("北京")}&order=name&desc=true`;
    const rows = page.getByRole("row", { name: "北京一号" });
    const address = () => new URL(page.url());
    for (const way of ["提交", "取消"]) {
      await page.goto(list);
      await rows.getByRole("button", { name: "编辑" }).click();
      await page.getByRole("button", { name: way }).click();
      await rows.waitFor();
      expect([
        address().pathname,
        address().searchParams.get("keyword"),
        address().searchParams.get("order"),
      ]).toEqual(["/channel", "北京", "name"]);
    }
    await context.close();
  });
});

describe("a long notice", () => {
  it("leaves the page below in sight, on a phone too, and scrolls in itself", async () => {
    await world.setOption("Notice", "# 公告\n\n".concat("今晚维护，请提前保存。\n\n".repeat(60)));
    const { page, context } = await world.visit("lihua", PHONE);
    await page.goto("/token");
    const notice = page.getByRole("region", { name: "公告内容" });
    await notice.getByText("今晚维护").first().waitFor();
    const { top, scrolls } = await notice.evaluate((box) => ({
      top: box.getBoundingClientRect().bottom,
      scrolls: box.scrollHeight > box.clientHeight,
    }));
    expect(scrolls).toBe(true);
    expect(top).toBeLessThan(PHONE.height * 0.6);
    expect(await page.getByRole("heading", { name: "我的令牌" }).boundingBox()).toMatchObject({
      y: expect.toSatisfy((y: number) => y < PHONE.height),
    });
    await page.getByRole("button", { name: "不再显示" }).click();
    await notice.waitFor({ state: "detached" });
    await context.close();
    await world.setOption("Notice", "");
  });
});

it("numbers may be typed in full-width digits", async () => {
  const { page, context } = await world.visit("root");
  await page.goto("/redemption/add");
  const quota = page.getByLabel("额度", { exact: true });
  await quota.fill("");
  await quota.focus();
  await page.keyboard.insertText("１２００００");
  await page.keyboard.press("Tab");
  expect(await quota.inputValue()).toBe("120000");
  await page.getByText("$0.24").waitFor();
  await context.close();
});
