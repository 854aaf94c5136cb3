// The first run: the address that the terminal prints leads to a password of one's own, once, also through a proxy that tells nothing of
// itself, where the default password opens nothing (requirements I39, A10).
import { createServer, request, type Server } from "node:http";
import { text as textOf } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { banner } from "#server/main/banner.ts";
import { asGuest, asRoot, createAppOn, createTestApp, databases, type TestApp } from "#test/worlds/app.ts";

const PASSWORD = "harbour-lamp-81";
const WRONG = "设置地址不正确，请使用终端里打印的完整地址";
const CLOSED = "首次设置已经完成，请用管理员密码登录";

describe.each(databases)("the first run on $name", (database) => {
  let app: TestApp;
  let key = "";

  beforeEach(async () => {
    app = await createAppOn(database);
    key = (await app.ctx.firstRun.key()) ?? "";
  });
  afterEach(() => app.close());

  const finish = (body: object) => app.call(asGuest, "POST", "/api/first_run", body);
  const logIn = (password: string) =>
    app.call(asGuest, "POST", "/api/user/login", { username: "root", password });
  const isOpen = async () => (await app.call(asGuest, "GET", "/api/status")).data.first_run;

  test("sets password and address, logs in, ends what came in before, and closes", async () => {
    const before = await app.login("root", "123456");
    await app.ctx.options.set("RegisterEnabled", "false");
    expect(await isOpen()).toBe(true);
    expect(key).toMatch(/^[\w-]{43}$/);
    const answer = await finish({ key, password: PASSWORD, server_address: "https://gate.example/" });
    expect(answer).toMatchObject({ success: true, data: { username: "root", role: 100 } });
    expect(await isOpen()).toBe(false);
    expect(await app.ctx.firstRun.key()).toBeUndefined();
    expect(app.ctx.options.get("ServerAddress")).toBe("https://gate.example");
    // Not asked for, so as before.
    expect(app.ctx.options.get("RegisterEnabled")).toBe(false);
    expect((await app.call(before, "GET", "/api/user/self")).status).toBe(401);
    // The environment set it up.
    expect((await app.call(asRoot, "GET", "/api/user/self")).success).toBe(true);
    expect((await logIn("123456")).success).toBe(false);
    expect((await logIn(PASSWORD)).success).toBe(true);
    // A second browser, and the first step once more.
    expect(await finish({ key, password: "another-lamp-82" })).toMatchObject({
      success: false,
      message: CLOSED,
    });
    expect((await logIn(PASSWORD)).success).toBe(true);
    const acts = await app.ctx.db
      .selectFrom("audit")
      .selectAll()
      .where("action", "=", "auth.first_run")
      .execute();
    expect(acts).toMatchObject([{ actor_name: "root", target: "1" }]);
    expect(JSON.stringify(acts)).not.toContain(key);
  });

  test.each([
    { registration: "open", register: true, register_invited: true },
    { registration: "invited", register: false, register_invited: true },
    { registration: "closed", register: false, register_invited: false },
  ])("leaves registration $registration", async ({ registration, ...status }) => {
    const isClosed = registration === "closed";
    await app.ctx.options.set("RegisterEnabled", String(isClosed));
    await app.ctx.options.set("InvitationRequiredEnabled", String(registration === "open"));
    expect((await finish({ key: `${key}x`, password: PASSWORD, registration })).success).toBe(false);
    expect(app.ctx.options.get("RegisterEnabled")).toBe(isClosed);
    expect((await finish({ key, password: PASSWORD, registration })).success).toBe(true);
    expect((await app.call(asGuest, "GET", "/api/status")).data).toMatchObject(status);
    const draft = { username: "newcomer", password: "another-lamp-82" };
    const registered = await app.call(asGuest, "POST", "/api/user/register", draft);
    expect(registered.success).toBe(status.register);
    const acts = await app.ctx.db
      .selectFrom("audit")
      .select("detail")
      .where("action", "=", "auth.first_run")
      .execute();
    expect(acts.map(({ detail }) => JSON.parse(detail))).toMatchObject([{ registration }]);
  });

  test("of many browsers at once one sets the password", async () => {
    const root = await app.login("root", "123456");
    const accessToken = (await app.call(root, "GET", "/api/user/token")).data;
    const passwords = Array.from({ length: 8 }, (_, at) => `harbour-lamp-${at}0`);
    const answers = await Promise.all(passwords.map((password) => finish({ key, password })));
    expect(answers.filter(({ success }) => success)).toHaveLength(1);
    expect((await app.call({ authorization: accessToken }, "GET", "/api/user/self")).success).toBe(false);
    // The one that counts first: wrong ones beside it could use up the tries.
    const set = passwords[answers.findIndex(({ success }) => success)] ?? "";
    expect((await logIn(set)).success).toBe(true);
    const others = await Promise.all(passwords.filter((password) => password !== set).map(logIn));
    expect(others.filter(({ success }) => success)).toEqual([]);
  });

  test("is closed to other keys, easy passwords and odd addresses, and stays open after them", async () => {
    expect(await finish({ key: `${key}x`, password: PASSWORD })).toMatchObject({
      success: false,
      message: WRONG,
    });
    for (const wrong of [
      { key, password: "12345678" },
      { key, password: "short" },
      { key: "", password: PASSWORD },
      { key, password: PASSWORD, server_address: "javascript:alert(1)" },
      { key, password: PASSWORD, registration: "anybody" },
    ])
      expect((await finish(wrong)).success).toBe(false);
    expect((await logIn("123456")).success).toBe(true);
    expect(await isOpen()).toBe(true);
  });

  test("is closed by a password that is set in another way", async () => {
    const root = await app.login("root", "123456");
    const change = { original_password: "123456", password: PASSWORD };
    expect((await app.call(root, "PUT", "/api/user/self", change)).success).toBe(true);
    expect(await isOpen()).toBe(false);
    expect(await finish({ key, password: "another-lamp-82" })).toMatchObject({ message: CLOSED });
    expect((await logIn(PASSWORD)).success).toBe(true);
  });
});

test("an operator who chose the first password needs no address", async () => {
  const app = await createTestApp({ env: { INITIAL_ROOT_PASSWORD: PASSWORD } });
  expect(await app.ctx.firstRun.key()).toBeUndefined();
  expect((await app.call(asGuest, "GET", "/api/status")).data.first_run).toBe(false);
  await app.close();
});

test("the address is told as this machine reaches the server, or by its name", async () => {
  const app = await createTestApp();
  const at = (address: string) =>
    banner(app.ctx, { address, family: address.includes(":") ? "IPv6" : "IPv4", port: 3000 }, "k");
  expect(at("0.0.0.0")).toContain(" http://127.0.0.1:3000/first-run#k\n");
  expect(at("::")).toContain(" http://127.0.0.1:3000/first-run#k\n");
  expect(at("192.0.2.7")).toContain(" http://192.0.2.7:3000/first-run#k\n");
  expect(banner(app.ctx, null)).not.toContain("first-run");
  await app.ctx.options.set("ServerAddress", "https://gate.example");
  expect(at("0.0.0.0")).toContain(" https://gate.example/first-run#k\n");
  await app.close();
});

/** A proxy that speaks HTTP/1.1, asks for its upstream's own address and adds nothing, as nginx ships since 1.29.7. */
async function startPlainProxy(target: string): Promise<{ server: Server; port: number }> {
  const upstream = new URL(target);
  const server = createServer((req, res) => {
    const headers = { ...req.headers, host: upstream.host };
    const forwarded = request(
      { port: upstream.port, host: upstream.hostname, method: req.method, path: req.url, headers },
      (answer) => {
        res.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(res);
      },
    );
    req.pipe(forwarded);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return { server, port: address.port };
}

interface Told {
  readonly text: string;
  readonly cookies: readonly string[];
}

/** As a browser does that has our page at `http://gate.example`, by plain http: it tells the origin, and no Sec-Fetch headers. */
function fromBrowser(
  port: number,
  method: string,
  path: string,
  { body, cookie }: { body?: object; cookie?: string } = {},
): Promise<Told> {
  const headers = {
    host: "gate.example",
    accept: "*/*",
    "accept-language": "zh-CN",
    "content-type": "application/json",
    ...(method === "GET" ? { referer: "http://gate.example/first-run" } : { origin: "http://gate.example" }),
    ...(cookie === undefined ? {} : { cookie }),
  };
  return new Promise((resolve, reject) => {
    request({ host: "127.0.0.1", port, method, path, headers }, async (res) => {
      resolve({ text: await textOf(res), cookies: res.headers["set-cookie"] ?? [] });
    })
      .on("error", reject)
      .end(body === undefined ? undefined : JSON.stringify(body));
  });
}

test("behind a proxy that tells nothing, the default password opens nothing, and the address leads all the way", async () => {
  const app = await createTestApp();
  await app.ctx.defaultPassword.check();
  const { server, port } = await startPlainProxy(await app.listen());
  const key = (await app.ctx.firstRun.key()) ?? "";

  const refused = await fromBrowser(port, "POST", "/api/user/login", {
    body: { username: "root", password: "123456" },
  });
  expect(JSON.parse(refused.text).success).toBe(false);
  expect(refused.cookies).toEqual([]);
  // From the machine itself it opens nothing any more, either; the refusal says where to go.
  const local = await app.call(asGuest, "POST", "/api/user/login", { username: "root", password: "123456" });
  expect(local).toMatchObject({ success: false, message: expect.stringContaining("一次性设置地址") });

  const body = { key, password: PASSWORD, server_address: "http://gate.example" };
  const done = await fromBrowser(port, "POST", "/api/first_run", { body });
  expect(JSON.parse(done.text)).toMatchObject({ success: true, data: { username: "root" } });
  const cookie = done.cookies.find((each) => each.startsWith("session="))?.split(";")[0] ?? "";
  // What comes next is ours by the address that was set, though the proxy hides the host that was asked for.
  const token = { name: "first", unlimited_quota: true };
  expect(
    JSON.parse((await fromBrowser(port, "POST", "/api/token/", { body: token, cookie })).text).success,
  ).toBe(true);
  expect(JSON.parse((await fromBrowser(port, "GET", "/api/user/logout", { cookie })).text).success).toBe(
    true,
  );
  const login = await fromBrowser(port, "POST", "/api/user/login", {
    body: { username: "root", password: PASSWORD },
  });
  expect(JSON.parse(login.text).success).toBe(true);
  server.closeAllConnections();
  server.close();
  await app.close();
});
