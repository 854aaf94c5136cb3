// The first steps on an empty database in a real browser: the address that the terminal printed, a password, who may register, a channel with a test, a
// token and a call that works (requirements I39).
import type { LLMock } from "@copilotkit/aimock";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startAimock, upstreamKey } from "#test/emulators/aimock.ts";
import { launchBrowser, openContext, screenshots } from "#test/worlds/browser.ts";
import { buildConsole } from "#test/worlds/build.ts";
import { type ServerProcess, startServer, temporaryDir } from "#test/worlds/process.ts";

const PASSWORD = "harbour-lamp-81";
const dir = temporaryDir();
let server: ServerProcess;
let mock: LLMock;
let browser: Browser;
let page: Page;
let address = "";
const complaints: string[] = [];

const picture = (name: string) => screenshots(page, `first-run-${name}`);

beforeAll(async () => {
  buildConsole();
  mock = await startAimock();
  server = await startServer(dir.path, { LOG_LEVEL: "trace" });
  browser = await launchBrowser();
  const context = await openContext(browser, server.url);
  page = await context.newPage();
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
}, 180_000);

afterAll(async () => {
  await browser?.close();
  await server?.kill();
  await mock?.stop();
  dir.remove();
});

it("the terminal prints the address, and the log does not", () => {
  const lines = server.output().split("\n");
  address = /http:\/\/127\.0\.0\.1:\d+\/first-run#[\w-]{43}/.exec(server.output())?.[0] ?? "";
  expect(address).toContain(`${server.url}/first-run#`);
  const key = address.split("#")[1] ?? "?";
  expect(lines.filter((line) => line.startsWith("{") && line.includes(key))).toEqual([]);
});

it("without the key nothing can be set", async () => {
  await page.goto(`${server.url}/first-run`);
  await page.getByText("请打开服务器终端里打印的完整地址").waitFor();
  expect(await page.getByRole("button", { name: "设置并登录" }).isDisabled()).toBe(true);
});

it("a password, the address of the server and who may register are set, and root is in", async () => {
  await page.goto("about:blank");
  await page.goto(address);
  await page.getByLabel("新密码").fill(PASSWORD);
  await page.getByLabel("再次输入密码").fill("another-lamp-82");
  expect(await page.getByLabel("服务器地址").inputValue()).toBe(server.url);
  await page.getByRole("button", { name: "设置并登录" }).click();
  await page.getByText("两次输入的密码不一致").waitFor();
  expect(await page.getByRole("radio", { name: "开放注册" }).isChecked()).toBe(true);
  await page.getByRole("radio", { name: "仅限邀请" }).check();
  await picture("password");
  await page.getByLabel("再次输入密码").fill(PASSWORD);
  await page.getByRole("button", { name: "设置并登录" }).click();
  await page.getByRole("heading", { name: "接入第一个渠道" }).waitFor();
  expect(page.url()).toBe(`${server.url}/first-run?step=channel`);
});

it("a second browser finds the address used up, and cannot register without an invitation", async () => {
  const other = await openContext(browser, server.url);
  const second = await other.newPage();
  await second.goto(address);
  await second.getByRole("heading", { name: "首次设置已经完成" }).waitFor();
  await second.goto("/register");
  await second.getByText("当前仅限受邀注册").waitFor();
  await other.close();
});

it("a channel is saved and tested; what was wrong is put right", async () => {
  // Nothing listens there.
  await page.getByLabel("Base URL").fill("http://127.0.0.1:9");
  await page.getByLabel("密钥", { exact: true }).fill(upstreamKey);
  await page.getByLabel("模型").fill("gpt-4o-mini, gpt-4o");
  await page.getByRole("button", { name: "保存并测试" }).click();
  await page.getByRole("alert").waitFor();
  await picture("channel-fault");
  await page.getByLabel("Base URL").fill(mock.url);
  await page.getByRole("button", { name: "修改并重新测试" }).click();
  await page.getByText("测试成功：gpt-4o-mini").waitFor();
  await picture("channel");
  await page.getByRole("button", { name: "下一步" }).click();
});

it("a token is made, and a call with it works", async () => {
  await page.getByRole("button", { name: "创建令牌" }).click();
  await page.getByRole("heading", { name: "用令牌调用" }).waitFor();
  expect(await page.getByLabel("密钥", { exact: true }).inputValue()).toMatch(/^sk-[0-9A-Za-z]{48}$/);
  await page.getByRole("button", { name: "发送“你好”" }).click();
  await page.getByText("调用成功").waitFor();
  await page.getByText("Hello from the upstream.").waitFor();
  await picture("call");
  await page.getByRole("link", { name: "完成，进入控制台" }).click();
  await page.waitForURL("**/dashboard");
  expect(complaints).toEqual([]);
});
