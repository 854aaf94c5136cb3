import { describe, expect, test } from "vitest";
import { Role, UserStatus } from "#contract/user.ts";
import { outranks } from "#server/accounts/may.ts";
import { updateUserProfile } from "#server/store/users.ts";
import { seedPassword, seedToken } from "#test/seeds/seed.ts";
import { asRoot, databases, type Who } from "#test/worlds/app.ts";
import { useUsers } from "#test/worlds/user-world.ts";

describe.each(databases)("ranks, bans and deletions on $name", (database) => {
  const world = useUsers(database);
  const { person, update, manage, rowOf } = world;

  describe("the list's buttons", () => {
    test("answer with the present status and role, and nothing else", async () => {
      const user = await person();
      const expected = { id: 0, username: "", quota: 0, role: 1 };
      expect((await manage(user.username, "disable")).data).toMatchObject({ ...expected, status: 2 });
      expect((await world.app.call(user.who, "GET", "/api/user/self")).message).toBe("访问凭证无效");
      expect((await manage(user.username, "enable")).data).toMatchObject({ ...expected, status: 1 });
      await world.app.login(user.username, seedPassword);
      expect((await manage(user.username, "enable")).success).toBe(true);
      expect((await manage(user.username, "promote")).message).toBe("只有超级管理员可以提升用户");
      expect((await manage(user.username, "promote", asRoot)).data).toMatchObject({ role: 10, status: 1 });
      expect((await manage(user.username, "promote", asRoot)).message).toBe("该用户已经是管理员");
      expect((await manage(user.username, "demote", asRoot)).data).toMatchObject({ role: 1, status: 1 });
      expect((await manage(user.username, "demote", asRoot)).message).toBe("该用户已经是普通用户");
      expect((await manage(user.username, "explode")).message).toBe("未知的操作");
      expect((await manage("nobody", "disable")).message).toBe("找不到该用户");
      expect((await manage(user.username, "delete")).data).toMatchObject({ ...expected, status: 3 });
      expect((await manage(user.username, "enable")).message).toBe("找不到该用户");
    });

    test("do nothing to super administrators, for any actor", async () => {
      for (const action of ["disable", "delete", "demote", "promote"]) {
        expect((await manage("root", action, asRoot)).message).toBe("不能对超级管理员执行该操作");
        expect((await manage("root", action)).message).toBe("不能操作同级或更高级别的用户");
      }
    });
  });

  const ROLES = [0, Role.user, Role.admin, Role.root];

  test.each(ROLES.flatMap((actor) => ROLES.map((target) => ({ actor, target }))))(
    "rank $actor may act on rank $target only when it is higher, or super",
    ({ actor, target }) => {
      expect(outranks({ role: actor }, { role: target })).toBe(actor > target || actor === Role.root);
    },
  );

  test("every act on a user checks the rank: administrators may act neither on each other nor on root", async () => {
    const peer = await person({ role: Role.admin });
    const token = await seedToken(world.app.ctx, peer.id);
    for (const { id, username } of [
      peer,
      { id: world.admin.id, username: "admin" },
      { id: 1, username: "root" },
    ]) {
      const before = await rowOf(id);
      for (const [method, path, body] of [
        ["GET", `/api/user/${id}`, undefined],
        ["PUT", "/api/user/", { id, email: "", quota: 1, status: 2, display_name: "x" }],
        ["DELETE", `/api/user/${id}`, undefined],
        ["POST", "/api/user/manage", { username, action: "disable" }],
        ["POST", "/api/user/manage", { username, action: "delete" }],
        ["POST", "/api/topup", { user_id: id, quota: 1 }],
        ["POST", "/api/user/withdrawal", { user_id: id, amount: "100" }],
      ] as const) {
        const answer = await world.app.call(world.admin.who, method, path, body);
        expect(answer.message, `${method} ${path} ${username}`).toBe("不能操作同级或更高级别的用户");
        expect(answer.data).toBeNull();
      }
      expect(await rowOf(id)).toEqual(before);
    }
    expect(token.id).toBeGreaterThan(0);
    expect((await world.app.call(asRoot, "GET", `/api/user/${peer.id}`)).data.username).toBe(peer.username);
    expect((await world.app.call(world.admin.who, "GET", "/api/user/987654321")).message).toBe(
      "找不到该用户",
    );
  });

  test("a deleted user frees the name and loses keys, sessions and bindings; the ledger keeps everything", async () => {
    const user = await person();
    const token = await seedToken(world.app.ctx, user.id);
    const session = await world.app.login(user.username, seedPassword);
    await updateUserProfile(world.app.ctx.db, user.id, { github_id: "4711", wechat_id: "w4711" });
    const ledger = () =>
      world.app.ctx.db.selectFrom("ledger").select(["id", "amount"]).where("user_id", "=", user.id).execute();
    const before = await ledger();
    expect(await world.app.call(world.admin.who, "DELETE", `/api/user/${user.id}/`)).toMatchObject({
      success: true,
      message: "",
      data: null,
    });
    const row = await rowOf(user.id);
    expect(row.username).toMatch(/^deleted_[0-9a-f]{32}$/);
    expect(row).toMatchObject({
      status: 3,
      email: "",
      github_id: "",
      wechat_id: "",
      display_name: "",
      aff_code: "",
    });
    expect((await world.app.call(session, "GET", "/api/user/self")).status).toBe(401);
    expect((await world.app.call(user.who, "GET", "/api/user/self")).message).toBe("访问凭证无效");
    await expect(world.app.login(user.username, seedPassword)).rejects.toThrow("账号或密码不正确");
    const stored = await world.app.ctx.db
      .selectFrom("tokens")
      .select(["deleted_at", "key_sealed"])
      .where("id", "=", token.id)
      .executeTakeFirstOrThrow();
    expect(stored.deleted_at).toBeGreaterThan(0);
    expect(stored.key_sealed).toBe("");
    expect(await ledger()).toEqual(before);
    const body = { username: user.username, password: "harbour-lamp-9" };
    expect((await world.app.call(world.admin.who, "POST", "/api/user/", body)).success).toBe(true);
    expect((await world.app.call(world.admin.who, "DELETE", `/api/user/${user.id}`)).message).toBe(
      "找不到该用户",
    );
    expect((await world.app.call(world.admin.who, "GET", `/api/user/${user.id}`)).message).toBe(
      "找不到该用户",
    );
  });

  test("a key of a banned or deleted user is refused by the relay at once", async () => {
    const url = await world.app.listen();
    const [banned, deleted] = [await person(), await person()];
    const status = async (key: string) =>
      (await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer sk-${key}` } })).status;
    const keys = await Promise.all([banned, deleted].map(({ id }) => seedToken(world.app.ctx, id)));
    for (const { key } of keys) expect(await status(key)).toBe(200);
    await manage(banned.username, "disable");
    await manage(deleted.username, "delete");
    expect(await Promise.all(keys.map(({ key }) => status(key)))).toEqual([403, 401]);
    await manage(banned.username, "enable");
    expect(await status(keys[0]?.key ?? "")).toBe(200);
  });

  test("the last super administrator stays, whatever is tried", async () => {
    const refused = "至少要保留一个可用的超级管理员";
    expect((await world.app.call(asRoot, "DELETE", "/api/user/1")).message).toBe(refused);
    expect((await world.app.call(asRoot, "DELETE", "/api/user/self")).message).toBe(refused);
    expect((await update({ id: 1, status: 2 }, asRoot)).message).toBe(refused);
    expect((await update({ id: 1, role: 10 }, asRoot)).message).toBe(refused);
    expect((await update({ id: 1, role: 100, status: 1, display_name: "Root" }, asRoot)).success).toBe(true);
  });

  test("two super administrators who delete, ban or demote each other at once: one is left", async () => {
    const acts = [
      (id: number, who: Who) => world.app.call(who, "DELETE", `/api/user/${id}`),
      (id: number, who: Who) => update({ id, status: 2 }, who),
      (id: number, who: Who) => update({ id, role: 10 }, who),
    ];
    // Root is removed, so that the two are alone.
    await updateUserProfile(world.app.ctx.db, 1, { status: UserStatus.disabled });
    for (let round = 0; round < 9; round += 1) {
      const act = acts[round % acts.length];
      const [one, two] = [await person({ role: Role.root }), await person({ role: Role.root })];
      const answers = await Promise.all([act?.(one.id, two.who), act?.(two.id, one.who)]);
      expect(answers.filter((answer) => answer?.success)).toHaveLength(1);
      const left = await world.app.ctx.db
        .selectFrom("users")
        .select("id")
        .where("role", "=", Role.root)
        .where("status", "=", UserStatus.enabled)
        .execute();
      expect(left).toHaveLength(1);
      await updateUserProfile(world.app.ctx.db, left[0]?.id ?? 0, { role: Role.user });
    }
    await updateUserProfile(world.app.ctx.db, 1, { status: UserStatus.enabled });
    await world.app.ctx.coord.publish("users", "");
  });

  test("an act that was decided on an outdated state is refused", async () => {
    const user = await person();
    const both = await Promise.all([
      manage(user.username, "disable"),
      manage(user.username, "promote", asRoot),
      manage(user.username, "delete"),
    ]);
    const refusals = both.filter(({ success }) => !success).map(({ message }) => message);
    for (const message of refusals)
      expect(["该用户刚被修改，请刷新后重试", "找不到该用户", "不能操作同级或更高级别的用户"]).toContain(
        message,
      );
    const rows = await world.app.ctx.db
      .selectFrom("audit")
      .select("action")
      .where("target", "=", String(user.id))
      .where("action", "in", ["user.disable", "user.promote", "user.delete"])
      .orderBy("id")
      .execute();
    const done = rows.map(({ action }) => action);
    expect(done).toHaveLength(both.length - refusals.length);
    // Once it is an administrator, those two may do nothing; a promotion after them was decided on what they left.
    if (done.includes("user.promote")) expect(done.at(-1)).toBe("user.promote");
  });

  test("an act that cannot be recorded does not take place", async () => {
    const user = await person();
    const before = await rowOf(user.id);
    await world.app.ctx.db.schema.alterTable("audit").renameTo("audit_away").execute();
    expect((await manage(user.username, "disable")).status).toBe(500);
    expect((await update({ id: user.id, quota: 5 })).status).toBe(500);
    expect((await world.app.call(world.admin.who, "DELETE", `/api/user/${user.id}`)).status).toBe(500);
    await world.app.ctx.db.schema.alterTable("audit_away").renameTo("audit").execute();
    expect(await rowOf(user.id)).toEqual(before);
  });

  test("the audit log names what changed, and a password only by its name", async () => {
    const { id } = await person();
    await update({ id, password: "harbour-lamp-9", quota: 5, remark: "测试" });
    const [act] = await world.app.ctx.db
      .selectFrom("audit")
      .select(["action", "target", "detail"])
      .where("target", "=", String(id))
      .execute();
    expect(act?.action).toBe("user.update");
    expect(JSON.parse(act?.detail ?? "")).toEqual({
      password: "changed",
      quota: 5,
      remark: "测试",
      before: { quota: 500_000 },
    });
  });
});
