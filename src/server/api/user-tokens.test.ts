// Tokens that administrators make, see and limit for users of lower rank (requirements K13).
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fakeClock } from "#server/clock.ts";
import { type SeededUser, seedToken, seedUser } from "#test/seeds/seed.ts";
import { databases, type Who } from "#test/worlds/app.ts";
import { type MailApp, startMailApp } from "#test/worlds/mail-app.ts";

describe.each(databases)("tokens for other users on $name", (database) => {
  let world: MailApp;
  let alice: SeededUser;
  let admin: SeededUser;
  let peer: SeededUser;

  beforeAll(async () => {
    world = await startMailApp(database, fakeClock());
    const { ctx } = world.app;
    alice = await seedUser(ctx, "alice");
    admin = await seedUser(ctx, "admin", { role: 10 });
    peer = await seedUser(ctx, "peer", { role: 10 });
  });
  afterAll(() => world.close());

  const grant = (who: Who, userId: number, body: object = {}) =>
    world.app.call(who, "POST", `/api/user/${userId}/token/`, { name: "给小李", remain_quota: 700, ...body });
  const tokensOf = (who: Who, userId: number) => world.app.call(who, "GET", `/api/user/${userId}/token/`);

  test("the owner finds it on the own list, is told by log and letter, and the audit log has the maker", async () => {
    const { data } = await grant(admin.who, alice.id, { tags: "granted" });
    expect(data).toMatchObject({ user_id: alice.id, is_granted: true, remain_quota: 700, tags: "granted" });
    expect(data.key).toMatch(/^\w{48}$/);
    const { app } = world;
    const [own] = (await app.call(alice.who, "GET", "/api/token/")).data;
    expect(own).toMatchObject({ id: data.id, key: data.key, is_granted: true });
    const [entry] = (await app.call(alice.who, "GET", "/api/log/self/?type=3")).data;
    expect(entry.content).toBe("管理员为您创建了令牌“给小李”");
    await app.ctx.security.idle();
    await app.ctx.mailer.idle();
    const letter = world.smtp.letters.find(({ to }) => to.includes("alice@example.com"));
    expect(letter?.html).toContain("给小李");
    expect(letter?.html).not.toContain(data.key);
    const acts = await app.ctx.db
      .selectFrom("audit")
      .selectAll()
      .where("action", "=", "token.grant")
      .execute();
    expect(acts).toMatchObject([{ actor_id: admin.id, target: String(data.id) }]);
    expect(acts[0]?.detail).toContain('"key":"shown"');
    expect(acts[0]?.detail).not.toContain(data.key);
    // It is the owner's from now on.
    expect((await app.call(alice.who, "DELETE", `/api/token/${data.id}`)).success).toBe(true);
  });

  test("the list of another user's tokens has no keys", async () => {
    const made = await grant(admin.who, alice.id, { name: "listed" });
    const { data, total } = await tokensOf(admin.who, alice.id);
    expect(total).toBe(data.length);
    const seen = data.find(({ id }: { id: number }) => id === made.data.id);
    expect(seen).toMatchObject({ key: "", key_hint: made.data.key_hint });
    expect(JSON.stringify(data)).not.toContain(made.data.key);
  });

  test("not for peers, not for a user who is not there, and not by users", async () => {
    for (const [who, id] of [
      [admin.who, peer.id],
      [admin.who, 999_999],
      [alice.who, alice.id],
    ] as const) {
      expect(await grant(who, id)).toMatchObject({ success: false });
      expect(await tokensOf(who, id)).toMatchObject({ success: false });
    }
    expect((await tokensOf(peer.who, alice.id)).success).toBe(true);
  });

  test("limits of a user's token are set and read; of a token of another user they are not there", async () => {
    const { app } = world;
    const token = await seedToken(app.ctx, alice.id);
    const other = await seedToken(app.ctx, peer.id);
    const path = (user: number, id: number) => `/api/user/${user}/token/${id}/limit`;
    const body = { limits: [{ kind: "quota", amount: 900_000, time_window: "day" }] };
    const set = await app.call(admin.who, "PUT", path(alice.id, token.id), body);
    expect(set.data).toMatchObject([{ subject: "token", subject_id: token.id, amount: 900_000 }]);
    expect((await app.call(admin.who, "GET", path(alice.id, token.id))).data).toEqual(set.data);
    expect((await app.call(alice.who, "GET", `/api/token/${token.id}/limit`)).data).toMatchObject([
      { amount: 900_000 },
    ]);
    for (const wrong of [path(alice.id, other.id), path(peer.id, other.id)]) {
      expect(await app.call(admin.who, "PUT", wrong, body)).toMatchObject({ success: false });
      expect(await app.call(admin.who, "GET", wrong)).toMatchObject({ success: false });
    }
  });

  test("a limit of a user is set by the name", async () => {
    const draft = { subject: "user", subject_name: "alice", kind: "rpm", amount: 5 };
    const made = await world.app.call(admin.who, "POST", "/api/limit/", draft);
    expect(made.data).toMatchObject({ subject_id: alice.id, subject_label: "alice", subject_name: "" });
    const nobody = { ...draft, subject_name: "nobody" };
    expect(await world.app.call(admin.who, "POST", "/api/limit/", nobody)).toMatchObject({
      success: false,
      message: "找不到该用户",
    });
    const peers = { ...draft, subject_name: "peer" };
    expect((await world.app.call(admin.who, "POST", "/api/limit/", peers)).success).toBe(false);
  });
});
