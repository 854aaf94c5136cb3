// Administrators by what a login provider says (requirements I66): with the operator's consent, a set of permissions and never more.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Role } from "#contract/user.ts";
import { fakeClock } from "#server/clock.ts";
import { findMember } from "#server/store/teams.ts";
import { asRoot, databases, type TestApp } from "#test/worlds/app.ts";
import {
  addProvider,
  changeProvider,
  loginThrough,
  type SignOnApp,
  somebody,
  startSignOnApp,
} from "#test/worlds/sign-on-app.ts";
import { seedTeam } from "#test/worlds/teams.ts";
import { type Visitor, visit } from "#test/worlds/visitor.ts";

describe.each(databases)("administrators by login providers on $name", (database) => {
  let world: SignOnApp;
  let app: TestApp;
  let row: { id: number; slug: string };
  let sets: readonly { id: number; permissions: string[] }[];

  beforeAll(async () => {
    world = await startSignOnApp(database, fakeClock());
    ({ app } = world);
    sets = (await app.call(asRoot, "GET", "/api/staff/set")).data;
    row = await addProvider(app, { issuer: world.forger.url, grants_staff: true, rules: rules() });
  });
  afterAll(() => world.close());

  const setId = (at: number) => sets[at]?.id ?? 0;
  const rules = () => [
    { path: "groups", value: "auditors", staff_set_id: setId(0) },
    { path: "groups", value: "finance", staff_set_id: setId(1) },
    { path: "role", value: "100", staff_set_id: setId(0) },
  ];

  async function enter(claims: object, sub: string, who: Visitor = visit(app)) {
    const lies = { claims: claims as Record<string, unknown> };
    const answer = await loginThrough(who, row.slug, { forger: world.forger, sub, lies });
    expect(answer.success, answer.message).toBe(true);
    return rightsOf(answer.data.id);
  }
  async function rightsOf(id: number) {
    return app.ctx.db
      .selectFrom("users")
      .select(["id", "role", "staff_set_id"])
      .where("id", "=", id)
      .executeTakeFirstOrThrow();
  }
  const change = (fields: object) =>
    changeProvider(app, row, {
      issuer: world.forger.url,
      client_id: "client-1",
      name: "IdP",
      is_enabled: true,
      grants_staff: true,
      rules: rules(),
      ...fields,
    });

  test("makes, moves and unmakes one, and says so in the audit log", async () => {
    const sub = somebody();
    const who = visit(app);
    const { id, ...rights } = await enter({ groups: ["auditors", "finance"] }, sub, who);
    expect(rights).toEqual({ role: Role.admin, staff_set_id: setId(0) });
    const self = (await who.call("GET", "/api/user/self")).data;
    expect(self.role).toBe(Role.admin);
    expect(self.permissions.toSorted()).toEqual(sets[0]?.permissions.toSorted());

    // Says nothing: an absent claim, and one of another form.
    for (const claims of [{}, { groups: { finance: true } }])
      expect(await enter(claims, sub)).toMatchObject({ role: Role.admin, staff_set_id: setId(0) });
    expect((await who.call("GET", "/api/user/self")).success).toBe(true);

    // Sessions end with every change of rights.
    expect(await enter({ groups: ["finance"] }, sub)).toMatchObject({ staff_set_id: setId(1) });
    expect((await who.call("GET", "/api/user/self")).status).toBe(401);
    const late = visit(app);
    await enter({ groups: ["finance"] }, sub, late);
    expect(await enter({ groups: [] }, sub)).toMatchObject({ role: Role.user, staff_set_id: 0 });
    expect((await late.call("GET", "/api/user/self")).status).toBe(401);

    const acts = await app.ctx.db
      .selectFrom("audit")
      .select(["action", "detail"])
      .where("target", "=", String(id))
      .where("action", "in", ["user.promote", "user.staff_set", "user.demote"])
      .orderBy("id")
      .execute();
    expect(acts.map(({ action }) => action)).toEqual(["user.promote", "user.staff_set", "user.demote"]);
    expect(JSON.parse(acts[0]?.detail ?? "")).toMatchObject({ staff_set_id: setId(0), via: row.slug });
  });

  test.each([["100"], [100], [[10, 100]], [["root", "100"]], ["root"]])(
    "no claim makes a super administrator: role %j",
    async (role) => {
      const { role: given } = await enter({ role, is_root: true, permissions: ["*"] }, somebody());
      expect(given).toBeLessThan(Role.root);
    },
  );

  test("what people gave stays: another set, an administrator without one, a super", async () => {
    const sub = somebody();
    const { id } = await enter({ groups: ["auditors"] }, sub);
    for (const by of [
      { role: Role.admin, staff_set_id: setId(2) },
      { role: Role.admin, staff_set_id: 0 },
      { role: Role.root, staff_set_id: 0, external_login: 1 },
    ]) {
      await app.ctx.db.updateTable("users").set(by).where("id", "=", id).execute();
      await app.ctx.coord.publish("users", String(id));
      const { role, staff_set_id } = by;
      expect(await enter({ groups: [] }, sub)).toEqual({ id, role, staff_set_id });
      expect(await enter({ groups: ["finance"] }, sub)).toEqual({ id, role, staff_set_id });
    }
  });

  test("without consent no rule with a set is saved, and those whom rules made are administrators no more", async () => {
    const sub = somebody();
    await enter({ groups: ["auditors"] }, sub);
    const refused = await change({ grants_staff: false });
    expect(refused.success).toBe(false);
    expect(refused.message).toContain("可以授予管理员权限");
    expect((await change({ rules: [{ path: "groups", value: "x", staff_set_id: 9_999 }] })).message).toBe(
      "没有这个权限集：9999",
    );
    expect((await change({ grants_staff: false, rules: [] })).success).toBe(true);
    expect(await enter({ groups: ["auditors"] }, sub)).toMatchObject({ role: Role.user, staff_set_id: 0 });
    expect((await change({})).success).toBe(true);
  });

  test("a set that was deleted since gives nothing", async () => {
    const draft = { name: "暂时", permissions: ["log.read"] };
    const { data: made } = await app.call(asRoot, "POST", "/api/staff/set", draft);
    await change({ rules: [{ path: "groups", value: "x", staff_set_id: made.id }] });
    expect((await app.call(asRoot, "DELETE", `/api/staff/set/${made.id}`)).success).toBe(true);
    expect(await enter({ groups: ["x"] }, somebody())).toMatchObject({ role: Role.user, staff_set_id: 0 });
    await change({});
  });

  test("unbinding takes back all that the provider gave, deleting a rule what the rule gave", async () => {
    const team = await seedTeam(app.ctx.db, app.ctx.ledger, { quota: 0n });
    const seat = { path: "groups", value: "auditors", team_id: team.teamId };
    const vip = { path: "groups", value: "auditors", group: "vip" };
    await change({ rules: [...rules(), seat, vip] });
    const sub = somebody();
    const { id } = await enter({ groups: ["auditors"] }, sub);
    const groupOf = async () => (await app.call(asRoot, "GET", `/api/user/${id}`)).data.group;
    expect(await groupOf()).toBe("vip");
    expect(await findMember(app.ctx.db, team.teamId, id)).toBeDefined();

    await change({});
    await enter({ groups: ["auditors"] }, sub);
    expect(await groupOf()).toBe("default");
    expect(await findMember(app.ctx.db, team.teamId, id)).toBeUndefined();
    expect(await rightsOf(id)).toMatchObject({ role: Role.admin });

    await change({ rules: [...rules(), seat, vip] });
    const who = visit(app);
    await enter({ groups: ["auditors"] }, sub, who);
    // Another way in, so that this one is not the last.
    await app.ctx.db
      .updateTable("users")
      .set({ github_id: `gh-${id}` })
      .where("id", "=", id)
      .execute();
    const [bound] = (await who.call("GET", "/api/oauth/identity")).data;
    const unbound = await who.call("DELETE", `/api/oauth/identity/${bound.id}`);
    expect(unbound.success, unbound.message).toBe(true);
    expect(await rightsOf(id)).toEqual({ id, role: Role.user, staff_set_id: 0 });
    expect(await groupOf()).toBe("default");
    expect(await findMember(app.ctx.db, team.teamId, id)).toBeUndefined();
  });
});
