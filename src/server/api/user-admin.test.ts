import { describe, expect, test, vi } from "vitest";
import { Role, UserStatus } from "#contract/user.ts";
import { updateUserProfile } from "#server/store/users.ts";
import { seedPassword, seedToken } from "#test/seeds/seed.ts";
import { asRoot, databases, type Who } from "#test/worlds/app.ts";
import { useUsers } from "#test/worlds/user-world.ts";

describe.each(databases)("administration of users on $name", (database) => {
  const world = useUsers(database);
  const { person, update, manage, rowOf } = world;
  const logsOf = async (id: number) =>
    (
      await world.app.ctx.db
        .selectFrom("logs")
        .select(["type", "content"])
        .where("user_id", "=", id)
        .orderBy("id")
        .execute()
    ).map(({ type, content }) => [type, content]);

  describe("the list", () => {
    test("has all users but the deleted, newest first, without secrets, sortable by any column", async () => {
      const [first, second] = [await person(), await person()];
      await manage((await person()).username, "delete");
      const { data, total } = await world.app.call(world.admin.who, "GET", "/api/user/?p=0&size=2");
      expect(data.map(({ id }: { id: number }) => id)).toEqual([second.id, first.id]);
      expect(total).toBe(4);
      expect(data[0]).toMatchObject({ password: "", access_token: "", invite_commission_balance: "0" });
      await world.app.ctx.ledger.adjust({
        userId: first.id,
        kind: "grant",
        quota: { delta: 9n },
        actorId: 1,
        reason: "",
      });
      await world.app.ctx.ledger.changeCommission({
        userId: second.id,
        kind: "commission-adjust",
        micro: { delta: 1_500_000n },
        actorId: 1,
        reason: "",
      });
      const top = async (order: string) =>
        (await world.app.call(world.admin.who, "GET", `/api/user/?size=2&order=${order}`)).data.map(
          ({ id }: { id: number }) => id,
        );
      expect(await top("username")).toEqual([world.admin.id, first.id]);
      expect((await top("quota&desc=true"))[1]).toBe(first.id);
      expect((await top("invite_commission_balance&desc=true"))[0]).toBe(second.id);
      expect(await top("password")).toEqual([second.id, first.id]);
      const listed = await world.app.call(world.admin.who, "GET", "/api/user/?size=100");
      const row = listed.data.find(({ id }: { id: number }) => id === second.id);
      expect(row.invite_commission_balance).toBe("1.5");
    });

    test("is searched by id, name, display name and address", async () => {
      const { id, username } = await person();
      await updateUserProfile(world.app.ctx.db, id, { display_name: "张三丰" });
      const found = async (keyword: string) =>
        (
          await world.app.call(
            world.admin.who,
            "GET",
            `/api/user/search?keyword=${encodeURIComponent(keyword)}`,
          )
        ).data.map((user: { id: number }) => user.id);
      for (const keyword of [String(id), username, username.toUpperCase(), "张三", `${username}@example`])
        expect(await found(keyword), keyword).toContain(id);
      expect(await found("_erson")).toEqual([]);
      await manage(username, "delete");
      expect(await found(String(id))).toEqual([]);
    });
  });

  test("a new user starts as an ordinary one of the default group with the quota for new users", async () => {
    await world.app.ctx.options.set("QuotaForNewUser", "777");
    const create = (body: object, who: Who = world.admin.who) =>
      world.app.call(who, "POST", "/api/user/", body);
    const body = { username: "fresh", password: "harbour-lamp-9" };
    const extra = {
      quota: 9e9,
      group: "vip",
      status: 2,
      inviter_id: 1,
      aff_code: "ROOT1",
      used_quota: 5,
      id: 1,
    };
    expect(await create({ ...body, ...extra })).toMatchObject({ success: true, data: null });
    await world.app.ctx.options.set("QuotaForNewUser", "0");
    const { data } = await world.app.call(world.admin.who, "GET", "/api/user/search?keyword=fresh");
    expect(data[0]).toMatchObject({
      username: "fresh",
      display_name: "fresh",
      role: Role.user,
      status: UserStatus.enabled,
      group: "default",
      quota: 777,
      used_quota: 0,
      inviter_id: 0,
      aff_code: "",
    });
    expect(await logsOf(data[0].id)).toEqual([[4, "新用户注册赠送 ＄0.001554 额度"]]);
    await world.app.login("fresh", "harbour-lamp-9");
    expect((await create(body)).message).toBe("用户名已被使用");
    for (const [change, message] of [
      [{ username: "" }, "请输入用户名"],
      [{ username: "x".repeat(13) }, "用户名最多 12 个字符"],
      [{ password: "short" }, "密码长度不得小于 8 位"],
      [{ password: "12345678" }, "这个密码太容易被猜到，请换一个"],
      [{ display_name: "x".repeat(21) }, "显示名称最多 20 个字符"],
      [{ role: Role.admin }, "不能创建同级或更高级别的用户"],
      [{ role: Role.root }, "不能创建同级或更高级别的用户"],
    ] as const)
      expect((await create({ ...body, username: "other", ...change })).message).toBe(message);
    expect((await create({ ...body, username: "boss", role: Role.root }, asRoot)).success).toBe(false);
    expect((await create({ ...body, username: "deputy", role: Role.admin }, asRoot)).success).toBe(true);
  });

  describe("an edit", () => {
    test("changes what is sent and nothing else", async () => {
      const { id, username } = await person();
      await world.app.ctx.options.set("GroupRatio", '{"default":1,"vip":1}');
      expect(await update({ id, display_name: "新名", group: "vip" })).toMatchObject({
        success: true,
        data: null,
      });
      const changed = await rowOf(id);
      expect(changed).toMatchObject({ username, display_name: "新名", group: "vip", quota: 500_000 });
      const stolen = {
        id,
        used_quota: 7,
        request_count: 7,
        inviter_id: 1,
        aff_code: "ROOT1",
        access_token: "f".repeat(32),
        created_at: 7,
        verification_code: "1",
      };
      expect((await update(stolen)).success).toBe(true);
      expect(await rowOf(id)).toEqual(changed);
      await update({ id, group: "", display_name: "", email: "" });
      expect(await rowOf(id)).toMatchObject({ group: "default", display_name: "", email: "" });
    });

    test("the whole object, as the console sends it back, changes nothing", async () => {
      const { id } = await person();
      const { data } = await world.app.call(world.admin.who, "GET", `/api/user/${id}`);
      const before = await rowOf(id);
      expect((await update(data)).success).toBe(true);
      expect(await rowOf(id)).toEqual(before);
      expect(await logsOf(id)).toEqual([]);
    });

    test.each([
      [{ username: "" }, "请输入用户名"],
      [{ username: "x".repeat(13) }, "用户名最多 12 个字符"],
      [{ username: "root" }, "用户名已被使用"],
      [{ display_name: "x".repeat(21) }, "显示名称最多 20 个字符"],
      [{ password: "short" }, "密码长度不得小于 8 位"],
      [{ password: "12345678" }, "这个密码太容易被猜到，请换一个"],
      [{ group: "nobody" }, "没有这个分组：nobody"],
      [{ group: "default,vip" }, "没有这个分组：default,vip"],
      [{ role: 10 }, "只有超级管理员可以修改角色"],
      [{ status: 3 }, "用户状态有误"],
      [{ email: "other@example.com" }, "绑定信息只能清除，不能代为修改"],
      [{ github_id: "42" }, "绑定信息只能清除，不能代为修改"],
      [{ quota: -1 }, "额度不能小于 0"],
      [{ quota: 1.5 }, "请求参数有误"],
      [{ quota: "9" }, "请求参数有误"],
      [{ quota: 2 ** 63 }, "请求参数有误"],
      [{ quota: null }, "请求参数有误"],
      [{ quota: Number.MAX_SAFE_INTEGER, original_quota: 0 }, "额度超出范围"],
      [{ quota: 0, original_quota: 500_001 }, "余额不足，不能减少这么多"],
      [{ invite_commission_balance: "-1" }, "金额须为不小于 0 的数字，最多 6 位小数"],
      [{ invite_commission_balance: "1.0000001" }, "金额须为不小于 0 的数字，最多 6 位小数"],
      [{ invite_commission_balance: 5 }, "请求参数有误"],
    ])("refuses %j with %s", async (change, message) => {
      const { id } = await person();
      expect(await update({ id, ...change })).toMatchObject({ status: 200, success: false, message });
      expect((await rowOf(id)).quota).toBe(500_000);
    });

    test("an amount becomes an entry with actor and reason, and a row in the user's log", async () => {
      const { id } = await person();
      await update({ id, quota: 1_000_000, remark: "补偿" });
      await update({ id, quota: 0 });
      await update({ id, invite_commission_balance: "12.5" });
      await update({ id, invite_commission_balance: "0" });
      const entries = await world.app.ctx.db
        .selectFrom("ledger")
        .select(["kind", "amount", "yuan_micro", "actor_id", "detail"])
        .where("user_id", "=", id)
        .where("kind", "<>", "grant")
        .orderBy("id")
        .execute();
      expect(entries).toEqual([
        { kind: "adjust", amount: 500_000, yuan_micro: 0, actor_id: world.admin.id, detail: "补偿" },
        {
          kind: "adjust",
          amount: -1_000_000,
          yuan_micro: 0,
          actor_id: world.admin.id,
          detail: "管理员修改额度",
        },
        {
          kind: "commission-adjust",
          amount: 0,
          yuan_micro: 12_500_000,
          actor_id: world.admin.id,
          detail: "管理员修改返现余额",
        },
        {
          kind: "commission-adjust",
          amount: 0,
          yuan_micro: -12_500_000,
          actor_id: world.admin.id,
          detail: "管理员修改返现余额",
        },
      ]);
      expect(await logsOf(id)).toEqual([
        [3, "管理员将额度从 ＄1.000000 额度 修改为 ＄2.000000 额度（补偿）"],
        [3, "管理员将额度从 ＄2.000000 额度 修改为 ＄0.000000 额度"],
        [3, "管理员将返现余额从 0 元 修改为 12.5 元"],
        [3, "管理员将返现余额从 12.5 元 修改为 0 元"],
      ]);
    });

    test("an amount that cannot be booked leaves all of the form undone", async () => {
      const { id, username } = await person();
      const auditLog = () => world.app.call(asRoot, "GET", "/api/audit/?action=user&size=1");
      const before = (await auditLog()).total;
      for (const form of [
        { quota: 0, original_quota: 500_001 },
        { quota: 600_000, invite_commission_balance: "0", original_invite_commission_balance: "1" },
      ])
        expect(await update({ id, username: "renamed", ...form })).toMatchObject({
          success: false,
          message: "余额不足，不能减少这么多",
        });
      expect(await rowOf(id)).toMatchObject({ username, quota: 500_000, invite_commission_micro: 0 });
      expect((await auditLog()).total).toBe(before);
    });

    test("an amount that the user spent meanwhile is reported, and the audit log says so", async () => {
      const { id, username } = await person();
      const { ledger, db } = world.app.ctx;
      const adjust = ledger.adjust.bind(ledger);
      vi.spyOn(ledger, "adjust").mockImplementationOnce(async (order) => {
        await adjust({ userId: id, kind: "adjust", quota: { target: 5n }, actorId: id, reason: "spent" });
        return adjust(order);
      });
      const commission = { invite_commission_balance: "3", original_invite_commission_balance: "0" };
      const form = { id, display_name: "新名", quota: 0, original_quota: 500_000, ...commission };
      expect((await update(form)).message).toBe("余额不足，不能减少这么多；其余修改已保存");
      expect(await rowOf(id)).toMatchObject({
        display_name: "新名",
        quota: 5,
        invite_commission_micro: 3_000_000,
      });
      const acts = await db
        .selectFrom("audit")
        .select(["action", "detail"])
        .where("target", "=", String(id))
        .orderBy("id")
        .execute();
      expect(acts).toEqual([
        {
          action: "user.update",
          detail: `{"display_name":"新名","quota":0,"original_quota":500000,"invite_commission_balance":"3","before":{"display_name":"${username}","quota":500000}}`,
        },
        { action: "user.amount_refused", detail: '{"what":"quota","outcome":"below_zero"}' },
      ]);
    });

    test("a stale form reverts nothing, when it says with what it was opened", async () => {
      const { id } = await person();
      const grant = { userId: id, actorId: 1, reason: "", kind: "grant" } as const;
      await world.app.ctx.ledger.adjust({ ...grant, quota: { delta: 250n } });
      await world.app.ctx.ledger.changeCommission({
        ...grant,
        kind: "commission-adjust",
        micro: { delta: 9n },
      });
      const form = { id, original_quota: 500_000, original_invite_commission_balance: "0" };
      await update({ ...form, quota: 500_000, invite_commission_balance: "0", display_name: "x" });
      expect(await rowOf(id)).toMatchObject({
        quota: 500_250,
        invite_commission_micro: 9,
        display_name: "x",
      });
      await update({ ...form, quota: 600_000, invite_commission_balance: "0.00001" });
      expect(await rowOf(id)).toMatchObject({ quota: 600_250, invite_commission_micro: 19 });
    });

    test("a form that is sent again changes each balance once, whatever was refused or lost", async () => {
      const { id } = await person();
      const form = { id, quota: 500_100, original_quota: 500_000, original_invite_commission_balance: "50" };
      const by = (key: string) => ({ ...world.admin.who, "idempotency-key": key });
      const send = (change: object, key: string) => update({ ...form, ...change }, by(key));
      // The commission was paid out meanwhile: the second part is refused when the first is booked.
      const below = { success: false, message: "余额不足，不能减少这么多" };
      for (const _ of [1, 2])
        expect(await send({ invite_commission_balance: "10" }, "form")).toMatchObject(below);
      expect((await send({ invite_commission_balance: "51" }, "form")).success).toBe(true);
      expect((await send({ invite_commission_balance: "51" }, "form")).success).toBe(true);
      expect(await rowOf(id)).toMatchObject({ quota: 500_100, invite_commission_micro: 1_000_000 });
      // Another amount would be added to what the form has changed.
      const message = "这次修改的金额已经入账，请重新打开后再修改";
      expect(await send({ quota: 500_200 }, "form")).toMatchObject({ success: false, message });
      expect(await send({ invite_commission_balance: "52" }, "form")).toMatchObject({ message });
      expect(await rowOf(id)).toMatchObject({ quota: 500_100, invite_commission_micro: 1_000_000 });
      // Another form is another act; an absolute amount is set as often as it is sent.
      expect((await send({}, "another form")).success).toBe(true);
      for (const quota of [7, 8]) expect((await update({ id, quota }, by("absolute"))).success).toBe(true);
      expect((await rowOf(id)).quota).toBe(8);
    });

    test("two administrators edit while 500 calls settle: every unit is accounted for", async () => {
      const { id } = await person();
      const token = await seedToken(world.app.ctx, id);
      const call = async (index: number) => {
        const requestId = `call-${id}-${index}`;
        const order = { requestId, userId: id, tokenId: token.id, amount: 300n, modelName: "m" };
        expect(await world.app.ctx.ledger.reserve(order)).toBe("reserved");
        await world.app.ctx.ledger.settle({
          ...order,
          channelId: 0,
          charge: 7n,
          usage: { promptTokens: 1, completionTokens: 1, cachedTokens: 0 },
          log: null,
        });
      };
      const edit = async (who: Who, more: number) => {
        for (let time = 0; time < 10; time += 1) {
          const change = { quota: 500_000 + more, original_quota: 500_000, display_name: `n${time}` };
          expect((await update({ id, ...change }, who)).success).toBe(true);
        }
      };
      const calls = Array.from({ length: 500 }, (_, index) => call(index));
      await Promise.all([edit(world.admin.who, 1_000), edit(asRoot, -200), ...calls]);
      expect(await rowOf(id)).toMatchObject({
        quota: 500_000 + 10 * 800 - 500 * 7,
        used_quota: 3_500,
        request_count: 500,
      });
      // Absolute amounts set the balance of their moment; the ledger still adds up to the unit.
      await Promise.all([
        update({ id, quota: 1_000_000 }),
        update({ id, quota: 2_000_000 }, asRoot),
        ...Array.from({ length: 500 }, (_, index) => call(1_000 + index)),
      ]);
      const { quota, used_quota } = await rowOf(id);
      const entries = await world.app.ctx.db
        .selectFrom("ledger")
        .select(["kind", "amount"])
        .where("user_id", "=", id)
        .execute();
      const sum = (kinds: (kind: string) => boolean) =>
        entries.filter(({ kind }) => kinds(kind)).reduce((total, { amount }) => total + amount, 0);
      expect(used_quota).toBe(7_000);
      expect(quota + used_quota).toBe(sum((kind) => kind !== "consume"));
      expect(sum((kind) => kind === "consume")).toBe(-7_000);
    });

    test("a new password, another role or a ban ends sessions and the access token", async () => {
      for (const change of [{ password: "harbour-lamp-9" }, { role: Role.admin }, { status: 2 }]) {
        const user = await person();
        const session = await world.app.login(user.username, seedPassword);
        expect((await update({ id: user.id, ...change }, asRoot)).success).toBe(true);
        expect((await world.app.call(session, "GET", "/api/user/self")).status).toBe(401);
        expect((await world.app.call(user.who, "GET", "/api/user/self")).message).toBe("访问凭证无效");
      }
      const user = await person();
      expect((await update({ id: user.id, password: "", display_name: "y" })).success).toBe(true);
      expect((await world.app.call(user.who, "GET", "/api/user/self")).success).toBe(true);
    });

    test("one's own password is changed where the current one is asked for", async () => {
      expect((await update({ id: 1, password: "harbour-lamp-9" }, asRoot)).message).toBe(
        "修改自己的密码请使用个人设置",
      );
    });

    test("no user becomes a super administrator", async () => {
      const { id } = await person();
      expect((await update({ id, role: Role.root }, asRoot)).message).toBe("不能授予该角色");
      for (const role of [0, 5, 11, -1, 1000])
        expect((await update({ id, role }, asRoot)).success).toBe(false);
      expect((await rowOf(id)).role).toBe(Role.user);
    });
  });
});
