// What each role sees when something fails (requirements B8): the end of a session, limits, an error of the server, a site without one,
// no network, and refusals; for users, administrators and guests.
import type { Page, Route } from "playwright-core";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createConsoleWorld, type Person, type Window } from "#test/worlds/console-world.ts";
import { manage } from "#test/worlds/process.ts";

const MESSAGES = {
  429: "错误：请求次数过多，请稍后再试！",
  500: "错误：服务器内部错误，请联系管理员！",
  405: "本站仅作演示之用，无服务端！",
} as const;
const world = createConsoleWorld();
let window: Window;
let page: Page;

beforeAll(async () => {
  await manage(world.server.url, "POST", "/api/token/", { name: "令牌一号" });
  await manage(world.server.url, "POST", "/api/channel/", {
    type: 1,
    name: "渠道一号",
    key: "sk-upstream",
    models: "gpt-4o",
    group: "default",
  });
}, 180_000);

async function enter(person?: Person): Promise<void> {
  window = await world.visit(person);
  page = window.page;
}

afterEach(() => window.context.close());

/** Answers of one call from now on, until the page is left. */
async function failWith(path: string, status: number): Promise<void> {
  await page.route(path, (route) => route.fulfill({ status, body: "" }));
}

function toast(text: string) {
  return page.locator(".ant-notification-notice", { hasText: text }).first();
}

describe("the end of a session", () => {
  const pages: readonly (readonly [Person, string])[] = [
    ["lihua", "/token"],
    ["lihua", "/log"],
    ["lihua", "/setting"],
    ["wangfang", "/channel"],
    ["root", "/user"],
  ];

  it.each(pages)("sends %s from %s to the login page, which says why", async (person, path) => {
    await enter(person);
    await window.context.clearCookies();
    await page.goto(path);
    await page.waitForURL("**/login?expired=true");
    await page.getByText("未登录或登录已过期，请重新登录！").first().waitFor();
    expect(await page.evaluate(() => localStorage.getItem("user"))).toBe(null);
  });

  it.each(["/partnerplan", "/chat", "/docs", "/pricing", "/cheap"])(
    "sends users there from the public page %s as well; the login leads back, guests may stay",
    async (path) => {
      await enter("lihua");
      await window.context.clearCookies();
      await page.goto(path);
      await page.waitForURL("**/login?expired=true");
      await page.getByRole("textbox", { name: "用户名" }).fill("lihua");
      await page.getByRole("textbox", { name: "密码" }).fill("river-stone-42");
      await page.getByRole("button", { name: "登录", exact: true }).click();
      await page.waitForURL(`**${path}`);
      await window.context.close();
      await enter();
      await page.goto(path);
      await page.waitForLoadState("networkidle");
      await page.getByRole("banner").getByRole("link", { name: "登录" }).waitFor();
      expect(new URL(page.url()).pathname).toBe(path);
    },
  );

  /** Sends the form too late, and signs in again, as the same or as another user. */
  async function submitLate(button: string, [username, password]: readonly [string, string]): Promise<void> {
    await window.context.clearCookies();
    await page.getByRole("button", { name: button, exact: true }).click();
    await page.waitForURL("**/login?expired=true");
    await page.getByRole("textbox", { name: "用户名" }).fill(username);
    await page.getByRole("textbox", { name: "密码" }).fill(password);
    await page.getByRole("button", { name: "登录", exact: true }).click();
  }
  const lihua = ["lihua", "river-stone-42"] as const;
  const wangfang = ["wangfang", "quiet-lantern-7"] as const;

  it("in the middle of work: what was typed is there again for the user that typed it", async () => {
    await enter("lihua");
    await page.goto("/token/add");
    await page.locator("#name").fill("太迟");
    await submitLate("提交", lihua);
    await toast("已恢复登录过期前填写的内容").waitFor();
    expect(await page.locator("#name").inputValue()).toBe("太迟");
    await submitLate("提交", wangfang);
    await page.waitForURL("**/token/add");
    expect(await page.locator("#name").inputValue()).toBe("");
  });

  it("keeps no key of a channel, and all of a long notice", async () => {
    await enter("wangfang");
    await page.goto("/channel/add");
    await page.locator("#name").fill("渠道二号");
    await page.locator("#key").fill("sk-canary");
    await page.locator("#base_url").fill("https://upstream.example");
    await page.locator("#models").fill("gpt-4o");
    // The list of models may still be on its way.
    await page.locator('.ant-select-item-option[title="gpt-4o"]').waitFor();
    await page.keyboard.press("Enter");
    await submitLate("提交", wangfang);
    await toast("已恢复登录过期前填写的内容").waitFor();
    expect(await page.locator("#name").inputValue()).toBe("渠道二号");
    expect(await page.locator("#base_url").inputValue()).toBe("https://upstream.example");
    expect(await page.locator("#key").inputValue()).toBe("");
    await page.goto("/setting?tab=other");
    const notice = "今晚维护。\n".repeat(200);
    await page.locator("#Notice").fill(notice);
    await submitLate("保存公告", wangfang);
    await toast("已恢复登录过期前填写的内容").waitFor();
    expect(await page.locator("#Notice").inputValue()).toBe(notice);
    await page.getByRole("button", { name: "保存公告" }).click();
    await page.getByText("操作成功完成").waitFor();
  });

  it("joins a price table that was being edited with what another administrator has saved meanwhile", async () => {
    await world.setOption("GroupRatio", '{"default":1,"vip":0.9,"svip":0.8}');
    await enter("wangfang");
    await page.goto("/setting?tab=operation");
    const vip = page.getByLabel("vip 的倍率", { exact: true });
    await vip.fill("0.7");
    await world.setOption("GroupRatio", '{"default":1,"vip":0.9,"svip":0.6,"partner":0.5}');
    await submitLate("保存分组倍率", wangfang);
    await toast("已恢复登录过期前填写的内容").waitFor();
    await page.getByLabel("partner 的倍率", { exact: true }).waitFor();
    expect(await page.getByLabel("svip 的倍率", { exact: true }).inputValue()).toBe("0.6");
    expect(await vip.inputValue()).toBe("0.7");
  });

  it("is not shown to guests whose login fails", async () => {
    await enter();
    await page.goto("/login");
    await page.getByRole("textbox", { name: "用户名" }).fill("lihua");
    await page.getByRole("textbox", { name: "密码" }).fill("wrong-password");
    await page.getByRole("button", { name: "登录", exact: true }).click();
    await page.getByRole("alert").first().waitFor();
    expect(new URL(page.url()).search).toBe("");
  });
});

describe.each([429, 500, 405] as const)("HTTP %i", (status) => {
  it("of a list is told once, in its place and as a toast, and can be tried again", async () => {
    await enter("lihua");
    await failWith("**/api/log/self/?*", status);
    await page.goto("/log");
    await toast(MESSAGES[status]).waitFor();
    await page.getByRole("alert").getByText(MESSAGES[status]).last().waitFor();
    await page.unroute("**/api/log/self/?*");
    await page.getByRole("button", { name: "重试" }).click();
    await page.getByText(/^还没有记录/).waitFor();
  });

  it("of an action leaves the row as it was", async () => {
    await enter("root");
    await page.goto("/channel");
    const row = page.getByRole("row", { name: /渠道一号/ });
    await row.getByText("已启用").waitFor();
    await page.route("**/api/channel/", (route) =>
      route.request().method() === "PUT" ? route.fulfill({ status, body: "" }) : route.fallback(),
    );
    await row.getByRole("button", { name: "禁用" }).click();
    await toast(MESSAGES[status]).waitFor();
    await row.getByText("已启用").waitFor();
  });

  it("of the login is told to guests", async () => {
    await enter();
    await failWith("**/api/user/login", status);
    await page.goto("/login");
    await page.getByRole("textbox", { name: "用户名" }).fill("lihua");
    await page.getByRole("textbox", { name: "密码" }).fill("river-stone-42");
    await page.getByRole("button", { name: "登录", exact: true }).click();
    await page.getByText(MESSAGES[status]).first().waitFor();
  });
});

describe("any other status", () => {
  it("is told with its message, or with its number", async () => {
    await enter("root");
    await page.route("**/api/redemption/?*", (route) =>
      route.fulfill({ status: 502, json: { success: false, message: "网关没有回答" } }),
    );
    await page.goto("/redemption");
    await toast("错误：网关没有回答").waitFor();
    await failWith("**/api/channel/?*", 503);
    await page.goto("/channel");
    await toast("错误：HTTP 503").waitFor();
  });

  it("a refusal with status 200 is told by its own message, and the form stays filled", async () => {
    await enter("lihua");
    await page.goto("/token/add");
    await page.route("**/api/token/", (route) =>
      route.fulfill({ json: { success: false, message: "令牌数量已达上限", data: null } }),
    );
    await page.locator("#name").fill("第一百零一个");
    await page.getByRole("button", { name: "提交", exact: true }).click();
    await toast("令牌数量已达上限").waitFor();
    expect(await page.locator("#name").inputValue()).toBe("第一百零一个");
  });

  it("an answer that is no answer of this kind is told as such", async () => {
    await enter("lihua");
    await page.route("**/api/token/?*", (route) => route.fulfill({ body: "<html>hello</html>" }));
    await page.goto("/token");
    await toast("服务器返回了无法识别的数据").waitFor();
  });
});

describe("without a network", () => {
  beforeEach(() => enter("lihua"));

  it("a list says so and recovers", async () => {
    const abort = (route: Route) => route.abort("connectionrefused");
    await page.route("**/api/token/?*", abort);
    await page.goto("/token");
    await toast("无法正常连接至服务器！").waitFor();
    await page.unroute("**/api/token/?*", abort);
    await page.getByRole("button", { name: "重试" }).click();
    await page.getByText("还没有令牌").waitFor();
  });

  it("the start says so once, with the last known name, and the page stands", async () => {
    await page.goto("/token");
    await page.getByText("还没有令牌").waitFor();
    await page.route("**/api/**", (route) => route.abort("internetdisconnected"));
    await page.reload();
    await toast("无法正常连接至服务器！").waitFor();
    await page.getByRole("link", { name: "Tollgate 首页" }).waitFor();
    expect(await page.locator(".ant-notification-notice", { hasText: "无法正常连接" }).count()).toBe(1);
    expect(new URL(page.url()).pathname).toBe("/token");
  });

  it("a page whose code cannot be fetched says what to do", async () => {
    await page.goto("/token");
    await page.getByText("还没有令牌").waitFor();
    await page.route("**/assets/**", (route) => route.abort("internetdisconnected"));
    await page.getByRole("menuitem", { name: "充值" }).click();
    await page.getByRole("button", { name: /刷新|重新加载|重试/ }).waitFor();
  });
});

describe("what a role may not do", () => {
  it("is refused by the server and told, whatever the browser believes", async () => {
    await enter("lihua");
    // The stored role is changed by hand: the pages open, the server refuses.
    await page.addInitScript(() => {
      const user = JSON.parse(localStorage.getItem("user") ?? "{}");
      localStorage.setItem("user", JSON.stringify({ ...user, role: 100 }));
    });
    await page.goto("/channel");
    await page.getByText("渠道一号").waitFor({ state: "detached" });
    await page
      .getByText(/没有访问权限|权限不/)
      .first()
      .waitFor();
  });
});

it("code that is loaded beforehand and does not come is no fault of the page", async () => {
  await enter("lihua");
  const lost = page.waitForEvent("requestfailed", (request) => request.url().includes("/assets/palette"));
  await page.route("**/assets/palette*", (route) => route.abort());
  await page.goto("/token");
  await lost;
  await page.getByText("还没有令牌").waitFor();
  expect(window.complaints.filter((text) => !text.startsWith("Failed to load resource"))).toEqual([]);
});

it("what is said when the code that draws it does not come is shown plainly", async () => {
  await enter("lihua");
  await page.route("**/assets/toasts*", (route) => route.abort());
  await failWith("**/api/token/**", 429);
  await page.goto("/token");
  const plain = page.locator(".tg-plain-toasts", { hasText: MESSAGES[429] });
  await plain.getByRole("button", { name: "关闭" }).click();
  await plain.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "重试" }).click();
  await plain.waitFor();
  expect(window.complaints.filter((text) => !text.startsWith("Failed to load resource"))).toEqual([]);
});
