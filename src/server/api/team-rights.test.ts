// What each role may do in a team, and what it is shown (requirements O04): every call of a team cell by cell, money and caps by who may see them.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Endpoint } from "#contract/endpoint.ts";
import { api } from "#contract/index.ts";
import { TEAM_ROLES, type TeamRole } from "#contract/team-words.ts";
import { checkLedger } from "#server/money/ledger-check.ts";
import { createAppOn, databases, type TestApp, type Who } from "#test/worlds/app.ts";
import { teamActs } from "#test/worlds/team-acts.ts";

const BOOST = { limit_id: 987_654_321, amount: 5, until: 9_000_000_000, reason: "cells" };

/** Who gets in, by hand from the matrix of roles: O wner, M anager, F inance, m ember, v iewer. */
const CELLS: Readonly<Record<string, { roles: string; query?: string; body?: object }>> = {
  "GET /api/team/:id": { roles: "OMFmv" },
  "PUT /api/team/:id": { roles: "O", body: { name: "cells" } },
  "DELETE /api/team/:id": { roles: "O", query: "?name=other" },
  "GET /api/team/:id/limit": { roles: "OMFmv" },
  "PUT /api/team/:id/limit": { roles: "O", body: { limits: [] } },
  "PUT /api/team/:id/limit/boost": { roles: "O", body: BOOST },
  "GET /api/team/:id/member": { roles: "OMFmv" },
  "PUT /api/team/:id/member": { roles: "OM", body: { user_id: 987_654_321, role: "viewer" } },
  "PUT /api/team/:id/member/limit": { roles: "OM", body: { user_id: 987_654_321, limits: [] } },
  "PUT /api/team/:id/member/limit/boost": { roles: "OM", body: { ...BOOST, user_id: 987_654_321 } },
  "DELETE /api/team/:id/member": { roles: "OM", query: "?user_id=987654321" },
  "GET /api/team/:id/project": { roles: "OMFmv" },
  "POST /api/team/:id/project": { roles: "OM", body: { name: "cells" } },
  "PUT /api/team/:id/project": { roles: "OM", body: { project_id: 987_654_321, name: "cells" } },
  "DELETE /api/team/:id/project": { roles: "OM", query: "?project_id=987654321" },
  "PUT /api/team/:id/project/limit": { roles: "OM", body: { project_id: 987_654_321, limits: [] } },
  "PUT /api/team/:id/project/limit/boost": { roles: "OM", body: { ...BOOST, project_id: 987_654_321 } },
  "GET /api/team/:id/invitation": { roles: "OM" },
  "POST /api/team/:id/invitation": { roles: "OM", body: { role: "viewer" } },
  "DELETE /api/team/:id/invitation": { roles: "OM", query: "?invitation_id=987654321" },
  "POST /api/team/:id/deposit": { roles: "OF", body: { amount: 9_000_000_000_000_000 } },
  "POST /api/team/:id/topup": { roles: "OF", body: { key: "no such code" } },
  "POST /api/team/:id/withdraw": { roles: "O", body: { amount: 9_000_000_000_000_000 } },
  "POST /api/team/:id/offer": { roles: "O", body: { user_id: 0 } },
  "POST /api/team/:id/take_over": { roles: "OMFmv" },
  "GET /api/team/:id/log": { roles: "OMFmv" },
  "GET /api/team/:id/log/stat": { roles: "OMFmv" },
  "GET /api/team/:id/usage": { roles: "OMF" },
  "GET /api/team/:id/audit": { roles: "OMF" },
  "GET /api/team/:id/statement": { roles: "OMF" },
  "GET /api/team/:id/statement/:month": { roles: "OMF" },
  "GET /api/team/:id/statement/:month/pdf": { roles: "OMF" },
};
const LETTER: Readonly<Record<TeamRole, string>> = {
  owner: "O",
  manager: "M",
  finance: "F",
  member: "m",
  viewer: "v",
};

describe.each(databases)("rights in a team on $name", (database) => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createAppOn(database);
  });
  afterEach(async () => expect(await checkLedger(app.ctx.db)).toEqual([]));
  afterAll(() => app.close());

  const { newcomer, post, newTeam, fullTeam, quotaOf, walletOf, newToken, spend, walletIdOf } = teamActs(
    () => app,
  );

  test("every right is given to the roles of the matrix, cell by cell, and other teams are not there", async () => {
    const { id, people } = await fullTeam();
    const stranger = await newcomer();
    const all = Object.values<Readonly<Record<string, Endpoint>>>(api).flatMap((some) => Object.values(some));
    const endpoints = all.filter(({ right }) => right !== undefined);
    expect(endpoints.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(
      Object.keys(CELLS).sort(),
    );
    for (const [route, { roles, query = "", body }] of Object.entries(CELLS)) {
      const [method = "", path = ""] = route.replace(":id", `${id}`).replace(":month", "2026-01").split(" ");
      const ask = async (who: Who) => (await app.call(who, method, path + query, body)).message;
      const found: string[] = [];
      for (const role of TEAM_ROLES)
        if ((await ask(people[role].who)) !== "您在该团队中的角色不能执行该操作") found.push(LETTER[role]);
      expect([route, found.join("")]).toEqual([route, roles]);
      expect(await ask(stranger.who)).toBe("找不到该团队");
    }
  });

  test("what is another team's, and really there, is as if it were not: invitations, members, projects and limits", async () => {
    const [mine, theirs] = [await newTeam(), await fullTeam()];
    const { owner } = theirs.people;
    const { data: invitation } = await post(owner.who, `${theirs.id}/invitation`, { role: "member" });
    const user_id = theirs.people.member.id;
    const limits = [{ kind: "quota", amount: 1_000, time_window: "day" }];
    const put = (who: Who, path: string, body: object) => app.call(who, "PUT", `/api/team/${path}`, body);
    const { data: caps } = await put(owner.who, `${theirs.id}/member/limit`, { user_id, limits });
    const { data: whole } = await put(owner.who, `${theirs.id}/limit`, { limits });
    const { data: project } = await post(owner.who, `${theirs.id}/project`, { name: "theirs" });
    const before = await state();
    const boost = { amount: 5, until: app.ctx.clock.seconds() + 900, reason: "theirs" };
    const [own, project_id] = [`${mine.id}`, project.id];
    const call = (method: string, path: string, body?: object) =>
      app.call(mine.owner.who, method, `/api/team/${own}/${path}`, body);
    const answers = await Promise.all([
      call("DELETE", `invitation?invitation_id=${invitation.id}`),
      call("DELETE", `member?user_id=${user_id}`),
      call("PUT", "member", { user_id, role: "viewer" }),
      call("PUT", "member/limit", { user_id, limits: [] }),
      call("PUT", "member/limit/boost", { ...boost, user_id, limit_id: caps[0].id }),
      call("PUT", "limit", { limits: [{ ...limits[0], id: whole[0].id }] }),
      call("PUT", "limit/boost", { ...boost, limit_id: whole[0].id }),
      call("PUT", "project", { project_id, name: "mine" }),
      call("DELETE", `project?project_id=${project_id}`),
      call("PUT", "project/limit", { project_id, limits: [] }),
    ]);
    for (const { success, message } of answers) {
      expect(success).toBe(false);
      expect(message).toMatch(/^找不到该/);
    }
    expect((await call("POST", "offer", { user_id })).message).toBe("只能转让给该团队的成员");
    expect(await state()).toEqual(before);

    /** All that could have been changed. */
    async function state() {
      const tables = ["teams", "team_members", "team_invitations", "team_projects", "limits"] as const;
      return Promise.all(tables.map((table) => app.ctx.db.selectFrom(table).selectAll().execute()));
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
      const count = seesAll || role === "member" ? 1 : 0;
      expect(logs["total"]).toBe(count);
      for (const filter of ["", "?model_name=m", `?token_name=${token.name}&model_name=m`]) {
        const stat = await app.call(who, "GET", `/api/team/${id}/log/stat${filter}`);
        expect(stat.data).toMatchObject({ quota: 70 * count, token: 2 * count, request: count });
      }
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

  test("what is used of the caps of team, projects and members is shown to those who may see the calls of all, one's own to each", async () => {
    const { id, people } = await fullTeam();
    const { who: owner } = people.owner;
    await post(owner, `${id}/deposit`, { amount: 1_000 });
    const limits = [{ kind: "quota", amount: 500, time_window: "day" }];
    const set = async (path: string, body: object): Promise<number> => {
      const answer = await app.call(owner, "PUT", `/api/team/${id}/${path}`, { limits, ...body });
      return answer.data[0].id;
    };
    const { data: project } = await post(owner, `${id}/project`, { name: "网站" });
    const caps = [
      await set("member/limit", { user_id: people.member.id }),
      await set("project/limit", { project_id: project.id }),
      await set("limit", {}),
    ];
    const token = await newToken(people.member, id);
    const requestId = `team-caps-${database.name}`;
    const order = { requestId, userId: await walletIdOf(id), tokenId: token.id, amount: 90n, modelName: "m" };
    const holds = caps.map((limitId) => ({ limitId, holder: 0 }));
    expect(await app.ctx.ledger.reserve({ ...order, limits: holds, zone: "Asia/Shanghai" })).toBe("reserved");
    const midnight = expect.any(Number);
    const all = { amount: 500, used: 90, reserved: 90, resets_at: midnight };
    const amount = { amount: 500, used: null, reserved: 0, resets_at: midnight };
    for (const role of TEAM_ROLES) {
      const seesAll = role === "owner" || role === "manager" || role === "finance";
      const read = async (path: string) =>
        (await app.call(people[role].who, "GET", `/api/team/${id}/${path}`)).data;
      expect(await read("limit"), role).toMatchObject([seesAll ? all : amount]);
      expect(await read("project"), role).toMatchObject([{ limits: [seesAll ? all : amount] }]);
      const members: { user_id: number; limits: object[] }[] = await read("member");
      const own = members.find(({ user_id }) => user_id === people.member.id)?.limits;
      expect(own, role).toMatchObject(seesAll || role === "member" ? [all] : []);
    }
    await app.ctx.ledger.release(requestId);
  });
});
