// Invitations to the server: who they let in, how often, with what, and until when (requirements I38).
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { fakeClock } from "#server/clock.ts";
import { seedPeople, seedUser } from "#test/seeds/seed.ts";
import { asGuest, asRoot, databases, type TestApp, type Who } from "#test/worlds/app.ts";
import { type MailApp, startMailApp } from "#test/worlds/mail-app.ts";
import { visit } from "#test/worlds/visitor.ts";

const password = "harbour-lamp-9";
const UNUSABLE = "邀请链接无效或已失效";
const DAY_MS = 86_400_000;

describe.each(databases)("invitations on $name", (database) => {
  const clock = fakeClock();
  let mail: MailApp;
  let app: TestApp;
  let people: Awaited<ReturnType<typeof seedPeople>>;
  let serial = 0;

  beforeAll(async () => {
    mail = await startMailApp(database, clock);
    app = mail.app;
    people = await seedPeople(app.ctx);
    await mail.set({ InvitationRequiredEnabled: "true" });
  });
  afterAll(() => mail.close());
  // The server's budget of letters fills again.
  afterEach(() => clock.advance(3 * 3_600_000));

  const invite = async (draft: object = {}, who: Who = asRoot) =>
    (await app.call(who, "POST", "/api/invitation/", draft)).data as { id: number; code: string };
  const register = (body: object, who = visit(app)) =>
    who.call("POST", "/api/user/register", { password, ...body });
  const newName = () => {
    serial += 1;
    return `guest${serial}`;
  };
  const look = (code: string) => app.call(asGuest, "POST", "/api/invitation/look", { code });

  test("visitors without one do not register, and see a closed registration", async () => {
    const username = newName();
    expect((await register({ username })).message).toContain("当前仅限受邀注册");
    expect((await register({ username, invitation: "guessed" })).message).toBe(UNUSABLE);
    expect((await app.call(asGuest, "GET", "/api/status")).data).toMatchObject({
      register: false,
      register_invited: true,
    });
  });

  test("one brings an account with its group and its quota, as an entry of the ledger", async () => {
    const { id, code } = await invite({ group: "vip", quota: 7_000 });
    expect((await look(code)).data).toMatchObject({ inviter: "Root User", needs_email: false });
    const username = newName();
    expect((await register({ username, invitation: code })).success).toBe(true);
    const session = await app.login(username, password);
    const self = (await app.call(session, "GET", "/api/user/self")).data;
    expect(self).toMatchObject({ group: "vip", quota: 7_000, role: 1 });
    const entries = await app.ctx.db
      .selectFrom("ledger")
      .selectAll()
      .where("user_id", "=", self.id)
      .execute();
    expect(entries.map(({ amount }) => Number(amount))).toEqual([7_000]);
    const acts = await app.ctx.db
      .selectFrom("audit")
      .select("detail")
      .where("action", "=", "auth.register")
      .where("target", "=", String(self.id))
      .execute();
    expect(JSON.parse(acts[0]?.detail ?? "")).toEqual({ via: "password", invitation: id });
    // Used up.
    expect((await register({ username: newName(), invitation: code })).message).toBe(UNUSABLE);
    expect((await look(code)).message).toBe(UNUSABLE);
  });

  test("of fifty at once on one use one gets an account", async () => {
    const { code } = await invite();
    const names = Array.from({ length: 50 }, newName);
    const answers = await Promise.all(names.map((username) => register({ username, invitation: code })));
    expect(answers.filter(({ success }) => success)).toHaveLength(1);
    expect(new Set(answers.filter(({ success }) => !success).map(({ message }) => message))).toEqual(
      new Set([UNUSABLE]),
    );
    const made = await app.ctx.db.selectFrom("users").select("id").where("username", "in", names).execute();
    expect(made).toHaveLength(1);
  });

  test("a registration that fails uses nothing up", async () => {
    const { id, code } = await invite();
    expect((await register({ username: "alice", invitation: code })).message).toBe("用户名已被使用");
    const rows = (await app.call(asRoot, "GET", "/api/invitation/")).data as { id: number; used: number }[];
    expect(rows.find((row) => row.id === id)).toMatchObject({ used: 0, code: "" });
    expect((await register({ username: newName(), invitation: code })).success).toBe(true);
  });

  test("one that ended or was taken back lets no visitor in", async () => {
    const [ended, revoked] = [await invite({ days: 1 }), await invite()];
    expect((await app.call(asRoot, "DELETE", `/api/invitation/${revoked.id}`)).success).toBe(true);
    expect((await app.call(asRoot, "DELETE", `/api/invitation/${revoked.id}`)).success).toBe(false);
    clock.advance(DAY_MS);
    for (const { code } of [ended, revoked])
      expect((await register({ username: newName(), invitation: code })).message).toBe(UNUSABLE);
  });

  test("one for an address wants that address proved, in whatever case it was written", async () => {
    const { code } = await invite({ email: "Mei@Guest.example", max_uses: 9 });
    expect((await look(code)).data.needs_email).toBe(true);
    const username = newName();
    const other = visit(app);
    const stranger = "stranger@guest.example";
    const theirs = await mail.codeFor(other, stranger);
    const wrong = { username, invitation: code, email: stranger, verification_code: theirs };
    expect((await register(wrong, other)).message).toBe("这个邀请只能由受邀的邮箱使用");
    const unproved = { username, invitation: code, email: "mei@guest.example", verification_code: "000000" };
    expect((await register(unproved)).message).toBe("验证码不正确或已失效");
    const mei = visit(app);
    const proof = await mail.codeFor(mei, "mei@guest.example");
    const right = { username, invitation: code, email: "MEI@guest.example", verification_code: proof };
    expect((await register(right, mei)).success).toBe(true);
    // An address has one account, so one use was all there was.
    expect((await look(code)).message).toBe(UNUSABLE);
  });

  test("administrators make them, and one of a user who no longer is one lets no visitor in", async () => {
    expect((await app.call(people.alice.who, "POST", "/api/invitation/", {})).success).toBe(false);
    const helper = await seedUser(app.ctx, "helper", { role: 10 });
    const { code } = await invite({}, helper.who);
    expect((await look(code)).success).toBe(true);
    await app.call(asRoot, "POST", "/api/user/manage", { username: "helper", action: "demote" });
    expect((await register({ username: newName(), invitation: code })).message).toBe(UNUSABLE);
  });

  test("a closed registration is closed to the invited, and an open one takes invitations too", async () => {
    const { code } = await invite({ group: "vip" });
    await mail.set({ RegisterEnabled: "false" });
    expect((await register({ username: newName(), invitation: code })).message).toBe("当前未开放注册");
    await mail.set({ RegisterEnabled: "true", InvitationRequiredEnabled: "false" });
    expect((await register({ username: newName() })).success).toBe(true);
    const username = newName();
    expect((await register({ username, invitation: code })).success).toBe(true);
    const session = await app.login(username, password);
    expect((await app.call(session, "GET", "/api/user/self")).data.group).toBe("vip");
    await mail.set({ InvitationRequiredEnabled: "true" });
  });

  test("no table holds a code", async () => {
    const { code } = await invite();
    const rows = await app.ctx.db.selectFrom("invitations").selectAll().execute();
    const acts = await app.ctx.db.selectFrom("audit").selectAll().execute();
    expect(
      JSON.stringify([rows, acts], (_, value) => (typeof value === "bigint" ? String(value) : value)),
    ).not.toContain(code);
  });
});
