// What a page shows may be no longer so: another user changed it, calls spent it, an answer was lost; and what a field holds may be
// out of bounds. In a real browser against the real server.
import { describe, expect, it } from "vitest";
import { createConsoleWorld } from "#test/worlds/console-world.ts";
import { manage } from "#test/worlds/process.ts";

const world = createConsoleWorld();

const api = (method: string, path: string, body?: unknown) => manage(world.server.url, method, path, body);

describe("what another tab has changed", () => {
  it("goes from the list when the server says that it is gone", async () => {
    await api("POST", "/api/user/", { username: "brief", password: "river-stone-42" });
    const { page, context } = await world.visit("root");
    await page.goto("/user");
    const row = page.getByRole("row", { name: "brief" });
    await row.waitFor();
    await api("POST", "/api/user/manage", { username: "brief", action: "delete" });
    await row.getByRole("button", { name: "禁用" }).click();
    await page.getByText("找不到该用户").waitFor();
    await row.waitFor({ state: "detached" });
    await context.close();
  });

  it("of a channel or a user stays when a form that was opened before is saved", async () => {
    const draft = { type: 1, name: "两处", key: "sk-two", models: "gpt-4o", group: "default" };
    await api("POST", "/api/channel/", draft);
    const [channel] = (await api("GET", "/api/channel/search?keyword=两处")) as { id: number }[]; // the contract
    const { page, context } = await world.visit("root");
    await page.goto(`/channel/edit/${channel?.id}`);
    await page.locator("#name").fill("这一处");
    await api("PUT", "/api/channel/", { id: channel?.id, priority: 7, models: "gpt-4o,gpt-4o-mini" });
    await page.getByRole("button", { name: "提交", exact: true }).click();
    await page.getByText("渠道更新成功！").waitFor();
    const stored = await api("GET", `/api/channel/${channel?.id}`);
    expect(stored).toMatchObject({ name: "这一处", priority: 7, models: "gpt-4o,gpt-4o-mini" });
    await page.goto("/user/edit/2");
    await page.locator("#remark").fill("备注");
    await api("PUT", "/api/user/", { id: 2, display_name: "改过的" });
    await page.getByRole("button", { name: "提交", exact: true }).click();
    await page.getByText("用户信息更新成功！").waitFor();
    expect(await api("GET", "/api/user/2")).toMatchObject({ display_name: "改过的" });
    await api("PUT", "/api/user/", { id: 2, display_name: "lihua" });
    await context.close();
  });

  it("in a price table stays when other rows of it are saved", async () => {
    const groups = async () => {
      const options = (await api("GET", "/api/option/")) as { key: string; value: string }[]; // the contract
      return JSON.parse(options.find(({ key }) => key === "GroupRatio")?.value ?? "{}");
    };
    await world.setOption("GroupRatio", '{"default":1,"vip":0.9,"svip":0.8}');
    const { page, context, asked } = await world.visit("root");
    await page.goto("/setting?tab=operation");
    const ratio = page.getByLabel("vip 的倍率", { exact: true });
    await ratio.fill("0.7");
    await ratio.blur();
    await world.setOption("GroupRatio", '{"default":1,"vip":0.9,"svip":0.6,"partner":0.5}');
    const begun = asked.length;
    await page.getByRole("button", { name: "保存分组倍率" }).click();
    await expect.poll(groups).toEqual({ default: 1, vip: 0.7, svip: 0.6, partner: 0.5 });
    await page.getByLabel("partner 的倍率", { exact: true }).waitFor();
    expect(await ratio.inputValue()).toBe("0.7");
    await page.getByText("操作成功完成").waitFor();
    await page.waitForLoadState("networkidle");
    // The list before the save, with the save in it, is what the page shows after it; the other call is the save.
    expect(asked.slice(begun).filter((address) => address.endsWith("/api/option/"))).toHaveLength(2);
    await context.close();
  });

  it("of how amounts are shown is followed when the page is come back to, with one question a minute", async () => {
    const { page, context, asked } = await world.visit("root");
    await page.clock.install();
    await page.goto("/topup");
    await page.getByText("$200.00").first().waitFor();
    await page.waitForLoadState("networkidle");
    const comeBack = () =>
      page.evaluate(() => document.dispatchEvent(new Event("visibilitychange", { bubbles: true })));
    const questions = () => asked.filter((address) => address.endsWith("/api/status")).length;
    const before = questions();
    await world.setOption("DisplayInCurrencyEnabled", "false");
    await comeBack();
    await page.waitForLoadState("networkidle");
    expect(questions()).toBe(before);
    await page.clock.fastForward(61_000);
    for (let time = 0; time < 3; time += 1) await comeBack();
    await page.getByText("100.0M").first().waitFor();
    expect(await page.getByText("$200.00").count()).toBe(0);
    expect(questions()).toBe(before + 1);
    await world.setOption("DisplayInCurrencyEnabled", "true");
    await context.close();
  });

  it("is told once where a form would be", async () => {
    const { page, context } = await world.visit("root");
    await page.goto("/redemption/edit/4711");
    await page.getByRole("alert").getByText("找不到该兑换码").waitFor();
    await page.waitForLoadState("networkidle");
    expect(await page.getByText("找不到该兑换码").count()).toBe(1);
    await context.close();
  });
});

describe("a balance", () => {
  it("of which a withdrawal was paid in another tab is read anew before more is", async () => {
    await api("PUT", "/api/user/", { id: 2, invite_commission_balance: "200" });
    const { page, context } = await world.visit("root");
    await page.goto("/user?keyword=lihua");
    const row = page.getByRole("row", { name: "lihua" });
    const withdraw = row.getByRole("button", { name: "提现" });
    await withdraw.waitFor();
    await api("POST", "/api/user/withdrawal", { user_id: 2, amount: "100" });
    await withdraw.click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("返现余额 ¥100").waitFor();
    await dialog.getByRole("button", { name: "确认已支付" }).click();
    await dialog.getByText("返现余额不足").waitFor();
    await context.close();
  });

  it("of a token in use is not put back by a new name", async () => {
    const made = (await api("POST", "/api/token/", { name: "在用", remain_quota: 1_000 })) as { id: number }; // the contract
    const { page, context } = await world.visit("root");
    await page.goto(`/token/edit/${made.id}`);
    await page.getByRole("textbox", { name: "名称" }).fill("改名");
    await api("PUT", "/api/token/", { id: made.id, remain_quota: 400 });
    await page.getByRole("button", { name: "提交" }).click();
    await page.getByText("令牌更新成功！").waitFor();
    expect(await api("GET", `/api/token/${made.id}`)).toMatchObject({ name: "改名", remain_quota: 400 });
    await context.close();
  });

  it("out of bounds is refused, not made the nearest one that is allowed", async () => {
    const { page, context } = await world.visit("root");
    const sent: string[] = [];
    page.on("request", (request) => {
      if (request.method() !== "GET") sent.push(request.url());
    });
    await page.goto("/user/edit/2");
    await page.getByRole("spinbutton", { name: "剩余额度" }).fill("-100");
    await page.getByRole("button", { name: "提交" }).click();
    await page.getByText("额度不能小于 0").waitFor();
    await page.goto("/redemption/add");
    await page.getByRole("textbox", { name: "名称" }).fill("很多");
    await page.getByRole("spinbutton", { name: "生成数量" }).fill("1000");
    await page.getByRole("button", { name: "提交" }).click();
    await page.getByText("数量须在 1 到 100 之间").waitFor();
    expect(sent).toEqual([]);
    await context.close();
  });
});

it("a batch of codes whose answer was lost is the same when it is asked for again", async () => {
  const { page, context } = await world.visit("root");
  await page.route("**/api/redemption/", async (route) => {
    await route.fetch();
    await route.abort();
  });
  await page.goto("/redemption/add");
  await page.getByRole("textbox", { name: "名称" }).fill("丢失的一批");
  await page.getByRole("button", { name: "提交" }).click();
  await page.getByText("无法正常连接至服务器！").waitFor();
  await page.unroute("**/api/redemption/");
  await page.getByRole("button", { name: "提交" }).click();
  await page.getByText("已生成 1 个兑换码").waitFor();
  const codes = (await api("GET", "/api/redemption/?size=100")) as { name: string }[]; // the contract
  expect(codes.filter(({ name }) => name === "丢失的一批")).toHaveLength(1);
  await context.close();
});
