// What is decided about a team while it changes (requirements O04, O06, O07): a call that entered before acts by what the team is when its turn
// comes. A team is handed over, a member removed or an account deleted meanwhile; on PostgreSQL the call waits for that at the team's row.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { TEAM_ROLES, type TeamRole } from "#contract/team-words.ts";
import { checkLedger } from "#server/money/ledger-check.ts";
import type { Db } from "#server/store/db.ts";
import { changeRole, findTeam, holdTeam, insertTeam, removeMember } from "#server/store/teams.ts";
import { type SeededUser, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createTestApp, databases, type TestApp, type Who } from "#test/worlds/app.ts";

const DAY = { kind: "quota", amount: 1_000, time_window: "day" } as const;

describe.each(databases)("a team that changes meanwhile on $name", (database) => {
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

  const newcomer = () => seedUser(app.ctx, `r${++serial}`);
  const post = (who: Who, path: string, body: object) => app.call(who, "POST", `/api/team/${path}`, body);
  const teamOf = async (id: number) => (await findTeam(app.ctx.db, id)) ?? expect.fail();

  async function newTeam() {
    const owner = await newcomer();
    const { data } = await post(owner.who, "", { name: `races${serial}` });
    const people = { owner } as Record<TeamRole, SeededUser>;
    for (const role of TEAM_ROLES.slice(1)) {
      people[role] = await newcomer();
      const { data: invitation } = await post(owner.who, `${data.id}/invitation`, { role });
      await post(people[role].who, "invitation/accept", { code: invitation.code });
    }
    return { id: Number(data.id), people };
  }

  /** The answer of a call that entered before a change was made to its team, and goes on after it. */
  async function during<Answer>(
    id: number,
    call: () => Promise<Answer>,
    change: (tx: Db) => Promise<unknown>,
  ): Promise<Answer> {
    const begun = Promise.withResolvers<Answer>();
    await app.ctx.db.transaction().execute(async (tx) => {
      await holdTeam(tx, id);
      call().then(begun.resolve, begun.reject);
      // Time to come as far as it can.
      await sleep(300);
      await change(tx);
    });
    return begun.promise;
  }

  const handOver =
    (id: number, { owner, manager }: Record<TeamRole, SeededUser>) =>
    async (tx: Db) => {
      expect(await changeRole(tx, id, { userId: owner.id, from: "owner", to: "manager" })).toBe(true);
      expect(await changeRole(tx, id, { userId: manager.id, from: "manager", to: "owner" })).toBe(true);
    };

  test.each([
    [
      "closes it",
      (who: Who, id: number, name: string) => app.call(who, "DELETE", `/api/team/${id}?name=${name}`),
    ],
    ["takes quota out", (who: Who, id: number) => post(who, `${id}/withdraw`, { amount: 300 })],
    [
      "hands it over again",
      (who: Who, id: number, _: string, heir: number) => post(who, `${id}/offer`, { user_id: heir }),
    ],
  ] as const)("an owner who has handed it over no more %s, and is paid nothing", async (_, act) => {
    const { id, people } = await newTeam();
    const quota = { delta: 500n };
    const { owner, member } = people;
    await app.ctx.ledger.adjust({ userId: owner.id, kind: "grant", quota, actorId: 1, reason: "test" });
    await post(owner.who, `${id}/deposit`, { amount: 500 });
    const { name } = await teamOf(id);
    const before = (await app.call(owner.who, "GET", "/api/user/self")).data.quota;
    const answer = await during(id, () => act(owner.who, id, name, member.id), handOver(id, people));
    expect(answer.success).toBe(false);
    expect(await teamOf(id)).toMatchObject({ closed_at: 0, heir_id: 0, quota: 500 });
    expect((await app.call(owner.who, "GET", "/api/user/self")).data.quota).toBe(before);
  });

  test.each([false, true])("who is removed makes no token of it (project: %s)", async (hasProject) => {
    const { id, people } = await newTeam();
    const { member, manager } = people;
    const team = await teamOf(id);
    const project = hasProject
      ? (await post(manager.who, `${id}/project`, { name: "p" })).data.id
      : undefined;
    const body = {
      name: "late",
      unlimited_quota: true,
      team_id: id,
      ...(hasProject && { project_id: project }),
    };
    const answer = await during(
      id,
      () => app.call(member.who, "POST", "/api/token/", body),
      (tx) => removeMember(tx, team, { userId: member.id, role: "member", heir: 0, now: 1 }),
    );
    expect(answer).toMatchObject({ success: false, message: "找不到该团队" });
    const tokens = app.ctx.db.selectFrom("tokens").select("id").where("wallet_id", "=", team.wallet_id);
    expect(await tokens.where("deleted_at", "=", 0).execute()).toEqual([]);
  });

  const seatLimits = (id: number) =>
    app.ctx.db
      .selectFrom("limits")
      .innerJoin("team_members", "team_members.id", "limits.subject_id")
      .select("limits.id")
      .where("team_id", "=", id)
      .where("subject", "=", "seat")
      .execute();

  test("an account that is deleted leaves with its caps, and is offered nothing any more", async () => {
    const { id, people } = await newTeam();
    const { owner, member } = people;
    await app.call(owner.who, "PUT", `/api/team/${id}/member/limit`, { user_id: member.id, limits: [DAY] });
    const limits = await seatLimits(id);
    expect(limits).toHaveLength(1);
    await post(owner.who, `${id}/offer`, { user_id: member.id });
    expect((await app.call(asRoot, "DELETE", `/api/user/${member.id}`)).success).toBe(true);
    const alive = app.ctx.db.selectFrom("limits").select("id").where("deleted_at", "=", 0);
    const ids = limits.map((one) => one.id);
    expect(await alive.where("id", "in", ids).execute()).toEqual([]);
    expect(await teamOf(id)).toMatchObject({ heir_id: 0 });
  });

  test("an account that a team is handed to meanwhile is not deleted: no team is without an owner", async () => {
    const { id, people } = await newTeam();
    const answer = await during(
      id,
      () => app.call(asRoot, "DELETE", `/api/user/${people.manager.id}`),
      handOver(id, people),
    );
    expect(answer).toMatchObject({ success: false, message: "该账户还拥有团队，请先转让或解散团队" });
  });

  test("no member who is disabled is offered it", async () => {
    const { id, people } = await newTeam();
    const { owner, member } = people;
    await app.ctx.db.updateTable("users").set({ status: 2 }).where("id", "=", member.id).execute();
    const answer = await post(owner.who, `${id}/offer`, { user_id: member.id });
    expect(answer).toMatchObject({ success: false, message: "该成员已被停用，不能转让给他" });
    expect(await teamOf(id)).toMatchObject({ heir_id: 0 });
  });

  test("twenty teams are the most that one owns, however many are made at once, or handed to him", async () => {
    const owner = await newcomer();
    for (let at = 0; at < 18; at += 1) {
      const made = {
        name: `many${at}`,
        group: "default",
        ownerId: owner.id,
        now: 1,
        tail: `${owner.id}-${at}`,
      };
      await app.ctx.db.transaction().execute((tx) => insertTeam(tx, made));
    }
    const asked = Array.from({ length: 8 }, (_, at) => post(owner.who, "", { name: `more${at}` }));
    const made = (await Promise.all(asked)).filter(({ success }) => success);
    expect(made).toHaveLength(2);
    const { id, people } = await newTeam();
    const { data } = await post(people.owner.who, `${id}/invitation`, { role: "member" });
    await post(owner.who, "invitation/accept", { code: data.code });
    await post(people.owner.who, `${id}/offer`, { user_id: owner.id });
    const refused = { success: false, message: "最多拥有 20 个团队" };
    expect(await post(owner.who, `${id}/take_over`, {})).toMatchObject(refused);
    const { name } = await teamOf(made[0]?.data.id);
    await app.call(owner.who, "DELETE", `/api/team/${made[0]?.data.id}?name=${name}`);
    expect((await post(owner.who, `${id}/take_over`, {})).success).toBe(true);
  });

  test("who sees what members cost, or sets their caps, sees the caps; others their own", async () => {
    const { id, people } = await newTeam();
    for (const { id: user_id } of [people.finance, people.member, people.viewer])
      await app.call(people.owner.who, "PUT", `/api/team/${id}/member/limit`, { user_id, limits: [DAY] });
    const capped = async (role: TeamRole) => {
      const { data } = await app.call(people[role].who, "GET", `/api/team/${id}/member`);
      const rows: { role: TeamRole; limits: unknown[] }[] = data;
      return rows.filter(({ limits }) => limits.length > 0).map((row) => row.role);
    };
    const all = ["finance", "member", "viewer"];
    expect(await Promise.all(TEAM_ROLES.map(async (role) => [role, (await capped(role)).sort()]))).toEqual(
      TEAM_ROLES.map((role) => [role, ["owner", "manager", "finance"].includes(role) ? all : [role]]),
    );
  });
});
