import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { UserStatus } from "#contract/user.ts";
import { issueCode } from "#server/accounts/codes.ts";
import { bindPerson } from "#server/accounts/external.ts";
import { codeRef } from "#server/accounts/verification.ts";
import { findPasswordByUserId, getUser, setUserStatus, updateUserProfile } from "#server/store/users.ts";
import { type SeededUser, seedPassword, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";
import { rounds } from "#test/worlds/soak.ts";
import { type Visitor, visit } from "#test/worlds/visitor.ts";
import { account } from "./account.ts";
import { oauth } from "./oauth.ts";
import { signIn } from "./sign-in.ts";

const ROUNDS = rounds(12, 400);

const NEW_PASSWORD = "harbour-lamp-9";
/** `seedPassword` at the least cost there is: a login takes a moment, so that many fit into one change. */
const QUICK_HASH =
  "$argon2id$v=19$m=64,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$bsOeJ1wcheDc5SnUhDdxNUAUdn2PjH1M9Ao01rZO4mA";

/** Ends the access of everybody who knows the old password or was let in with it. */
type Change = (app: TestApp, user: SeededUser, owner: Visitor) => Promise<unknown>;

const changes: readonly Change[] = [
  (_, __, owner) =>
    owner.call("PUT", "/api/user/self", { password: NEW_PASSWORD, original_password: seedPassword }),
  (app, { id }) => app.call(asRoot, "PUT", "/api/user/", { id, password: NEW_PASSWORD }),
  async (app, { id, username }) => {
    await issueCode(app.ctx, { purpose: "reset", subject: String(id) }, { text: "token", userId: id });
    const body = { email: `${username}@example.com`, token: "token" };
    return app.call({}, "POST", "/api/user/reset", body);
  },
  (app, { username }) => app.call(asRoot, "POST", "/api/user/manage", { username, action: "disable" }),
];

describe.each(databases)("logins that overlap a change of the account on $name", (database) => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createAppOn(database, { env: { TRUSTED_PROXIES: "127.0.0.1" } });
  });
  afterAll(() => app.close());

  let count = 0;
  async function person(): Promise<SeededUser> {
    const user = await seedUser(app.ctx, `racer${++count}`);
    await updateUserProfile(app.ctx.db, user.id, { password: QUICK_HASH });
    return user;
  }

  const sessionsOf = (userId: number) =>
    app.ctx.db.selectFrom("sessions").selectAll().where("user_id", "=", userId).execute();

  async function logIn(username: string): Promise<Visitor> {
    const who = visit(app);
    await who.call("POST", "/api/user/login", { username, password: seedPassword });
    return who;
  }

  test("none is let in with what no longer counts, in round after round of four kinds of change", {
    timeout: 120_000,
  }, async () => {
    let entered = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const user = await person();
      const owner = await logIn(user.username);
      const change = changes[round % changes.length] as Change;
      let isChanged = false;
      const changing = change(app, user, owner).then((answer) => {
        isChanged = true;
        expect(answer).toMatchObject({ success: true });
      });
      const logins: Promise<Visitor>[] = [];
      while (!isChanged && logins.length < 20) {
        logins.push(logIn(user.username));
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      const visitors = await Promise.all(logins);
      await changing;
      entered += visitors.filter(({ cookies }) => cookies.size > 0).length;
      // The owner's own browser alone goes on, after a change of theirs.
      expect(await sessionsOf(user.id), `round ${round}`).toHaveLength(change === changes[0] ? 1 : 0);
    }
    // Else nothing overlapped.
    expect(entered).toBeGreaterThan(0);
  });

  const visitor = {
    session: {
      id: undefined,
      set: () => expect.unreachable("a session was opened"),
      clear: () => undefined,
      browserId: undefined,
      ensureBrowserId: () => "",
      note: () => undefined,
      keepNote: () => undefined,
      dropNote: () => undefined,
    },
    agent: "",
    address: "198.51.100.7",
    requestId: "race",
  };

  test("a proof counts only while the account is as it was proven", async () => {
    const { id, username } = await person();
    const login = { username, password: seedPassword, address: "198.51.100.7" };
    const proof = await app.ctx.logins.verify(login);
    if (!proof.isIn) return expect.unreachable("the password is right");
    const enter = () =>
      signIn(app.ctx, visitor, { via: "password", user: proof.user, proven: { password: proof.hash } });
    await setUserStatus(app.ctx.db, id, UserStatus.enabled, UserStatus.disabled);
    expect(await enter()).toBeUndefined();
    await setUserStatus(app.ctx.db, id, UserStatus.disabled, UserStatus.enabled);
    await updateUserProfile(app.ctx.db, id, { password: "" });
    expect(await enter()).toBeUndefined();
    expect(await sessionsOf(id)).toEqual([]);
  });

  test("what was asked for before a change of the account is not given after it", async () => {
    for (const change of changes) {
      const user = await person();
      const owner = await logIn(user.username);
      const thief = (await logIn(user.username)).cookies.get("session");
      const asked = {
        actor: { ...(await getUser(app.ctx.db, user.id)) },
        session: { ...visitor.session, id: thief },
        address: visitor.address,
        agent: "",
        language: "zh" as const,
        requestId: visitor.requestId,
        onCredit: false,
        isLocal: false,
        idempotencyKey: undefined,
        accessToken: user.who["authorization"],
        params: undefined,
        query: undefined,
        body: undefined,
      };
      const bySession = { ...asked, accessToken: undefined };
      const byToken = { ...asked, session: visitor.session };
      expect(await account.accessToken(app.ctx, bySession)).toMatch(/^[0-9a-f]{32}$/);
      const token = await account.accessToken(app.ctx, bySession);
      expect(await change(app, user, owner)).toMatchObject({ success: true });
      for (const call of [
        bySession,
        byToken,
        { ...byToken, accessToken: token },
        { ...asked, accessToken: token },
      ])
        await expect(account.accessToken(app.ctx, call)).rejects.toMatchObject({ status: 401 });
      // Nor does the thief's own address or account elsewhere get bound, which would let them in again.
      const email = `thief-of-${user.username}@example.com`;
      await issueCode(app.ctx, codeRef(email, user.id), { text: "123456" });
      const query = { email, code: "123456" };
      await expect(oauth.bindEmail(app.ctx, { ...bySession, query })).rejects.toMatchObject({ status: 401 });
      const stranger = { identity: "wechat_id", id: email } as const;
      await expect(bindPerson(app.ctx, stranger, bySession, async () => {})).rejects.toMatchObject({
        status: 401,
      });
      const columns = ["access_token_hash", "email", "wechat_id"] as const;
      const stored = app.ctx.db.selectFrom("users").select(columns).where("id", "=", user.id);
      expect(await stored.executeTakeFirst()).toEqual({
        access_token_hash: null,
        email: `${user.username}@example.com`,
        wechat_id: "",
      });
    }
  });

  test("who deletes an account while it gets another name leaves that name free", async () => {
    for (let round = 0; round < 10; round += 1) {
      const user = await person();
      const wanted = `wanted${round}`;
      await Promise.all([
        app.call(user.who, "PUT", "/api/user/self", { username: wanted }),
        app.call(asRoot, "DELETE", `/api/user/${user.id}`),
      ]);
      expect((await getUser(app.ctx.db, user.id)).username).toMatch(/^deleted_/);
    }
  });

  test("of two who change one password at once with the same old one, one does", async () => {
    const user = await person();
    const browsers = await Promise.all([logIn(user.username), logIn(user.username)]);
    const answers = await Promise.all(
      browsers.map((who, index) =>
        who.call("PUT", "/api/user/self", {
          password: `${NEW_PASSWORD}-${index}`,
          original_password: seedPassword,
        }),
      ),
    );
    expect(answers.filter(({ success }) => success)).toHaveLength(1);
    // The second is read after the first has ended its session, or before.
    const refusals = ["密码刚被修改，请重新登录后再试", "请先登录后再操作"];
    expect(refusals).toContain(answers.find(({ success }) => !success)?.message);
    expect(await sessionsOf(user.id)).toHaveLength(1);
    expect(await findPasswordByUserId(app.ctx.db, user.id)).not.toBe(QUICK_HASH);
  });
});
