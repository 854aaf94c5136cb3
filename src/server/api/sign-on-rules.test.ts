// What the rules of a login provider give and take back (requirements I46): groups, and teams with a role.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fakeClock } from "#server/clock.ts";
import { findMember } from "#server/store/teams.ts";
import type { Lies } from "#test/emulators/oidc-forger.ts";
import { databases, type TestApp } from "#test/worlds/app.ts";
import {
  addProvider,
  changeProvider,
  loginThrough,
  type SignOnApp,
  somebody,
  startSignOnApp,
} from "#test/worlds/sign-on-app.ts";
import { seedTeam, seedTeamToken } from "#test/worlds/teams.ts";
import { visit } from "#test/worlds/visitor.ts";

describe.each(databases)("rules of login providers on $name", (database) => {
  let world: SignOnApp;
  let app: TestApp;
  let row: { id: number; slug: string };
  let teams: readonly { teamId: number; walletId: number }[];

  beforeAll(async () => {
    world = await startSignOnApp(database, fakeClock());
    ({ app } = world);
    const seeded = [];
    for (let at = 0; at < 2; at += 1) seeded.push(await seedTeam(app.ctx.db, app.ctx.ledger, { quota: 0n }));
    teams = seeded;
    row = await addProvider(app, { issuer: world.forger.url, rules: rules() });
  });
  afterAll(() => world.close());

  const idOf = (at: number) => teams[at]?.teamId ?? 0;
  const rules = () => [
    { path: "groups", value: "leads", team_id: idOf(0), team_role: "manager" },
    { path: "groups", value: "devs", team_id: idOf(0), team_role: "member" },
    { path: "groups", value: "devs", group: "vip" },
    { path: "groups", value: "money", team_id: idOf(1), team_role: "finance" },
    { path: "realm.roles.0", value: "money", team_id: idOf(1), team_role: "viewer" },
  ];
  const sub = somebody();
  let userId = 0;

  /** Logs in with these claims; returns the roles in both teams. */
  async function enter(claims: Lies["claims"] = {}, who = sub) {
    const answer = await loginThrough(visit(app), row.slug, {
      forger: world.forger,
      sub: who,
      lies: { claims },
    });
    expect(answer.success).toBe(true);
    if (who === sub) userId = answer.data.id;
    return rolesOf(answer.data.id);
  }
  const rolesOf = (id: number) =>
    Promise.all([0, 1].map(async (at) => (await findMember(app.ctx.db, idOf(at), id))?.role));

  test("puts into teams, each by its first rule that fits; roles follow", async () => {
    expect(await enter({ groups: ["devs", "leads", "money"] })).toEqual(["manager", "finance"]);
    expect(await enter({ groups: ["devs"], realm: { roles: ["money"] } })).toEqual(["member", "viewer"]);
    const acts = await app.ctx.db
      .selectFrom("audit")
      .select(["action", "detail"])
      .where("action", "in", ["team.join", "team.role", "team.leave"])
      .orderBy("id")
      .execute();
    expect(acts.map(({ action }) => action)).toEqual(["team.join", "team.join", "team.role", "team.role"]);
    expect(JSON.parse(acts[0]?.detail ?? "")).toMatchObject({ role: "manager", via: row.slug });
    expect(JSON.parse(acts[2]?.detail ?? "")).toMatchObject({ role: "member", before: { role: "manager" } });
  });

  test("an absent claim says nothing, also where another of the team's is there; what has no form of a list is absent", async () => {
    for (const claims of [{}, { groups: { devs: true } }, { groups: 7 }, { groups: null }])
      expect(await enter(claims)).toEqual(["member", "viewer"]);
    // The second team has a rule on `realm`, which is absent.
    expect(await enter({ groups: [] })).toEqual([undefined, "viewer"]);
    expect(await enter({ groups: "devs" })).toEqual(["member", "viewer"]);
    expect(await enter({ groups: [], realm: { roles: ["other"] } })).toEqual([undefined, undefined]);
  });

  test("takes back what it gave, with the tokens, and never what people gave", async () => {
    expect(await enter({ groups: ["devs"] })).toEqual(["member", undefined]);
    const walletId = teams[0]?.walletId ?? 0;
    const tokenId = await seedTeamToken(app.ctx.db, userId, walletId);
    expect(await enter({ groups: [] })).toEqual([undefined, undefined]);
    const token = await app.ctx.db
      .selectFrom("tokens")
      .select("deleted_at")
      .where("id", "=", tokenId)
      .executeTakeFirstOrThrow();
    expect(token.deleted_at).toBeGreaterThan(0);

    // By an invitation, say: whatever the provider tells, the role stays.
    await app.ctx.db
      .insertInto("team_members")
      .values({ team_id: idOf(0), user_id: userId, role: "finance", joined_at: 1 })
      .execute();
    expect(await enter({ groups: ["leads"] })).toEqual(["finance", undefined]);
    expect(await enter({ groups: [] })).toEqual(["finance", undefined]);
    // Another provider takes out no member whom this one put in.
    const other = somebody();
    expect(await enter({ groups: ["devs"] }, other)).toEqual(["member", undefined]);
    await app.ctx.db
      .updateTable("team_members")
      .set({ provider_id: 999 })
      .where("role", "=", "member")
      .execute();
    expect(await enter({ groups: [] }, other)).toEqual(["member", undefined]);
  });

  test("10,000 entries, odd paths and odd values give what fits and harm nothing", async () => {
    const many = Array.from({ length: 10_000 }, (_, at) => `g${at}`);
    expect(await enter({ groups: [...many, "leads"] }, somebody())).toEqual(["manager", undefined]);
    expect(await enter({ groups: [["leads"], { leads: 1 }, 5, null] }, somebody())).toEqual([
      undefined,
      undefined,
    ]);
    const odd = ["__proto__", "constructor.name", "groups.length", "groups.__proto__.x"].map((path) => ({
      path,
      value: "Object",
      group: "vip",
    }));
    await changeProvider(app, row, {
      issuer: world.forger.url,
      client_id: "client-1",
      name: "odd",
      is_enabled: true,
      rules: odd,
    });
    const who = visit(app);
    const claims = JSON.parse('{"groups": ["a"], "__proto__": {"Object": "Object"}}');
    await loginThrough(who, row.slug, { forger: world.forger, sub: somebody(), lies: { claims } });
    expect((await who.call("GET", "/api/user/self")).data.group).toBe("default");
  });

  test("a closed team is not joined, and no rule leads to one, or to an owner", async () => {
    const closed = await seedTeam(app.ctx.db, app.ctx.ledger, { quota: 0n });
    const rule = { path: "groups", value: "x", team_id: closed.teamId };
    const late = await addProvider(app, { issuer: world.forger.url, rules: [rule] });
    await app.ctx.db.updateTable("teams").set({ closed_at: 1 }).where("id", "=", closed.teamId).execute();
    const answer = await loginThrough(visit(app), late.slug, {
      forger: world.forger,
      sub: somebody(),
      lies: { claims: { groups: ["x"] } },
    });
    expect(await findMember(app.ctx.db, closed.teamId, answer.data.id)).toBeUndefined();
    await expect(addProvider(app, { issuer: world.forger.url, rules: [rule] })).rejects.toThrow(
      "没有这个团队",
    );
    for (const wrong of [
      { ...rule, team_id: idOf(0), team_role: "owner" },
      { path: "groups", value: "x" },
      { path: "groups", value: "x", group: "vip", team_id: idOf(0) },
    ])
      await expect(addProvider(app, { issuer: world.forger.url, rules: [wrong] })).rejects.toThrow();
  });
});
