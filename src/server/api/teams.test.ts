// Teams over the management API (requirements O04–O07): every right cell by cell, membership, tokens, the wallet and its end.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Endpoint } from "#contract/endpoint.ts";
import { teamApi } from "#contract/team.ts";
import { TEAM_ROLES, type TeamRole } from "#contract/team-words.ts";
import { teamWallets } from "#server/jobs/team-wallets.ts";
import { checkLedger } from "#server/money/ledger-check.ts";
import { type SeededUser, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createTestApp, databases, type TestApp, type Who } from "#test/worlds/app.ts";

/** Who gets in, by hand from the matrix of roles: O wner, M anager, F inance, m ember, v iewer. */
const CELLS: Readonly<Record<string, { roles: string; query?: string; body?: object }>> = {
  "GET /api/team/:id": { roles: "OMFmv" },
  "PUT /api/team/:id": { roles: "O", body: { name: "cells" } },
  "DELETE /api/team/:id": { roles: "O", query: "?name=other" },
  "GET /api/team/:id/limit": { roles: "OMFmv" },
  "PUT /api/team/:id/limit": { roles: "O", body: { limits: [] } },
  "GET /api/team/:id/member": { roles: "OMFmv" },
  "PUT /api/team/:id/member": { roles: "OM", body: { user_id: 987_654_321, role: "viewer" } },
  "PUT /api/team/:id/member/limit": { roles: "OM", body: { user_id: 987_654_321, limits: [] } },
  "DELETE /api/team/:id/member": { roles: "OM", query: "?user_id=987654321" },
  "GET /api/team/:id/project": { roles: "OMFmv" },
  "POST /api/team/:id/project": { roles: "OM", body: { name: "cells" } },
  "PUT /api/team/:id/project": { roles: "OM", body: { project_id: 987_654_321, name: "cells" } },
  "DELETE /api/team/:id/project": { roles: "OM", query: "?project_id=987654321" },
  "PUT /api/team/:id/project/limit": { roles: "OM", body: { project_id: 987_654_321, limits: [] } },
  "GET /api/team/:id/invitation": { roles: "OM" },
  "POST /api/team/:id/invitation": { roles: "OM", body: { role: "viewer" } },
  "DELETE /api/team/:id/invitation": { roles: "OM", query: "?invitation_id=987654321" },
  "POST /api/team/:id/deposit": { roles: "OF", body: { amount: 9_000_000_000_000_000 } },
  "POST /api/team/:id/topup": { roles: "OF", body: { key: "no such code" } },
  "POST /api/team/:id/withdraw": { roles: "O", body: { amount: 9_000_000_000_000_000 } },
  "POST /api/team/:id/offer": { roles: "O", body: { user_id: 0 } },
  "POST /api/team/:id/take_over": { roles: "OMFmv" },
  "GET /api/team/:id/log": { roles: "OMFmv" },
  "GET /api/team/:id/usage": { roles: "OMF" },
};
const LETTER: Readonly<Record<TeamRole, string>> = {
  owner: "O",
  manager: "M",
  finance: "F",
  member: "m",
  viewer: "v",
};

describe.each(databases)("teams on $name", (database) => {
  let app: TestApp;
  let drop: () => Promise<void>;
  let serial = 0;

  beforeAll(async () => {
    const made = await database.create();
    drop = made.drop;
    app = await createTestApp({ databaseUrl: made.url });
  });
  afterEach(async () => expect(await checkLedger(app.ctx.db)).toEqual([]));
  afterAll(async () => {
    await app.close();
    await drop();
  });

  const newcomer = () => seedUser(app.ctx, `t${++serial}`);
  const post = (who: Who, path: string, body: object) => app.call(who, "POST", `/api/team/${path}`, body);

  async function newTeam(): Promise<{ id: number; owner: SeededUser }> {
    const owner = await newcomer();
    const { data } = await post(owner.who, "", { name: `team${serial}` });
    return { id: data.id, owner };
  }
  async function join(id: number, owner: SeededUser, role: string): Promise<SeededUser> {
    const user = await newcomer();
    const { data } = await post(owner.who, `${id}/invitation`, { role });
    expect(await post(user.who, "invitation/accept", { code: data.code })).toMatchObject({ success: true });
    return user;
  }
  async function fullTeam() {
    const { id, owner } = await newTeam();
    const people = { owner } as Record<TeamRole, SeededUser>;
    for (const role of TEAM_ROLES.slice(1)) people[role] = await join(id, owner, role);
    return { id, people };
  }
  const quotaOf = async (who: Who) => (await app.call(who, "GET", "/api/user/self")).data.quota;
  const walletOf = async (who: Who, id: number) => (await app.call(who, "GET", `/api/team/${id}`)).data.quota;
  async function newToken({ who }: SeededUser, teamId: number) {
    const body = { name: `k${++serial}`, unlimited_quota: true, team_id: teamId };
    return (await app.call(who, "POST", "/api/token/", body)).data;
  }
  async function spend(walletId: number, tokenId: number, amount: bigint) {
    const parties = { requestId: `team-api-${database.name}-${++serial}`, userId: walletId, tokenId };
    expect(await app.ctx.ledger.reserve({ ...parties, amount, modelName: "m" })).toBe("reserved");
    const usage = { promptTokens: 1, completionTokens: 1, cachedTokens: 0 };
    const log = { content: "", model_name: "m", elapsed_time: 1, first_byte_time: 0 };
    const book = (charge: bigint) =>
      app.ctx.ledger.settle({
        ...parties,
        channelId: 0,
        charge,
        usage,
        log: { ...log, is_stream: 0, estimated: 0, trail: "" },
      });
    return { book };
  }
  async function walletIdOf(id: number): Promise<number> {
    const row = await app.ctx.db
      .selectFrom("teams")
      .select("wallet_id")
      .where("id", "=", id)
      .executeTakeFirst();
    return row?.wallet_id ?? 0;
  }

  test("every right is given to the roles of the matrix, cell by cell, and other teams are not there", async () => {
    const { id, people } = await fullTeam();
    const stranger = await newcomer();
    const endpoints = Object.values<Endpoint>(teamApi).filter(({ right }) => right !== undefined);
    expect(endpoints.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(
      Object.keys(CELLS).sort(),
    );
    for (const [route, { roles, query = "", body }] of Object.entries(CELLS)) {
      const [method = "", path = ""] = route.replace(":id", String(id)).split(" ");
      const ask = async (who: Who) => (await app.call(who, method, path + query, body)).message;
      const found: string[] = [];
      for (const role of TEAM_ROLES)
        if ((await ask(people[role].who)) !== "您在该团队中的角色不能执行该操作") found.push(LETTER[role]);
      expect([route, found.join("")]).toEqual([route, roles]);
      expect(await ask(stranger.who)).toBe("找不到该团队");
    }
  });

  test("what is in the wallet, and what others cost, is shown to those who may see it", async () => {
    const { id, people } = await fullTeam();
    await post(people.owner.who, `${id}/deposit`, { amount: 1_000 });
    const token = await newToken(people.member, id);
    await (await spend(await walletIdOf(id), token.id, 100n)).book(70n);
    for (const role of TEAM_ROLES) {
      const seesAll = role === "owner" || role === "manager" || role === "finance";
      const { who } = people[role];
      expect(await walletOf(who, id)).toBe(seesAll ? 930 : null);
      const { data } = await app.call(who, "GET", `/api/team/${id}/member`);
      const spent = data.map((row: { role: string; spent: number | null }) => [row.role, row.spent]);
      const expected = TEAM_ROLES.map((other) => {
        const isShown = seesAll || other === role;
        return [other, isShown ? (other === "member" ? 70 : 0) : null];
      });
      expect(spent).toEqual(expected);
      const logs = await app.call(who, "GET", `/api/team/${id}/log?type=2`);
      expect(logs["total"]).toBe(seesAll || role === "member" ? 1 : 0);
    }
    const { data } = await app.call(people.finance.who, "GET", `/api/team/${id}/usage?days=7`);
    expect(data.members).toEqual([
      { user_id: people.member.id, username: people.member.username, quota: 70, requests: 1 },
    ]);
    expect(data.daily).toMatchObject([{ model_name: "m", quota: 70 }]);
    // It is no call of the person's own account.
    expect((await app.call(people.member.who, "GET", "/api/log/self/?type=2")).data).toEqual([]);
    expect(await quotaOf(people.member.who)).toBe(500_000);
  });

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
