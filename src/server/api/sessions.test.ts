// The sessions of an account: what is shown of them, ending one or all, and the letter about a new browser (requirements I36, I37).
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Role } from "#contract/user.ts";
import { describeAgent } from "#server/accounts/agent.ts";
import { fakeClock } from "#server/clock.ts";
import { startSmtp } from "#test/emulators/smtp-emulator.ts";
import { seedPassword } from "#test/seeds/seed.ts";
import { createAppOn, databases, type TestApp } from "#test/worlds/app.ts";
import { newcomer, signedIn } from "#test/worlds/people.ts";
import { visit } from "#test/worlds/visitor.ts";

const CHROME =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/153.0.0.0 Safari/537.36";

test.each([
  [CHROME, "Chrome · Windows"],
  [
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Mobile/15E148 Safari/604.1",
    "Safari · iOS",
  ],
  [
    "Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 Chrome/150.0 Mobile Safari/537.36 MicroMessenger/8.0",
    "微信 · Android",
  ],
  ["Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox · macOS"],
  ["curl/8.9.1", "curl"],
  ["<img src=x onerror=alert(1)>", "未知浏览器"],
  ["", "未知浏览器"],
])("%s is %s", (agent, words) => {
  expect(describeAgent(agent)).toBe(words);
});

describe.each(databases)("sessions on $name", (database) => {
  const clock = fakeClock();
  let app: TestApp;

  beforeAll(async () => {
    app = await createAppOn(database, { clock, env: { TRUSTED_PROXIES: "127.0.0.1" } });
  });
  afterAll(() => app.close());

  test("a list names browsers and addresses, and neither ids nor hashes", async () => {
    const user = await newcomer(app);
    const browser = visit(app);
    const credentials = { username: user.username, password: seedPassword };
    await browser.call("POST", "/api/user/login", credentials, { "user-agent": CHROME });
    const other = await signedIn(app, user.id);
    const list = await browser.call("GET", "/api/user/session");
    expect(list.data).toHaveLength(2);
    expect(list.data.find((each: { is_current: boolean }) => each.is_current)).toMatchObject({
      agent: "Chrome · Windows",
      address: browser.address,
      method: "password",
      has_second_factor: false,
    });
    const text = JSON.stringify(list);
    for (const { cookies } of [browser, other]) {
      const id = cookies.get("session") ?? "";
      expect(id).toHaveLength(43);
      expect(text).not.toContain(id);
      expect(text).not.toContain(app.ctx.secrets.hash(id));
    }
  });

  test("one is ended, then all others of its user, and no other user's", async () => {
    const user = await newcomer(app);
    const stranger = await newcomer(app);
    const [first, second, third, theirs] = [
      await signedIn(app, user.id),
      await signedIn(app, user.id),
      await signedIn(app, user.id),
      await signedIn(app, stranger.id),
    ];
    const list = await second.call("GET", "/api/user/session");
    const mine = list.data.find((each: { is_current: boolean }) => each.is_current).id;
    expect((await theirs.call("POST", "/api/user/session/end", { id: mine })).success).toBe(false);
    const foreign = await theirs.call("POST", "/api/user/session/end", { id: mine, user_id: user.id });
    expect(foreign.success).toBe(false);
    expect((await theirs.call("GET", `/api/user/session?user_id=${user.id}`)).success).toBe(false);
    expect((await first.call("POST", "/api/user/session/end", { id: mine })).data).toBe(1);
    expect((await second.call("GET", "/api/user/self")).status).toBe(401);
    expect((await third.call("POST", "/api/user/session/end", {})).data).toBe(1);
    expect((await first.call("GET", "/api/user/self")).status).toBe(401);
    expect((await third.call("GET", "/api/user/self")).success).toBe(true);
    expect((await theirs.call("GET", "/api/user/self")).success).toBe(true);
  });

  test("staff sees and ends the sessions of lower ranks, and none of its peers", async () => {
    const user = await newcomer(app);
    const [staff, peer] = [await newcomer(app, Role.admin), await newcomer(app, Role.admin)];
    const browser = await signedIn(app, user.id);
    const of = (id: number) => app.call(staff.who, "GET", `/api/user/session?user_id=${id}`);
    const [row] = (await of(user.id)).data;
    for (const id of [peer.id, 1, 987_654]) expect((await of(id)).success).toBe(false);
    const end = { id: row.id, user_id: user.id };
    expect((await app.call(staff.who, "POST", "/api/user/session/end", end)).data).toBe(1);
    expect((await browser.call("GET", "/api/user/self")).status).toBe(401);
    const log = await app.call(staff.who, "GET", "/api/audit/?action=user.session_end");
    expect(log.data[0]).toMatchObject({ actor_id: staff.id, target: String(user.id) });
  });

  test("a new browser is told by letter: not the first, once each, one in ten minutes, without markup", async () => {
    const smtp = await startSmtp();
    for (const [key, value] of Object.entries({
      SMTPServer: "127.0.0.1",
      SMTPPort: String(smtp.port),
      SMTPFrom: "noreply@gate.example",
    }))
      await app.ctx.options.set(key as "SMTPServer", value);
    const user = await newcomer(app);
    const logIn = (browser = visit(app), agent = CHROME) =>
      browser.call(
        "POST",
        "/api/user/login",
        { username: user.username, password: seedPassword },
        { "user-agent": agent },
      );
    const letters = async () => {
      await app.ctx.security.idle();
      await app.ctx.mailer.idle();
      return smtp.letters.filter(({ html }) => html.includes(user.username));
    };
    await logIn();
    expect(await letters()).toHaveLength(0);
    const second = visit(app);
    await logIn(second, "<script>alert(1)</script> Chrome/1 Windows");
    const [letter] = await letters();
    expect(letter?.html).toContain(second.address);
    expect(letter?.html).toContain("Chrome · Windows");
    expect(letter?.html).not.toContain("<script>");
    await logIn(second);
    clock.advance(60_000);
    await logIn();
    expect(await letters()).toHaveLength(1);
    clock.advance(601_000);
    await logIn();
    expect(await letters()).toHaveLength(2);
    await app.ctx.options.set("SMTPServer", "");
    await smtp.close();
  });
});
