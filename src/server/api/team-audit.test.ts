// The acts on a team (requirements O11): all that members and administrators do to it stands in its list with what was before, and nothing else.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditApi } from "#contract/audit.ts";
import type { TeamAct } from "#contract/team-audit.ts";
import { type SeededUser, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp, type Who } from "#test/worlds/app.ts";

describe.each(databases)("the acts on a team on $name", (database) => {
  let app: TestApp;
  let serial = 0;

  beforeAll(async () => {
    app = await createAppOn(database);
  });
  afterAll(() => app.close());

  const newcomer = () => seedUser(app.ctx, `actor${++serial}`);
  async function act(who: Who, method: string, path: string, body?: object) {
    const answer = await app.call(who, method, path, body);
    expect(answer, `${method} ${path}`).toMatchObject({ success: true });
    return answer.data;
  }
  async function newTeam() {
    const owner = await newcomer();
    const { id } = await act(owner.who, "POST", "/api/team/", { name: "旧名" });
    return { id, owner, path: `/api/team/${id}` };
  }
  async function join({ path, owner }: { path: string; owner: SeededUser }, role: string) {
    const user = await newcomer();
    const { code } = await act(owner.who, "POST", `${path}/invitation`, { role });
    await act(user.who, "POST", "/api/team/invitation/accept", { code });
    return user;
  }
  const list = (who: Who, id: number, search = ""): Promise<TeamAct[]> =>
    act(who, "GET", `/api/team/${id}/audit?size=100${search}`);
  test("of limits what changed is told, all of it, and nothing of what stayed", async () => {
    const { id, owner, path } = await newTeam();
    const limits = Array.from({ length: 20 }, (_, at) => ({
      ...{ kind: "quota", amount: 1_000 + at, time_window: "rolling_month", model_pattern: `model-${at}*` },
    }));
    const made = await act(owner.who, "PUT", `${path}/limit`, { limits });
    const ids = made.map((one: { id: number }) => one.id);
    const kept = limits.map((one, at) => ({ ...one, id: ids[at] }));
    await act(owner.who, "PUT", `${path}/limit`, { limits: kept.map((one) => ({ ...one, amount: 7 })) });
    await act(owner.who, "PUT", `${path}/limit`, {
      limits: kept.slice(1).map((one) => ({ ...one, amount: one.id === ids[5] ? 9 : 7 })),
    });
    await act(owner.who, "PUT", `${path}/limit`, {
      limits: kept.slice(1).map((one) => ({ ...one, amount: one.id === ids[5] ? 9 : 7 })),
    });
    const rows = (await list(owner.who, id)).filter(({ action }) => action === "team.limit");
    const [same, few, all, first] = rows.map(({ detail }) => JSON.parse(detail));
    expect(first.limits.map((one: { amount: number }) => one.amount)).toEqual(
      limits.map(({ amount }) => amount),
    );
    expect(all.limits).toHaveLength(20);
    expect(all.before.limits).toMatchObject(kept.map(({ id: limit, amount }) => ({ id: limit, amount })));
    expect(few.limits).toMatchObject([{ id: ids[5], amount: 9 }]);
    expect(few.before.limits).toMatchObject([
      { id: ids[5], amount: 7 },
      { id: ids[0], amount: 7 },
    ]);
    expect(same).toEqual({ limits: [] });
  });

  const actions = (rows: readonly TeamAct[]) => rows.map(({ action }) => action).toReversed();
  const detailOf = (rows: readonly TeamAct[], action: string) =>
    JSON.parse(rows.find((row) => row.action === action)?.detail ?? "{}");

  test("what members do to it is told in order, with what was before, and their own things are not", async () => {
    const team = await newTeam();
    const { id, owner, path } = team;
    const member = await join(team, "member");
    const cap = { kind: "quota", amount: 100, time_window: "day" };
    await act(owner.who, "PUT", path, { name: "新名" });
    const [set] = await act(owner.who, "PUT", `${path}/limit`, { limits: [cap] });
    await act(owner.who, "PUT", `${path}/limit`, { limits: [{ ...cap, id: set.id, amount: 70 }] });
    await act(owner.who, "PUT", `${path}/member/limit`, { user_id: member.id, limits: [cap] });
    await act(owner.who, "PUT", `${path}/member`, { user_id: member.id, role: "manager" });
    const project = await act(owner.who, "POST", `${path}/project`, { name: "网站" });
    const [raised] = await act(owner.who, "PUT", `${path}/project/limit`, {
      project_id: project.id,
      limits: [cap],
    });
    const until = app.ctx.clock.seconds() + 600;
    const boost = { limit_id: raised.id, amount: 50, until, reason: "launch" };
    await act(owner.who, "PUT", `${path}/project/limit/boost`, { ...boost, project_id: project.id });
    await act(owner.who, "POST", `${path}/deposit`, { amount: 9 });
    await act(owner.who, "POST", `${path}/withdraw`, { amount: 4 });
    const ofTeam = { name: "ci", unlimited_quota: true, team_id: id };
    const token = await act(member.who, "POST", "/api/token/", ofTeam);
    await act(member.who, "POST", "/api/token/batch", { ...ofTeam, name: "many", count: 2 });
    await act(owner.who, "PUT", "/api/token/", { id: token.id, name: "cd" });
    await act(owner.who, "PUT", "/api/token/?status_only=1", { id: token.id, status: 2 });
    await act(member.who, "POST", `/api/token/${token.id}/rotate`, { overlap: 0 });
    const [bound] = await act(owner.who, "PUT", `/api/token/${token.id}/limit`, { limits: [cap] });
    await act(owner.who, "PUT", `/api/token/${token.id}/limit/boost`, { ...boost, limit_id: bound.id });
    await act(member.who, "GET", `/api/token/${token.id}`);
    await act(owner.who, "DELETE", `/api/token/${token.id}`);
    // Of the person, not of the team.
    const own = await act(member.who, "POST", "/api/token/", { name: "own", unlimited_quota: true });
    await act(member.who, "DELETE", `/api/token/${own.id}`);
    await act(member.who, "DELETE", `${path}/member?user_id=${member.id}`);
    const rows = await list(owner.who, id);
    expect(actions(rows)).toEqual([
      "team.create",
      "team.invite",
      "team.join",
      "team.rename",
      "team.limit",
      "team.limit",
      "team.cap",
      "team.role",
      "team.project",
      "team.cap",
      "limit.boost",
      "team.deposit",
      "team.withdraw",
      "token.create",
      "token.create",
      "token.update",
      "token.update",
      "token.rotate",
      "token.limit",
      "limit.boost",
      "token.reveal",
      "token.delete",
      "team.leave",
    ]);
    expect(detailOf(rows, "team.rename")).toEqual({ name: "新名", before: { name: "旧名" } });
    expect(detailOf(rows, "team.role")).toMatchObject({ from: "member", to: "manager" });
    const boosts = rows
      .filter(({ action }) => action === "limit.boost")
      .map(({ detail }) => JSON.parse(detail));
    expect(boosts).toMatchObject(
      Array.from(boosts, () => ({ amount: 50, before: { amount: 0, until: 0, reason: "" } })),
    );
    expect(detailOf(rows, "team.leave")).toMatchObject({ user: member.username, role: "manager" });
    const limit = detailOf(rows, "team.limit");
    expect([limit.limits[0].amount, limit.before.limits[0].amount]).toEqual([70, 100]);
    const updates = rows.filter(({ action }) => action === "token.update");
    expect(JSON.parse(updates[1]?.detail ?? "")).toMatchObject({ name: "cd", before: { name: "ci" } });
    expect(rows.find(({ action }) => action === "token.create")).toMatchObject({
      actor_id: member.id,
      actor_name: member.username,
      // He has left since.
      is_outside: true,
    });
    expect(rows.find(({ action }) => action === "team.rename")).toMatchObject({ is_outside: false });
    expect(JSON.stringify(rows)).not.toMatch(/address|hash|request_id/);
  });

  test("what administrators do from outside stands there, and the wallet's money is told as it moved", async () => {
    const team = await newTeam();
    const { id, owner, path } = team;
    const goes = await join(team, "viewer");
    await act(asRoot, "POST", "/api/team/adjust", { id, amount: 5, reason: "gift" });
    const short = { id, amount: -9, reason: "back" };
    expect((await app.call(asRoot, "POST", "/api/team/adjust", short)).success).toBe(false);
    expect((await app.call(owner.who, "POST", `${path}/withdraw`, { amount: 6 })).success).toBe(false);
    await act(asRoot, "PUT", "/api/team/all", { id, group: "vip" });
    const token = await act(owner.who, "POST", "/api/token/", { name: "leak", team_id: id });
    await act(asRoot, "POST", "/api/token/find", { key: token.key });
    await act(asRoot, "POST", "/api/token/disable", { id: token.id });
    await act(asRoot, "DELETE", `/api/user/${goes.id}`);
    const rows = await list(owner.who, id);
    const outside = rows.filter(({ is_outside }) => is_outside);
    expect(actions(outside)).toEqual([
      "team.join",
      "team.adjust",
      "team.adjust",
      "team.amount_refused",
      "team.manage",
      "token.find",
      "token.disable",
      "user.delete",
    ]);
    expect(detailOf(rows, "team.manage")).toEqual({ group: "vip", before: { group: "default" } });
    expect(detailOf(rows, "token.disable")).toMatchObject({ name: "leak" });
    const refused = rows.filter(({ action }) => action === "team.amount_refused");
    expect(refused.map(({ is_outside }) => is_outside)).toEqual([false, true]);
    // A team that administrators have stopped still reads what was done to it.
    await act(asRoot, "PUT", "/api/team/all", { id, status: 2 });
    expect((await list(owner.who, id))[0]).toMatchObject({ action: "team.manage", is_outside: true });
  });

  test("it is filtered and paged by the server; who keeps the money reads its acts alone", async () => {
    const team = await newTeam();
    const { id, owner, path } = team;
    const finance = await join(team, "finance");
    const manager = await join(team, "manager");
    await act(finance.who, "POST", `${path}/deposit`, { amount: 7 });
    await act(owner.who, "POST", `${path}/deposit`, { amount: 8 });
    const other = await newTeam();
    await act(other.owner.who, "POST", `${other.path}/deposit`, { amount: 1 });
    expect(await list(manager.who, id)).toEqual(await list(owner.who, id));
    expect(actions(await list(finance.who, id))).toEqual(["team.deposit", "team.deposit"]);
    expect(await list(finance.who, id, "&action=team.invite")).toEqual([]);
    const named = await list(owner.who, id, `&username=${finance.username}`);
    expect(actions(named)).toEqual(["team.join", "team.deposit"]);
    expect(actions(await list(owner.who, id, "&action=team.join"))).toHaveLength(2);
    const now = app.ctx.clock.seconds();
    expect(await list(owner.who, id, `&start_timestamp=${now + 60}`)).toEqual([]);
    const page = await app.call(owner.who, "GET", `${path}/audit?size=2&p=1`);
    const all = await list(owner.who, id);
    expect([page.data, page["total"]]).toEqual([all.slice(2, 4), all.length]);
    const last = all[2]?.id ?? 0;
    const block = await app.call(owner.who, "GET", `${path}/audit?export=true&before=${last}`);
    expect(block.data).toEqual(all.slice(3));
    expect(block["total"]).toBeUndefined();
  });

  test("the chain of the log goes through all of it, and the operator's list has no more rows than acts", async () => {
    const { data, ...beside } = await app.call(asRoot, "GET", `${auditApi.list.path}?verify=true&size=100`);
    expect(beside["chain"]).toMatchObject({ checked: beside["total"], broken_id: 0 });
    expect(new Set(data.map((row: { id: number }) => row.id)).size).toBe(data.length);
  });
});
