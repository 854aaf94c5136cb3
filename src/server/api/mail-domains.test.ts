// Joining by domain of mail (requirements I65): who proves an address, by a code or through a provider, and what leads nowhere.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fakeClock } from "#server/clock.ts";
import { findMember } from "#server/store/teams.ts";
import { type Forger, startForger } from "#test/emulators/oidc-forger.ts";
import { seedPassword } from "#test/seeds/seed.ts";
import { type Answer, asRoot, databases, type TestApp } from "#test/worlds/app.ts";
import { type MailApp, signInNew, startMailApp } from "#test/worlds/mail-app.ts";
import { addProvider, loginThrough, somebody } from "#test/worlds/sign-on-app.ts";
import { seedTeam } from "#test/worlds/teams.ts";
import { type Visitor, visit } from "#test/worlds/visitor.ts";

describe.each(databases)("joining by domain of mail on $name", (database) => {
  const clock = fakeClock();
  let world: MailApp;
  let app: TestApp;
  let forger: Forger;
  let team: { teamId: number; walletId: number };

  beforeAll(async () => {
    world = await startMailApp(database, clock);
    ({ app } = world);
    forger = await startForger();
    await world.set({ MfaRequiredFor: "none", EmailVerificationEnabled: "true" });
    team = await seedTeam(app.ctx.db, app.ctx.ledger, { quota: 0n });
    const made = await save({ domain: " Corp.Example ", group: "vip", team_id: team.teamId });
    expect(made.data).toMatchObject({ domain: "corp.example", group: "vip", team_role: "member" });
  });
  afterAll(async () => {
    await world.close();
    await forger.close();
  });

  const save = (body: object, id = 0): Promise<Answer> =>
    id === 0
      ? app.call(asRoot, "POST", "/api/mail_domain", body)
      : app.call(asRoot, "PUT", `/api/mail_domain/${id}`, body);
  const self = async (who: Visitor) => (await who.call("GET", "/api/user/self")).data;
  const roleOf = async (userId: number) => (await findMember(app.ctx.db, team.teamId, userId))?.role;

  let names = 0;
  /** A user who registers with a code that went to the address. */
  async function register(email: string): Promise<{ id: number; group: string }> {
    names += 1;
    const username = `mailer${names}`;
    const who = visit(app);
    const code = await world.codeFor(who, email);
    const body = { username, password: seedPassword, email, verification_code: code };
    expect((await who.call("POST", "/api/user/register", body)).success).toBe(true);
    await who.call("POST", "/api/user/login", { username, password: seedPassword });
    return self(who);
  }

  test("who registers with a proved address is in the group and the team, and it is logged", async () => {
    const user = await register("Anna@CORP.example");
    expect(user.group).toBe("vip");
    expect(await roleOf(user.id)).toBe("member");
    const act = await app.ctx.db
      .selectFrom("audit")
      .select(["actor_id", "detail"])
      .where("action", "=", "team.join")
      .where("target", "=", String(team.teamId))
      .executeTakeFirstOrThrow();
    expect(act.actor_id).toBe(user.id);
    expect(JSON.parse(act.detail)).toEqual({ domain: "corp.example", role: "member" });
  });

  test.each([
    "a@sub.corp.example",
    "a@corp.example.evil.example",
    "a@evilcorp.example",
    // `соrp.example` with two Cyrillic letters, as mail spells it.
    "a@xn--rp-nlcaf.example",
    "a@corp.examples",
  ])("%s joins nothing", async (email) => {
    const user = await register(email);
    expect(user.group).toBe("default");
    expect(await roleOf(user.id)).toBeUndefined();
  });

  test("an address that its user has not proved joins nothing", async () => {
    await world.set({ EmailVerificationEnabled: "false" });
    const who = visit(app);
    const body = { username: "unproved", password: seedPassword, email: "unproved@corp.example" };
    expect((await who.call("POST", "/api/user/register", body)).success).toBe(true);
    await world.set({ EmailVerificationEnabled: "true" });
    await who.call("POST", "/api/user/login", { username: "unproved", password: seedPassword });
    expect(await self(who)).toMatchObject({ email: "", group: "default" });
    expect(await roleOf((await self(who)).id)).toBeUndefined();
  });

  test("who binds a proved address joins; a group that an administrator chose, and a role in the team, stay", async () => {
    const bind = async (who: Visitor, email: string) => {
      const code = await world.codeFor(who, email);
      return who.call("GET", `/api/oauth/email/bind?email=${email}&code=${code}`);
    };
    const plain = await signInNew(app, "binds-plain");
    expect((await bind(plain, "plain@corp.example")).success).toBe(true);
    expect((await self(plain)).group).toBe("vip");
    expect(await roleOf((await self(plain)).id)).toBe("member");

    const chosen = await signInNew(app, "binds-chosen");
    const { id } = await self(chosen);
    await app.ctx.db.updateTable("users").set({ group: "svip" }).where("id", "=", id).execute();
    await app.ctx.db
      .insertInto("team_members")
      .values({ team_id: team.teamId, user_id: id, role: "finance", joined_at: 1 })
      .execute();
    expect((await bind(chosen, "chosen@corp.example")).success).toBe(true);
    expect((await self(chosen)).group).toBe("svip");
    expect(await roleOf(id)).toBe("finance");
  });

  test("a provider may prove addresses of its own domains, and of no other", async () => {
    const speaks = await addProvider(app, { issuer: forger.url, mail_domains: ["corp.example"] });
    const silent = await addProvider(app, { issuer: forger.url });
    const enter = async (slug: string, email: string, email_verified: unknown) => {
      const who = visit(app);
      const lies = { claims: { email, email_verified } };
      expect((await loginThrough(who, slug, { forger, sub: somebody(), lies })).success).toBe(true);
      return self(who);
    };
    const user = await enter(speaks.slug, "sso1@corp.example", true);
    expect([user.group, await roleOf(user.id)]).toEqual(["vip", "member"]);
    for (const stranger of [
      await enter(speaks.slug, "sso2@corp.example", false),
      await enter(speaks.slug, "sso3@corp.example", "true "),
      await enter(silent.slug, "sso4@corp.example", true),
    ])
      expect([stranger.group, await roleOf(stranger.id)]).toEqual(["default", undefined]);
  });

  test("a team that is closed is not joined; a row that is gone leads nowhere", async () => {
    const closed = await seedTeam(app.ctx.db, app.ctx.ledger, { quota: 0n });
    const body = { domain: "gone.example", team_id: closed.teamId, team_role: "viewer" };
    const { data } = await save(body);
    const viewer = await register("first@gone.example");
    expect((await findMember(app.ctx.db, closed.teamId, viewer.id))?.role).toBe("viewer");
    expect(viewer.group).toBe("default");
    await app.ctx.db.updateTable("teams").set({ closed_at: 1 }).where("id", "=", closed.teamId).execute();
    const late = await register("second@gone.example");
    expect(await findMember(app.ctx.db, closed.teamId, late.id)).toBeUndefined();
    const { data: rows } = await app.call(asRoot, "GET", "/api/mail_domain");
    expect(rows.find((row: { id: number }) => row.id === data.id).team_name).toBe("");
    expect((await save(body, data.id)).message).toBe(`没有这个团队：${closed.teamId}`);

    expect((await save({ domain: "gone.example", group: "vip" }, data.id)).data.team_id).toBe(0);
    expect((await register("third@gone.example")).group).toBe("vip");
    expect((await app.call(asRoot, "DELETE", `/api/mail_domain/${data.id}`)).success).toBe(true);
    expect((await register("fourth@gone.example")).group).toBe("default");
    expect((await app.call(asRoot, "DELETE", `/api/mail_domain/${data.id}`)).success).toBe(false);
  });

  test.each([
    [{ domain: "qq.com", group: "vip" }, "公共邮箱的域名不能作为单位的域名"],
    [{ domain: "GMAIL.com", group: "vip" }, "公共邮箱的域名不能作为单位的域名"],
    [{ domain: "corp", group: "vip" }, "邮箱域名格式不正确"],
    [{ domain: "*.corp.example", group: "vip" }, "邮箱域名格式不正确"],
    [{ domain: "@corp.example", group: "vip" }, "邮箱域名格式不正确"],
    [{ domain: "\u0441orp.example", group: "vip" }, "邮箱域名格式不正确"],
    [{ domain: "corp.example", group: "vip" }, "该域名已经添加"],
    [{ domain: "new.example" }, "请选择分组或团队"],
    [{ domain: "new.example", group: "nobody" }, "没有这个分组：nobody"],
    [{ domain: "new.example", team_id: 999 }, "没有这个团队：999"],
    [{ domain: "new.example", team_id: 1, team_role: "manager" }, "请求参数有误"],
  ])("%j is refused", async (body, message) => {
    expect(await save(body)).toMatchObject({ success: false, message });
  });
});
