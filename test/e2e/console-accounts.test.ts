// The pages around accounts and money in a real browser against the real server: codes, users, top-up, partner plan.
import { beforeAll, describe, expect, it } from "vitest";
import { screenshot } from "#test/worlds/browser.ts";
import { type ConsoleWorld, contentOf, createConsoleWorld } from "#test/worlds/console-world.ts";
import { manage } from "#test/worlds/process.ts";

const world = createConsoleWorld();
let server: ConsoleWorld["server"];
let visit: ConsoleWorld["visit"];

async function makeCodes(count: number, quota = 500_000): Promise<string[]> {
  // The contract: an array of codes.
  return (await manage(server.url, "POST", "/api/redemption/", { name: "充值", quota, count })) as string[];
}

beforeAll(async () => {
  ({ server, visit } = world);
}, 180_000);

describe("redemption codes", () => {
  it("are made in a batch: nothing is sent without a name, then a dialog and a file with a harmless name", async () => {
    const { page, context } = await visit("root");
    await page.goto("/redemption");
    await page.getByText("还没有兑换码").waitFor();
    await page.goto("/redemption/add");
    expect(await page.locator("#quota").inputValue()).toBe("100000");
    expect(await page.locator("#count").inputValue()).toBe("1");
    await page.getByRole("button", { name: "提交" }).click();
    await page.getByText("请输入名称").waitFor();
    await page.getByLabel("名称").fill("../../十月=活动");
    await page.locator("#count").fill("3");
    const coming = page.waitForEvent("download");
    await page.getByRole("button", { name: "提交" }).click();
    const download = await coming;
    expect(download.suggestedFilename()).toBe("十月_活动.txt");
    const codes = (await contentOf(download)).trim().split("\n");
    expect(codes).toHaveLength(3);
    for (const code of codes) expect(code).toMatch(/^[0-9a-f]{32}$/);
    await page.getByText("已生成 3 个兑换码").waitFor();
    await page.getByRole("button", { name: "复制全部" }).click();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(codes.join("\n"));
    await screenshot(page, "redemption-made");
    await page.getByRole("button", { name: "完成" }).click();
    await page.waitForURL("**/redemption");
    await expect.poll(() => page.getByRole("row", { name: /十月/ }).count()).toBe(3);
    await context.close();
  });

  it("can be switched, searched, edited and deleted; a used one cannot be switched", async () => {
    const { page, context } = await visit("root");
    const [code = ""] = await makeCodes(1);
    await manage(server.url, "POST", "/api/user/topup", { key: code, gift_code: "" });
    await page.goto("/redemption");
    const used = page.getByRole("row", { name: /充值.*已使用/ });
    expect(await used.getByRole("button", { name: "启用" }).isDisabled()).toBe(true);
    const row = page.getByRole("row", { name: /^选?.*\b1\b.*十月/ }).first();
    await row.getByRole("button", { name: "禁用" }).click();
    // Grey, as everything that was switched off by hand, in every list.
    await row.locator(".tg-pill-idle", { hasText: "已禁用" }).waitFor();
    await row.getByRole("button", { name: "编辑" }).click();
    await page.waitForURL("**/redemption/edit/*");
    await page.locator("#quota").fill("");
    await page.locator("#name").focus();
    await page.getByText("请填写此项").waitFor();
    await page.getByRole("button", { name: "$5", exact: true }).click();
    await page.getByText("请填写此项").waitFor({ state: "detached" });
    expect(await page.locator("#quota").inputValue()).toBe("2500000");
    await page.locator("#quota").fill("250000");
    await page.getByText("（等价金额：$0.50）").waitFor();
    await page.getByRole("button", { name: "提交" }).click();
    await page.waitForURL("**/redemption");
    await page.getByText("$0.50").waitFor();
    await page.getByLabel("搜索兑换码的 ID 和名称").fill("  ../../十月 ");
    await page.keyboard.press("Enter");
    await page.waitForURL(/keyword=/);
    await used.waitFor({ state: "detached" });
    await row.getByRole("button", { name: "删除" }).click();
    await page.getByRole("button", { name: "确认删除" }).click();
    await expect.poll(() => page.getByRole("row", { name: /十月/ }).count()).toBe(2);
    await context.close();
  });

  it("come into the search box when the clipboard refuses, and not into the address", async () => {
    const { page, context } = await visit("root");
    await context.clearPermissions();
    await page.addInitScript(() => {
      navigator.clipboard.writeText = () => Promise.reject(new Error("refused"));
    });
    await page.goto("/redemption");
    await page
      .getByRole("button", { name: /^复制兑换码/ })
      .first()
      .click();
    await page.getByText("无法复制到剪贴板，请手动复制").waitFor();
    expect(await page.getByLabel("搜索兑换码的 ID 和名称").inputValue()).toMatch(/^[0-9a-f]{32}$/);
    expect(page.url()).not.toMatch(/[0-9a-f]{32}/);
    await context.close();
  });
});

describe("users", () => {
  it("are created, banned, edited with group and quota, and deleted by typing the name", async () => {
    const { page, context } = await visit("root");
    await page.goto("/user/add");
    await page.getByRole("button", { name: "提交" }).click();
    await page.getByText("请输入用户名").waitFor();
    await page.getByLabel("用户名").fill("zhangwei");
    await page.locator("#password").fill("longlong-pass-9");
    await page.getByRole("button", { name: "提交" }).click();
    await page.waitForURL("**/user");
    await page.getByRole("heading", { name: "管理用户" }).waitFor();
    const row = page.getByRole("row", { name: /zhangwei/ });
    await row.getByRole("button", { name: "禁用" }).click();
    await row.locator(".tg-pill-idle", { hasText: "已封禁" }).waitFor();
    await row.getByRole("button", { name: "编辑" }).click();
    await page.locator("#quota").fill("1500000");
    // On top of what is there, as often as it is clicked.
    await page.getByRole("button", { name: "+$1", exact: true }).click();
    await page.getByRole("button", { name: "+$1", exact: true }).click();
    expect(await page.locator("#quota").inputValue()).toBe("2500000");
    await page.locator("#group").click();
    await page.getByTitle("vip", { exact: true }).click();
    await page.locator("#remark").fill("线下充值");
    await page.getByRole("button", { name: "提交" }).click();
    await page.waitForURL("**/user");
    await row.getByText("$5.00").waitFor();
    await row.getByText("vip").waitFor();
    await screenshot(page, "users");
    await row.getByRole("button", { name: "日志" }).click();
    await page.waitForURL("**/log?username=zhangwei");
    await page.getByText("用户：zhangwei").waitFor();
    await page.goBack();
    await row.getByRole("button", { name: "删除" }).click();
    const question = page.getByRole("dialog");
    await question.getByText(/剩余额度 \$5\.00 随账户作废，全部令牌立即失效/).waitFor();
    await screenshot(page, "user-deletion");
    const confirm = page.getByRole("button", { name: "确认删除" });
    expect(await confirm.isDisabled()).toBe(true);
    await page.getByRole("textbox", { name: /请输入/ }).fill("zhangwei");
    await confirm.click();
    await row.waitFor({ state: "detached" });
    await context.close();
  });

  it("leave super administrators alone, sort by quota and cut long names", async () => {
    const { page, context } = await visit("root");
    await page.goto("/user");
    const root = page.getByRole("row", { name: /root/ });
    expect(await root.getByRole("button", { name: "删除" }).isDisabled()).toBe(true);
    expect(await root.getByRole("button", { name: "禁用" }).isDisabled()).toBe(true);
    await page.getByLabel("排序").click();
    await page.getByTitle("按剩余额度排序").click();
    await page.waitForURL(/order=quota&desc=true/);
    await context.close();
  });

  it("without the role see a refusal, and their own profile has no group", async () => {
    const { page, context } = await visit("lihua");
    for (const path of ["/user", "/user/edit/1", "/redemption", "/channel"]) {
      await page.goto(path);
      await page.getByText("没有访问权限").waitFor();
    }
    await page.goto("/user/edit");
    await page.getByLabel("显示名称").waitFor();
    expect(await page.locator("#group").count()).toBe(0);
    await context.close();
  });
});

const PATIENCE = { timeout: 30_000 };

describe("topping up", () => {
  it("asks for a code, says why it is refused, and credits code and gift", async () => {
    const { page, context } = await visit("lihua");
    const [first = ""] = await makeCodes(1, 50_000_000);
    const { gift_code } = (await manage(server.url, "GET", "/api/user/partner_plan_info")) as {
      gift_code: string; // the contract of the call
    };
    await page.goto("/topup");
    await page.getByRole("button", { name: "兑换" }).click();
    await page.getByText("请输入兑换码！").waitFor();
    await page.locator("#key").fill("nonsense");
    await page.getByRole("button", { name: "兑换" }).click();
    await page.getByText("兑换码无效").waitFor();
    await page.locator("#key").fill(` ${first} `);
    await page.locator("#gift_code").fill(gift_code);
    await page.getByRole("button", { name: "兑换" }).click();
    await page.getByText("充值成功！到账 $105.00，其中赠送 $5.00").waitFor();
    await page.locator(".tg-balance-figure", { hasText: "$105.00" }).waitFor();
    await page.route("**/api/user/topup", (route) => route.abort());
    await page.locator("#key").fill("anything");
    await page.getByRole("button", { name: "兑换" }).click();
    await page.getByText("请求失败").waitFor();
    await context.close();
  });

  it("offers the five plans, with links once the operator has set one", async () => {
    const { page, context } = await visit("lihua");
    await page.goto("/topup");
    await page.getByText("管理员尚未设置充值链接").waitFor();
    const plans = (await page.locator(".tg-plan").allInnerTexts()).map((text) => text.split(/\s+/).join(" "));
    expect(plans).toEqual([
      "$10 6折 6 元",
      "$50 6折 30 元",
      "$120 5折 60 元",
      "$500 5折 250 元",
      "$1000 5折 500 元",
    ]);
    const administrator = await visit("root");
    await administrator.page.goto("/topup");
    await administrator.page.getByText("尚未设置充值链接，用户在这里无法购买").waitFor();
    await administrator.page.getByRole("link", { name: "运营设置" }).click();
    await administrator.page.waitForURL("**/setting?tab=operation");
    await administrator.context.close();
    await world.setOption("TopUpLink", "https://shop.example/codes");
    await page.reload();
    const link = page.getByRole("link", { name: /购买 \$10，/ });
    expect(await link.getAttribute("href")).toBe("https://shop.example/codes");
    expect(await link.getAttribute("rel")).toContain("noopener");
    await screenshot(page, "topup");
    await context.close();
  });
});

describe("the partner plan", () => {
  it("is told on the top-up page as its operator has set it, and not where gifts are off", async () => {
    const { page, context } = await visit("lihua");
    const told = page.getByText(/双方各得.*额外额度/);
    const percents = async () => (await told.allInnerTexts()).map((text) => /\d+%/.exec(text)?.[0]);
    await page.goto("/topup");
    await page.getByRole("heading", { name: "充值说明" }).waitFor();
    await expect.poll(percents, PATIENCE).toEqual(["5%", "5%"]);
    await world.setOption("GiftPercent", "8");
    await page.reload();
    await expect.poll(percents, PATIENCE).toEqual(["8%", "8%"]);
    await world.setOption("GiftPercent", "0");
    await page.reload();
    await page.getByRole("heading", { name: "充值说明" }).waitFor();
    await expect.poll(() => told.count(), PATIENCE).toBe(0);
    await page.goto("/partnerplan");
    await page.getByText("把链接分享给好友。").waitFor();
    await world.setOption("GiftPercent", "5");
    await context.close();
  });

  it("tells guests the rules, and members their link, code, friends and balance", async () => {
    const guest = await visit();
    await guest.page.goto("/partnerplan");
    await guest.page.getByText("最高返利 10%").first().waitFor();
    // Validity and withdrawal as requirements B9 has them.
    await guest.page.getByText("额度有效期为 9 个月").first().waitFor();
    await guest.page.getByText("人工审核约需 24 小时，通过支付宝或 USDT 支付").first().waitFor();
    expect(await guest.page.getByText("我的好友").count()).toBe(0);
    await guest.context.close();
    const { page, context } = await visit("lihua");
    await page.goto("/partnerplan");
    const link = await page.getByLabel("邀请链接", { exact: true }).inputValue();
    const code = await page.getByLabel("礼品码", { exact: true }).inputValue();
    expect(link).toBe(`${server.url}/register?aff=${code}`);
    for (let index = 0; index < 11; index += 1) {
      const password = `friendly-pass-${index}`;
      const draft = { username: `friend${index}`, password, password2: password, email: "", aff_code: code };
      await fetch(`${server.url}/api/user/register`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ ...draft, verification_code: "" }),
      });
    }
    await page.reload();
    await page.getByText("共邀请了 11 位好友").waitFor();
    const friends = page.getByRole("row", { name: /friend/ });
    expect(await friends.count()).toBe(10);
    await page.getByTitle("2", { exact: true }).click();
    await expect.poll(() => friends.count()).toBe(1);
    await page.getByText("余额满 100 元可以提现").first().waitFor();
    await context.close();
  });
});
