// Owners are told by letter what happened to the security of their accounts: a recovery code, a factor, a reset, a copied passkey
// (requirements I25, I28, I34).
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Role } from "#contract/user.ts";
import { fakeClock } from "#server/clock.ts";
import { databases } from "#test/worlds/app.ts";
import { type MailApp, startMailApp } from "#test/worlds/mail-app.ts";
import { halfwayIn, newcomer, signedIn, withPhone } from "#test/worlds/people.ts";
import { createSoftPasskey } from "#test/worlds/soft-passkey.ts";
import { visit } from "#test/worlds/visitor.ts";

const SITE = "https://gate.example";

describe.each(databases)("letters about security on $name", (database) => {
  const clock = fakeClock();
  let world: MailApp;

  beforeAll(async () => {
    world = await startMailApp(database, clock);
  });
  afterAll(() => world.close());

  async function lettersTo(username: string): Promise<string[]> {
    await world.app.ctx.security.idle();
    await world.app.ctx.mailer.idle();
    const { letters } = world.smtp;
    return letters.filter(({ to }) => to.includes(`${username}@example.com`)).map(({ html }) => html);
  }

  test("a recovery code says how many are left", async () => {
    const { user, phone } = await withPhone(world.app);
    const browser = await halfwayIn(world.app, user.id);
    const code = phone.recoveryCodes[0] ?? "";
    expect((await browser.call("POST", "/api/user/login/2fa", { code })).success).toBe(true);
    const letters = await lettersTo(user.username);
    expect(letters.find((html) => html.includes("还剩 9 个"))).toContain(`${SITE}/setting?tab=security`);
    expect(letters.join("\n")).not.toContain(code);
  });

  test("a reset by an administrator is told to its owner, not why", async () => {
    const { user } = await withPhone(world.app);
    const staff = await newcomer(world.app, Role.admin);
    const browser = await signedIn(world.app, staff.id);
    const asked = { id: user.id, reason: "lost in the river" };
    expect((await browser.call("POST", "/api/user/factor/reset", asked)).success).toBe(true);
    const letters = (await lettersTo(user.username)).join("\n");
    expect(letters).toContain("清除了全部两步验证方式");
    expect(letters).not.toContain("river");
  });

  test("a passkey whose counter fell back", async () => {
    const user = await newcomer(world.app);
    const home = await signedIn(world.app, user.id);
    const passkey = createSoftPasskey(SITE);
    const begun = await home.call("POST", "/api/user/factor/passkey/begin");
    const body = { name: "<b>笔记本</b>", credential: passkey.create(begun.data) };
    expect((await home.call("POST", "/api/user/factor/passkey", body)).success).toBe(true);
    const browser = visit(world.app);
    const asked = await browser.call("POST", "/api/user/login/passkey/begin");
    const answer = passkey.get(asked.data, { counter: 0 });
    expect((await browser.call("POST", "/api/user/login/passkey/finish", answer)).success).toBe(false);
    const letters = (await lettersTo(user.username)).join("\n");
    expect(letters).toContain("添加了通行密钥");
    expect(letters).toContain("可能已被复制");
    expect(letters).not.toContain("<b>");
  });
});
