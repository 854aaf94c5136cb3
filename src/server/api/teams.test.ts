// Teams over the management API (requirements O05–O07): membership, tokens, the wallet and its end. What each role may do is in team-rights.test.ts.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { teamWallets } from "#server/jobs/team-wallets.ts";
import { checkLedger } from "#server/money/ledger-check.ts";
import type { SeededUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";
import { teamActs } from "#test/worlds/team-acts.ts";

describe.each(databases)("teams on $name", (database) => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createAppOn(database);
  });
  afterEach(async () => expect(await checkLedger(app.ctx.db)).toEqual([]));
  afterAll(() => app.close());

  const { newcomer, post, newTeam, join, fullTeam, quotaOf, walletOf, newToken, spend, walletIdOf } =
    teamActs(() => app);

  test("tokens: a member makes and changes his own, a manager those of all, no member sees another's key", async () => {
    const { id, people } = await fullTeam();
    const token = await newToken(people.member, id);
    expect(token).toMatchObject({ team_id: id, holder: people.member.username });
    expect(token.key).toHaveLength(48);
    for (const role of ["finance", "viewer"] as const) {
      const made = await app.call(people[role].who, "POST", "/api/token/", { name: "x", team_id: id });
      expect(made).toMatchObject({ success: false });
      expect(await app.call(people[role].who, "GET", `/api/token/${token.id}`)).toMatchObject({
        success: false,
      });
      expect(await app.call(people[role].who, "GET", `/api/token/?team_id=${id}`)).toMatchObject({
        success: false,
      });
    }
    const other = await join(id, people.owner, "member");
    expect((await app.call(other.who, "GET", `/api/token/?team_id=${id}`)).data).toEqual([]);
    expect(await app.call(other.who, "DELETE", `/api/token/${token.id}`)).toMatchObject({ success: false });
    const listed = await app.call(people.manager.who, "GET", `/api/token/?team_id=${id}`);
    expect(listed.data).toMatchObject([{ id: token.id, key: "", holder: people.member.username }]);
    const stop = { id: token.id, status: 2 };
    expect(await app.call(people.manager.who, "PUT", "/api/token/?status_only=1", stop)).toMatchObject({
      data: { status: 2, key: "" },
    });
    expect((await app.call(people.member.who, "GET", "/api/token/")).data).toEqual([]);
    const body = { limits: [{ kind: "quota", amount: 100, time_window: "day" }] };
    expect(await app.call(people.manager.who, "PUT", `/api/token/${token.id}/limit`, body)).toMatchObject({
      success: true,
    });
  });

  test("a cap holds, and the member reads it", async () => {
    const { id, people } = await fullTeam();
    await post(people.owner.who, `${id}/deposit`, { amount: 1_000 });
    const limits = [{ kind: "quota", amount: 100, time_window: "day" }];
    const cap = { user_id: people.member.id, limits };
    const set = await app.call(people.manager.who, "PUT", `/api/team/${id}/member/limit`, cap);
    expect(set.data).toMatchObject([{ amount: 100, used: 0, subject: "seat" }]);
    const { data } = await app.call(people.member.who, "GET", `/api/team/${id}/member`);
    const shown = data.map((row: { user_id: number; limits: unknown[] }) => [row.user_id, row.limits.length]);
    expect(shown.filter(([, count]: [number, number]) => count > 0)).toEqual([[people.member.id, 1]]);
    // No manager is capped by a manager.
    const self = { user_id: people.manager.id, limits };
    expect(await app.call(people.manager.who, "PUT", `/api/team/${id}/member/limit`, self)).toMatchObject({
      success: false,
    });
  });

  test("of caps that are set at the same moment those of one call stay", async () => {
    const { id, people } = await fullTeam();
    const { who } = people.owner;
    const { data: project } = await post(who, `${id}/project`, { name: "网站" });
    for (const [subject, path, whose] of [
      ["team", "limit", {}],
      ["project", "project/limit", { project_id: project.id }],
      ["seat", "member/limit", { user_id: people.member.id }],
    ] as const) {
      const set = (amount: number) =>
        app.call(who, "PUT", `/api/team/${id}/${path}`, { ...whose, limits: [{ kind: "quota", amount }] });
      const answers = await Promise.all([1, 2, 3, 4, 5].map(set));
      expect(answers.every(({ success }) => success)).toBe(true);
      const { data: last } = await set(9);
      expect(last, path).toMatchObject([{ amount: 9 }]);
      const living = app.ctx.db.selectFrom("limits").select("amount").where("deleted_at", "=", 0);
      expect(await living.where("subject", "=", subject).where("amount", "<", 9).execute(), path).toEqual([]);
      const acts = (await app.call(who, "GET", `/api/team/${id}/audit?size=20`)).data;
      const before = acts.map(({ detail }: { detail: string }) => JSON.parse(detail || "{}").before?.limits);
      // Each call found what the one before it had set.
      expect(
        before.slice(0, 5).map((some: unknown[]) => some.length),
        path,
      ).toEqual([1, 1, 1, 1, 1]);
    }
  });

  test("deposits and withdrawals move quota exactly, and none of it is lost at the end", async () => {
    const { id, people } = await fullTeam();
    const { who } = people.owner;
    expect(await post(who, `${id}/deposit`, { amount: 500_001 })).toMatchObject({ message: "余额不足" });
    await post(people.finance.who, `${id}/deposit`, { amount: 400 });
    await post(who, `${id}/deposit`, { amount: 500_000 });
    await post(who, `${id}/withdraw`, { amount: 100 });
    expect([await quotaOf(who), await walletOf(who, id)]).toEqual([100, 500_300]);
    const token = await newToken(people.member, id);
    const walletId = await walletIdOf(id);
    const call = await spend(walletId, token.id, 300n);
    const { data } = await app.call(who, "GET", `/api/team/${id}`);
    expect(await app.call(who, "DELETE", `/api/team/${id}?name=wrong`)).toMatchObject({ success: false });
    expect(await app.call(who, "DELETE", `/api/team/${id}?name=${data.name}`)).toMatchObject({
      success: true,
    });
    expect(await quotaOf(who)).toBe(500_100);
    await call.book(120n);
    await teamWallets.run(app.ctx);
    await teamWallets.run(app.ctx);
    expect(await quotaOf(who)).toBe(500_280);
    expect(await app.call(who, "GET", `/api/team/${id}`)).toMatchObject({ message: "找不到该团队" });
    const order = { requestId: `late-${database.name}`, userId: walletId, tokenId: token.id, modelName: "m" };
    expect(await app.ctx.ledger.reserve({ ...order, amount: 0n })).toBe("user_disabled");
    expect((await app.call(who, "GET", "/api/team/")).data).toEqual([]);
  });

  test("an invitation is used as often as it says, and no more by many at once", async () => {
    const { id, owner } = await newTeam();
    const { data } = await post(owner.who, `${id}/invitation`, { role: "member", max_uses: 2 });
    const { code } = data;
    const guests = await Promise.all(Array.from({ length: 6 }, newcomer));
    const look = await post(guests[0]?.who ?? {}, "invitation/look", { code });
    expect(look.data).toMatchObject({ role: "member", inviter: owner.username });
    const answers = await Promise.all(guests.map(({ who }) => post(who, "invitation/accept", { code })));
    expect(answers.filter(({ success }) => success)).toHaveLength(2);
    expect(await post(owner.who, "invitation/look", { code })).toMatchObject({ success: false });
    const again = await post(owner.who, `${id}/invitation`, { role: "manager" });
    expect(await post(owner.who, "invitation/accept", { code: again.data.code })).toMatchObject({
      message: "您已是该团队的成员",
    });
    const path = `/api/team/${id}/invitation`;
    await app.call(owner.who, "DELETE", `${path}?invitation_id=${again.data.id}`);
    expect((await app.call(owner.who, "GET", path)).data).toEqual([]);
    const late = await newcomer();
    expect(await post(late.who, "invitation/accept", { code: again.data.code })).toMatchObject({
      success: false,
    });
  });

  test("a manager acts below himself only, and invites no member as high", async () => {
    const { id, people } = await fullTeam();
    const { who } = people.manager;
    const change = (user: SeededUser, role: string) =>
      app.call(who, "PUT", `/api/team/${id}/member`, { user_id: user.id, role });
    expect(await change(people.owner, "member")).toMatchObject({ success: false });
    expect(await change(people.member, "manager")).toMatchObject({ success: false });
    expect(await post(who, `${id}/invitation`, { role: "manager" })).toMatchObject({ success: false });
    expect(await change(people.member, "finance")).toMatchObject({ success: true });
    const remove = `/api/team/${id}/member?user_id=`;
    expect(await app.call(who, "DELETE", remove + people.owner.id)).toMatchObject({ success: false });
    expect(await app.call(people.viewer.who, "DELETE", remove + people.viewer.id)).toMatchObject({
      success: true,
    });
    expect((await app.call(people.viewer.who, "GET", "/api/team/")).data).toEqual([]);
  });

  test("who leaves takes nothing along: his tokens go to a manager, or end", async () => {
    const { id, people } = await fullTeam();
    const [kept, ended] = [await newToken(people.member, id), await newToken(people.manager, id)];
    const path = `/api/team/${id}/member?user_id=`;
    const { who } = people.owner;
    const bad = await app.call(who, "DELETE", `${path}${people.member.id}&heir_id=${people.viewer.id}`);
    expect(bad).toMatchObject({ message: "令牌只能交给所有者或管理者" });
    await app.call(who, "DELETE", `${path}${people.member.id}&heir_id=${people.manager.id}`);
    const tokens = async () => (await app.call(who, "GET", `/api/token/?team_id=${id}`)).data;
    expect(await tokens()).toMatchObject([
      { id: ended.id, user_id: people.manager.id },
      { id: kept.id, user_id: people.manager.id },
    ]);
    // The same key.
    expect((await app.call(people.manager.who, "GET", `/api/token/${kept.id}`)).data.key).toBe(kept.key);
    await app.call(people.manager.who, "DELETE", `${path}${people.manager.id}`);
    expect(await tokens()).toEqual([]);
  });

  test("there is one owner: a team is handed over when both want it, once", async () => {
    const { id, people } = await fullTeam();
    const { owner, manager, member } = people;
    expect(await post(manager.who, `${id}/take_over`, {})).toMatchObject({ success: false });
    expect(await post(owner.who, `${id}/offer`, { user_id: (await newcomer()).id })).toMatchObject({
      success: false,
    });
    await post(owner.who, `${id}/offer`, { user_id: member.id });
    expect(await app.call(owner.who, "DELETE", "/api/user/self")).toMatchObject({ success: false });
    const answers = await Promise.all([1, 2, 3].map(() => post(member.who, `${id}/take_over`, {})));
    expect(answers.filter(({ success }) => success)).toHaveLength(1);
    const { data } = await app.call(member.who, "GET", `/api/team/${id}/member`);
    const roles = new Map(data.map((row: { user_id: number; role: string }) => [row.user_id, row.role]));
    expect([roles.get(member.id), roles.get(owner.id)]).toEqual(["owner", "manager"]);
    const { data: acts } = await app.call(member.who, "GET", `/api/team/${id}/audit?action=team.take_over`);
    expect(acts.map(({ detail }: { detail: string }) => JSON.parse(detail))).toEqual([
      {
        ...{ owner: member.username, role: "owner" },
        before: { owner: owner.username, role: "member" },
      },
    ]);
    expect(await app.call(owner.who, "DELETE", "/api/user/self")).toMatchObject({ success: true });
  });

  test("administrators make teams for others, fill and stop them, and may close the door to new ones", async () => {
    const [owner, one, two] = [await newcomer(), await newcomer(), await newcomer()];
    const members = [one, two].map(({ username }) => ({ username, role: "member" }));
    const { data } = await post(asRoot, "all", { name: "made", owner: owner.username, members });
    expect(data).toMatchObject({ members: 3, quota: 0 });
    const { id } = data;
    await post(asRoot, "adjust", { id, amount: 700, reason: "gift" });
    expect(await walletOf(owner.who, id)).toBe(700);
    expect(await post(asRoot, "adjust", { id, amount: -701, reason: "back" })).toMatchObject({
      message: "钱包余额不足",
    });
    const found = await app.call(asRoot, "GET", "/api/team/all?keyword=made");
    expect(found.data).toMatchObject([{ id, owner_name: owner.username }]);
    await app.call(asRoot, "PUT", "/api/team/all", { id, status: 2, group: "vip" });
    expect(await post(owner.who, `${id}/withdraw`, { amount: 1 })).toMatchObject({
      message: "该团队已被管理员停用",
    });
    expect((await app.call(owner.who, "GET", `/api/team/${id}`)).data).toMatchObject({
      group: "vip",
      status: 2,
    });
    expect(await app.call(asRoot, "PUT", "/api/team/all", { id, group: "nobody" })).toMatchObject({
      success: false,
    });
    await app.ctx.options.set("TeamCreateEnabled", "false");
    expect(await post(one.who, "", { name: "no" })).toMatchObject({ message: "管理员没有开放创建团队" });
    expect(await post(asRoot, "", { name: "yes" })).toMatchObject({ success: true });
    await app.ctx.options.set("TeamCreateEnabled", "true");
  });
});
