// The first steps of a new operator in a real browser: log in, add a channel, test it, create a token, copy its key, call the
// gateway with the official SDK, and find every call in the log, charged to the unit.
import type { LLMock } from "@copilotkit/aimock";
import OpenAI from "openai";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { poem, startAimock, upstreamKey } from "#test/emulators/aimock.ts";
import { launchBrowser, openContext, screenshot } from "#test/worlds/browser.ts";
import { buildConsole } from "#test/worlds/build.ts";
import { type ServerProcess, startServer, temporaryDir } from "#test/worlds/process.ts";

const dir = temporaryDir();
let server: ServerProcess;
let mock: LLMock;
let browser: Browser;
let context: BrowserContext;
let page: Page;
let key = "";
/** What the console printed as an error, and what the page could not catch. */
const complaints: string[] = [];

interface Row {
  id: number;
  quota: number;
  used_quota: number;
  remain_quota: number;
  request_count: number;
  model_name: string;
  prompt_tokens: number;
  completion_tokens: number;
}

/** Reads a management answer with the browser's own session. */
async function read(path: string): Promise<unknown> {
  const response = await context.request.get(`${server.url}${path}`);
  const answer: unknown = await response.json();
  return typeof answer === "object" && answer !== null && "data" in answer ? answer.data : undefined;
}

/** Fills the login form with the default credentials and sends it. */
async function logIn(): Promise<void> {
  await page.getByRole("textbox", { name: "用户名" }).fill("root");
  await page.getByRole("textbox", { name: "密码" }).fill("123456");
  await page.getByRole("button", { name: "登录", exact: true }).click();
}

beforeAll(async () => {
  buildConsole();
  mock = await startAimock();
  server = await startServer(dir.path);
  browser = await launchBrowser();
  context = await openContext(browser, server.url);
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

describe("a new operator", () => {
  it("is sent to the login page and, with the default credentials, to change the password", async () => {
    await page.goto(`${server.url}/channel`);
    await page.waitForURL("**/login");
    await logIn();
    await page.waitForURL("**/user/edit");
    await page.getByText("请立刻修改默认密码").first().waitFor();
    await screenshot(page, "journey-first-login");
  });

  it("adds a channel that points to the upstream, and tests it", async () => {
    await page.goto(`${server.url}/channel/add`);
    await page.getByLabel("名称", { exact: true }).fill("上游一号");
    await page.getByLabel("Base URL").fill(`${mock.url}/`);
    await page.locator("#key").fill(upstreamKey);
    const custom = page.getByLabel("自定义模型名称");
    await custom.fill("gpt-4o-mini,text-embedding-3-small");
    await custom.press("Enter");
    await screenshot(page, "journey-channel-form");
    await page.getByRole("button", { name: "提交", exact: true }).click();
    await page.waitForURL("**/channel");
    await page.getByText("上游一号").first().waitFor();
    await page.getByRole("button", { name: "测试", exact: true }).first().click();
    await page.getByText("测试成功").first().waitFor();
    await screenshot(page, "journey-channels");
    const channels = (await read("/api/channel/")) as {
      base_url: string;
      key: string;
      response_time: number;
    }[];
    expect(channels).toHaveLength(1);
    expect(channels[0]).toMatchObject({ base_url: mock.url, key: "" });
    expect(channels[0]?.response_time).toBeGreaterThan(0);
  });

  it("creates a token and copies its key", async () => {
    await page.goto(`${server.url}/token/add`);
    await page.getByLabel("名称", { exact: true }).fill("第一把钥匙");
    await page.getByRole("button", { name: "提交", exact: true }).click();
    await page.waitForURL("**/token");
    await page.getByRole("button", { name: "复制令牌 第一把钥匙 的密钥" }).click();
    key = await page.evaluate(() => navigator.clipboard.readText());
    expect(key).toMatch(/^sk-[0-9A-Za-z]{48}$/);
    await screenshot(page, "journey-tokens");
  });

  it("calls the gateway with the official SDK: an answer, a stream, a tool call, an embedding", async () => {
    const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: key, maxRetries: 0 });
    const ask = { model: "gpt-4o-mini", messages: [{ role: "user" as const, content: "write a poem" }] };
    const plain = await client.chat.completions.create(ask);
    expect(plain.choices[0]?.message.content).toBe(poem);
    let streamed = "";
    for await (const chunk of await client.chat.completions.create({ ...ask, stream: true })) {
      streamed += chunk.choices[0]?.delta.content ?? "";
    }
    expect(streamed).toBe(poem);
    const tool = await client.chat.completions.create({
      model: "gpt-4o-mini",
      messages: [{ role: "user", content: "weather?" }],
      tools: [
        {
          type: "function",
          function: { name: "get_weather", parameters: { type: "object", properties: {} } },
        },
      ],
    });
    expect(tool.choices[0]?.message.tool_calls).toHaveLength(1);
    const embedding = await client.embeddings.create({
      model: "text-embedding-3-small",
      input: "hello",
      encoding_format: "float",
    });
    expect(embedding.data[0]?.embedding).toHaveLength(4);
  });

  it("finds the calls in the log with model, tokens and charge", async () => {
    await page.goto(`${server.url}/log?type=2`);
    const rows = page.locator("tbody tr.ant-table-row");
    await page.getByText("text-embedding-3-small").first().waitFor();
    expect(await rows.count()).toBe(4);
    const text = (await rows.allInnerTexts()).join("\n");
    expect(text).toContain("gpt-4o-mini");
    expect(text).toContain("text-embedding-3-small");
    expect(text).toContain("第一把钥匙");
    await screenshot(page, "journey-log");
  });

  it("paid exactly what the log says, from the token and from the account", async () => {
    // Rows of /api/log/self, /api/token and /api/user/self, of which only the fields above are read.
    const logs = (await read("/api/log/self/?type=2&size=100")) as Row[];
    const token = ((await read("/api/token/?size=100")) as Row[])[0];
    const user = (await read("/api/user/self")) as Row;
    expect(logs).toHaveLength(4);
    for (const log of logs) expect(log.prompt_tokens).toBeGreaterThan(0);
    const spent = logs.reduce((sum, log) => sum + log.quota, 0);
    expect(spent).toBeGreaterThan(0);
    expect(token).toMatchObject({ used_quota: spent, remain_quota: 500_000 - spent });
    expect(user).toMatchObject({ quota: 100_000_000 - spent, used_quota: spent, request_count: 4 });
  });

  it("sees no error in the browser, and logs out", async () => {
    expect(complaints).toEqual([]);
    await page.getByRole("button", { name: /Root User/ }).click();
    await page.getByText("注销", { exact: true }).click();
    await page.waitForURL(/\/(login)?$/);
    expect((await context.request.get(`${server.url}/api/user/self`)).status()).toBe(401);
  });
});
