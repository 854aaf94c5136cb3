// Alerts from what happens to what a target gets: forms, signatures, tries, pace, quiet hours, secrets (requirements I50–I54).
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ALERT_EVENTS } from "#contract/alert-events.ts";
import { Role } from "#contract/user.ts";
import { fakeClock } from "#server/clock.ts";
import type { Notice } from "#server/tools.ts";
import { ROBOT, type Robots, startRobots } from "#test/emulators/robots.ts";
import { type SmtpEmulator, startSmtp } from "#test/emulators/smtp-emulator.ts";
import { seedPassword, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";

const MINUTE_MS = 60_000;

describe.each(databases)("alerts on $name", (database) => {
  // The date header of an emulator is the machine's, so the clock begins there.
  const clock = fakeClock(Date.now());
  let app: TestApp;
  let robots: Robots;
  let smtp: SmtpEmulator;
  let serial = 0;

  beforeAll(async () => {
    [robots, smtp] = await Promise.all([startRobots(clock.now), startSmtp()]);
    app = await createAppOn(database, {
      clock,
      env: { CHAT_VENDOR_URL: robots.url, TRUSTED_PROXIES: "127.0.0.1" },
    });
    const { options } = app.ctx;
    await options.set("ServerAddress", "https://gate.example");
    await options.set("SMTPServer", "127.0.0.1");
    await options.set("SMTPPort", String(smtp.port));
    await options.set("SMTPAccount", "account@gate.example");
  });
  afterAll(async () => {
    await app.close();
    await Promise.all([robots.close(), smtp.close()]);
  });
  beforeEach(() => {
    robots.taken.length = 0;
    // Paces and limits of the test before are over.
    clock.advance(20 * MINUTE_MS);
  });
  afterEach(async () => {
    for (const vendor of ["feishu", "dingtalk", "wecom", "webhook"]) robots.fail(vendor, undefined);
    for (const { id } of await targets()) await app.call(asRoot, "DELETE", `/api/alert/target/${id}`);
    await app.ctx.db.deleteFrom("alert_conditions").execute();
  });

  const targets = async () => (await app.call(asRoot, "GET", "/api/alert/target")).data;
  const sent = async (target = 0) =>
    (await app.call(asRoot, "GET", `/api/alert/delivery?size=100&target=${target}`)).data;
  const TARGETS: Readonly<Record<string, object>> = {
    feishu: { address: ROBOT.feishu, secret: ROBOT.feishuSecret },
    dingtalk: { address: ROBOT.dingtalk, secret: ROBOT.dingtalkSecret },
    wecom: { address: ROBOT.wecom },
    telegram: { secret: ROBOT.telegramToken, to: "-1001" },
    slack: { address: ROBOT.slack },
    bark: { secret: ROBOT.barkKey },
    mail: { to: "ops@example.com; boss@example.com" },
    webhook: { secret: ROBOT.webhookSecret },
  };

  function draft(kind: string, fields: object = {}) {
    const place = kind === "bark" ? robots.url : `${robots.url}/hook`;
    const address = kind === "bark" || kind === "webhook" ? { address: place } : {};
    const plain = { kind, name: `to ${kind}`, is_enabled: true, events: ALERT_EVENTS };
    return { ...plain, ...address, ...TARGETS[kind], ...fields };
  }

  async function add(kind: string, fields: object = {}): Promise<number> {
    const { data, message } = await app.call(asRoot, "POST", "/api/alert/target", draft(kind, fields));
    expect(message).toBe("");
    return data.id;
  }

  /** Something new that happens once. */
  function once(title = "限额已用"): Notice {
    serial += 1;
    return { event: "budget_spent", about: `limit ${serial}`, title, content: "已用 4 / 5" };
  }
  async function raise(...notices: Notice[]): Promise<void> {
    for (const notice of notices) app.ctx.alerts.raise(notice);
    await app.ctx.alerts.idle();
  }
  async function later(ms: number): Promise<void> {
    clock.advance(ms);
    await app.ctx.alerts.deliver();
    await app.ctx.alerts.idle();
  }

  test.each(Object.keys(TARGETS).filter((kind) => kind !== "mail"))(
    "%s takes a message and a test",
    async (kind) => {
      const id = await add(kind);
      await raise(once("分组“vip”的每日额度已用 80% 以上"));
      expect(robots.taken.map(({ vendor }) => vendor)).toEqual([kind]);
      expect(JSON.stringify(robots.taken[0]?.body)).toContain("分组“vip”的每日额度已用 80% 以上");
      clock.advance(MINUTE_MS);
      const tested = await app.call(asRoot, "POST", `/api/alert/target/${id}/test`, {});
      expect(tested.data).toEqual({ is_ok: true, detail: "" });
      expect(await sent(id)).toMatchObject([
        { event: "test", state: "sent", tries: 1, target_name: `to ${kind}` },
        { event: "budget_spent", state: "sent", tries: 1, problem: "" },
      ]);
      expect(await targets()).toMatchObject([
        { waiting: 0, last_problem: "", last_sent_at: clock.seconds() },
      ]);
    },
  );

  test("mail goes to each of its addresses", async () => {
    await add("mail");
    await raise(once("额度 <b>"));
    const letter = await smtp.take("boss@example.com");
    expect(letter.subject).toContain("额度 <b>");
    expect(letter.html).toContain("<p>已用 4 / 5</p>");
    expect(letter.to).toEqual(["ops@example.com", "boss@example.com"]);
  });

  test("a target is told in its language, by mail and by robots", async () => {
    const mail = await add("mail", { language: "en" });
    const robot = await add("slack", { language: "en" });
    expect(await targets()).toMatchObject([{ language: "en" }, { language: "en" }]);
    for (const id of [mail, robot]) await app.call(asRoot, "POST", `/api/alert/target/${id}/test`, {});
    const { subject, html } = await smtp.take("ops@example.com");
    expect(subject + html).not.toMatch(/[\u3000-\u9fff]/);
    expect(html).toContain('lang="en"');
    expect(JSON.stringify(robots.taken[0]?.body)).toContain("Open the console");
    expect(JSON.stringify(robots.taken[0]?.body)).not.toMatch(/[\u3000-\u9fff]/);
  });

  test("only what was chosen is told, and what happens once is told once in ten minutes", async () => {
    await add("webhook", { events: ["budget_spent"] });
    const notice = once();
    await raise(notice, notice, { ...notice, event: "admin_login" });
    expect(robots.taken).toHaveLength(1);
    await raise(notice);
    expect(robots.taken).toHaveLength(1);
    clock.advance(11 * MINUTE_MS);
    await raise(notice);
    expect(robots.taken).toHaveLength(2);
  });

  test("what lasts is told when it begins and when it is over, once each", async () => {
    const id = await add("wecom");
    const begins: Notice = {
      event: "channel_disabled",
      about: "channel 7",
      title: "渠道 #7 已被自动禁用",
      content: "401",
    };
    await raise(begins, begins);
    expect((await app.call(asRoot, "GET", "/api/alert/condition")).data).toMatchObject([
      { event: "channel_disabled", about: "channel 7" },
    ]);
    const over: Notice = { ...begins, title: "已恢复", content: "", isOver: true };
    await raise(over, over);
    expect((await sent(id)).map(({ level }: { level: string }) => level)).toEqual(["over", "warning"]);
    expect(robots.taken[1]?.body.markdown.content).toContain("【已恢复】");
    expect((await app.call(asRoot, "GET", "/api/alert/condition")).data).toEqual([]);
    // A target that does not want ends is told of begins alone.
    await app.call(
      asRoot,
      "PUT",
      `/api/alert/target/${id}`,
      draft("wecom", { tells_end: false, address: "" }),
    );
    await raise(begins, over);
    expect(await sent(id)).toHaveLength(3);
  });

  test("a message is tried three times, then given up, and sent again by hand", async () => {
    const id = await add("feishu");
    robots.fail("feishu", { status: 502, json: {} });
    await raise(once());
    expect(await sent(id)).toMatchObject([{ state: "waiting", tries: 1, problem: "返回状态码 502" }]);
    await later(29_000);
    expect(await sent(id)).toMatchObject([{ tries: 1 }]);
    await later(2_000);
    expect(await sent(id)).toMatchObject([{ state: "waiting", tries: 2 }]);
    await later(121_000);
    const [lost] = await sent(id);
    expect(lost).toMatchObject({ state: "failed", tries: 3 });
    expect(await targets()).toMatchObject([{ last_problem: "返回状态码 502" }]);
    robots.fail("feishu", undefined);
    await app.call(asRoot, "POST", `/api/alert/delivery/${lost.id}/retry`, {});
    await app.ctx.alerts.idle();
    expect(await sent(id)).toMatchObject([{ state: "sent", tries: 1, problem: "" }]);
    expect(await app.call(asRoot, "POST", `/api/alert/delivery/${lost.id}/retry`, {})).toMatchObject({
      success: false,
    });
  });

  test("refusals with status 200 are failures, and settings that are wrong are not tried again", async () => {
    const wrong = [
      await add("feishu", { secret: "another" }),
      await add("dingtalk", { secret: "SECanother" }),
      await add("wecom", { address: ROBOT.wecom.replace("canary", "unknown") }),
    ];
    await raise(once());
    for (const id of wrong) expect(await sent(id)).toMatchObject([{ state: "failed", tries: 1 }]);
    expect(robots.taken).toEqual([]);
    robots.fail("wecom", { body: Buffer.from("<html>"), headers: { "content-type": "text/html" } });
    const tested = await app.call(asRoot, "POST", `/api/alert/target/${wrong[2]}/test`, {});
    expect(tested.data).toEqual({ is_ok: false, detail: "返回的不是该服务的应答" });
  });

  test("a webhook that says it is gone is switched off, and what waits for a target that is off is given up", async () => {
    const gone = await add("webhook");
    robots.fail("webhook", { status: 410, json: {} });
    await raise(once());
    expect((await targets())[0]).toMatchObject({ is_enabled: false, last_problem: "对方表示已停用（410）" });
    robots.fail("webhook", { status: 503, json: {} });
    await app.call(asRoot, "PUT", `/api/alert/target/${gone}`, draft("webhook", { secret: "" }));
    await raise(once());
    expect((await sent(gone))[0]).toMatchObject({ state: "waiting", tries: 1 });
    const off = draft("webhook", { secret: "", is_enabled: false });
    await app.call(asRoot, "PUT", `/api/alert/target/${gone}`, off);
    expect((await sent(gone))[0]).toMatchObject({ state: "failed", problem: "通知对象已停用" });
  });

  test.each(["dingtalk", "feishu"])(
    "of a thousand alerts at %s all are told within its limit, the newest too",
    async (kind) => {
      const id = await add(kind);
      for (let round = 0; round < 10; round += 1) {
        for (let index = 0; index < 100; index += 1)
          app.ctx.alerts.raise(once(`第 ${round * 100 + index} 条`));
        await app.ctx.alerts.idle();
        await later(1_000);
      }
      for (let step = 0; step < 6; step += 1) await later(10_000);
      expect(robots.taken.length).toBeGreaterThan(1);
      expect(robots.taken.length).toBeLessThan(20);
      expect(JSON.stringify(robots.taken.at(-1)?.body)).toContain("第 999 条");
      expect(await targets()).toMatchObject([{ id, waiting: 0, last_problem: "" }]);
    },
  );

  test("a target that hangs holds up no other, and the newest is not lost", async () => {
    const hanging = await add("webhook");
    await add("wecom");
    robots.fail("webhook", "hang");
    for (let index = 0; index < 10; index += 1) app.ctx.alerts.raise(once(`第 ${index} 条`));
    // The calls last five seconds of the machine; the other target has its message long before.
    await expect.poll(() => robots.taken.length, { timeout: 4_000 }).toBe(1);
    await app.ctx.alerts.idle();
    expect((await sent(hanging))[0]).toMatchObject({ problem: "没有在 5 秒内应答", state: "waiting" });
    robots.fail("webhook", undefined);
    await later(31_000);
    expect(robots.taken.at(-1)?.body.data.alerts).toHaveLength(10);
    expect(robots.taken.at(-1)?.body.data.alerts[0].title).toBe("第 9 条");
  }, 20_000);

  test("in quiet hours only what is critical is told; the rest comes at their end", async () => {
    const day = new Intl.DateTimeFormat("en-GB", { timeZone: "Asia/Shanghai", timeStyle: "short" });
    const hour = (ms: number) => day.format(clock.now() + ms);
    await add("wecom", { quiet_from: hour(-5 * MINUTE_MS), quiet_to: hour(30 * MINUTE_MS) });
    const critical: Notice = { event: "audit_broken", about: "act 9", title: "记录被改动", content: "" };
    await raise(once("可以等"), critical);
    expect(robots.taken).toHaveLength(1);
    expect(robots.taken[0]?.body.markdown.content).toContain("记录被改动");
    await later(20 * MINUTE_MS);
    expect(robots.taken).toHaveLength(1);
    await later(11 * MINUTE_MS);
    expect(robots.taken).toHaveLength(2);
    expect(robots.taken[1]?.body.markdown.content).toContain("可以等");
  });

  test("the same message has the same id in each try, and webhooks get all of it in data", async () => {
    await add("webhook");
    robots.fail("webhook", { status: 500, json: {} });
    await raise(once("题"));
    robots.fail("webhook", undefined);
    await later(31_000);
    const ids = robots.heard
      .filter(({ path }) => path === "/hook")
      .map(({ headers }) => headers["webhook-id"]);
    expect(ids.at(-1)).toBe(ids.at(-2));
    expect(robots.taken[0]?.body).toMatchObject({
      type: "alert",
      data: {
        level: "warning",
        link: "https://gate.example",
        alerts: [{ event: "budget_spent", title: "题" }],
      },
    });
  });

  test("a login of an administrator is told, one of a user is not", async () => {
    await add("webhook", { events: ["admin_login"] });
    await seedUser(app.ctx, "plain-one");
    await seedUser(app.ctx, "staff-one", { role: Role.admin });
    for (const username of ["plain-one", "staff-one"])
      await app.call({ "x-forwarded-for": "198.51.100.7" }, "POST", "/api/user/login", {
        username,
        password: seedPassword,
      });
    await app.ctx.alerts.idle();
    expect(robots.taken.map(({ body }) => body.data.alerts[0].title)).toEqual(["管理员 staff-one 登录"]);
    expect(robots.taken[0]?.body.data.alerts[0].content).toContain("198.51.100.7");
  });

  test("addresses that are secrets, and keys, are written and never read", async () => {
    for (const kind of Object.keys(TARGETS)) await add(kind);
    const texts = [
      JSON.stringify(await targets()),
      JSON.stringify((await app.call(asRoot, "GET", "/api/audit/?size=50")).data),
      JSON.stringify(await app.ctx.db.selectFrom("alert_targets").selectAll().execute()),
    ];
    for (const text of texts) expect(text).not.toMatch(/canary|tollgate-test-secret|dG9sbGdhdGU/);
    expect((await targets())[0]).toMatchObject({
      kind: "feishu",
      address: "open.feishu.cn",
      has_secret: true,
    });
  });

  test("a secret does not go to another host, and addresses obey the policy", async () => {
    const id = await add("webhook");
    const moved = draft("webhook", { secret: "", address: "https://other.example/hook" });
    expect(await app.call(asRoot, "PUT", `/api/alert/target/${id}`, moved)).toMatchObject({
      success: false,
      message: "地址换了主机，请重新填写密钥",
    });
    const post = (kind: string, fields: object) =>
      app.call(asRoot, "POST", "/api/alert/target", draft(kind, fields));
    for (const address of [
      "http://10.0.0.1/hook",
      "http://169.254.169.254/latest",
      "https://user@host.example/",
      "ftp://x.example",
    ])
      expect(await post("webhook", { address }), address).toMatchObject({ success: false });
    for (const [kind, fields] of [
      ["feishu", { address: "https://evil.example/open-apis/bot/v2/hook/feishu-token-canary" }],
      ["dingtalk", { address: "https://oapi.dingtalk.com.evil.example/robot/send?access_token=abcdefgh" }],
      ["webhook", { secret: "" }],
      ["webhook", { secret: "whsec_short" }],
      ["telegram", { to: "" }],
      ["telegram", { secret: "no-token" }],
      ["mail", { to: "ops@example.com;nobody" }],
      ["slack", { address: "" }],
      ["wecom", { quiet_from: "22:30" }],
      ["wecom", { quiet_from: "25:00", quiet_to: "08:00" }],
      ["wecom", { events: [] }],
      ["wecom", { events: ["nothing"] }],
    ] as const)
      expect(await post(kind, fields), JSON.stringify(fields)).toMatchObject({ success: false });
  });

  test("a redirect is no success, and is not followed", async () => {
    const id = await add("webhook");
    robots.fail("webhook", { status: 302, json: {}, headers: { location: `${robots.url}/push` } });
    const before = robots.heard.length;
    const tested = await app.call(asRoot, "POST", `/api/alert/target/${id}/test`, {});
    expect(tested.data).toEqual({ is_ok: false, detail: "返回状态码 302" });
    expect(robots.heard.slice(before)).toHaveLength(1);
  });
});
