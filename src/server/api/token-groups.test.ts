// The groups that tokens name, through the management API (requirements K15): chosen in an order among those that are open to who pays,
// refused in words when they are no such choice, kept when they are withdrawn.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type SeededUser, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";
import { seedMember, seedTeam } from "#test/worlds/teams.ts";

const OPEN = '{"vip":"更快","slow":"","unpriced":"没有倍率"}';

describe.each(databases)("groups of tokens on $name", (database) => {
  let app: TestApp;
  let alice: SeededUser;

  beforeAll(async () => {
    app = await createAppOn(database);
    alice = await seedUser(app.ctx, "alice", { group: "own" });
    await app.ctx.options.set("GroupRatio", '{"default":1,"own":2,"vip":0.5,"slow":1,"secret":0.1}');
    await app.ctx.options.set("UserUsableGroups", OPEN);
  });
  afterEach(() => app.ctx.options.set("UserUsableGroups", OPEN));
  afterAll(() => app.close());

  const create = (body: object) => app.call(alice.who, "POST", "/api/token/", { name: "t", ...body });
  const groupsOf = async (id: number) => (await app.call(alice.who, "GET", `/api/token/${id}`)).data.groups;

  test("what can be chosen: one's own group first, then those open to all that have a ratio", async () => {
    const { data } = await app.call(alice.who, "GET", "/api/user/self/groups");
    expect(data).toEqual({
      own: { ratio: 2, desc: "" },
      vip: { ratio: 0.5, desc: "更快" },
      slow: { ratio: 1, desc: "" },
    });
    expect(Object.keys(data)).toEqual(["own", "vip", "slow"]);
  });

  test("the order is kept in every answer, the first stands alone where the family has one", async () => {
    const { data: made } = await create({ groups: ["vip", "own", "slow"] });
    const wanted = { groups: ["vip", "own", "slow"], group: "vip" };
    expect(made).toMatchObject(wanted);
    const list = await app.call(alice.who, "GET", "/api/token/");
    expect(list.data.find(({ id }: { id: number }) => id === made.id)).toMatchObject(wanted);
    const { data: changed } = await app.call(alice.who, "PUT", "/api/token/", {
      id: made.id,
      groups: ["slow", "vip"],
    });
    expect(changed).toMatchObject({ groups: ["slow", "vip"], group: "slow" });
    await app.call(alice.who, "PUT", "/api/token/", { id: made.id, name: "other" });
    expect(await groupsOf(made.id)).toEqual(["slow", "vip"]);
    await app.call(alice.who, "PUT", "/api/token/", { id: made.id, groups: [] });
    expect(await groupsOf(made.id)).toEqual([]);
  });

  test("clients of the family name one group", async () => {
    expect((await create({ group: "vip" })).data.groups).toEqual(["vip"]);
    expect((await create({ group: "" })).data.groups).toEqual([]);
    expect((await create({ group: "vip", groups: ["slow"] })).data.groups).toEqual(["slow"]);
  });

  test.each([
    [{ groups: ["vip,slow"] }, "逗号"],
    [{ group: "vip,slow" }, "逗号"],
    [{ groups: ["vip", "vip"] }, "只能选择一次"],
    [{ groups: ["vip", " vip "] }, "只能选择一次"],
    [{ groups: Array.from({ length: 50 }, (_, at) => `g${at}`) }, "最多选择 8 个"],
    [{ groups: [""] }, "不能为空"],
    [{ groups: ["a\nb"] }, "换行"],
    [{ groups: ["x".repeat(65)] }, "64"],
    [{ groups: "vip" }, ""],
    [{ groups: ["secret"] }, "不能使用分组“secret”"],
    [{ groups: ["vip", "nowhere"] }, "不能使用分组“nowhere”"],
    [{ groups: ["unpriced"] }, "不能使用分组“unpriced”"],
    [{ groups: ["constructor"] }, "不能使用分组“constructor”"],
    [{ groups: ["default"] }, "不能使用分组“default”"],
  ])("%j is refused when a token is made, changed, or made in numbers", async (body, words) => {
    const { data: made } = await create({});
    for (const answer of [
      await create(body),
      await app.call(alice.who, "PUT", "/api/token/", { id: made.id, ...body }),
      await app.call(alice.who, "POST", "/api/token/batch", { name: "t", count: 2, ...body }),
      await app.call(asRoot, "POST", `/api/user/${alice.id}/token/`, { name: "t", ...body }),
    ]) {
      expect(answer.success).toBe(false);
      expect(answer.message).toContain(words);
    }
    expect(await groupsOf(made.id)).toEqual([]);
  });

  test("a withdrawn group stands in no edit's way, but cannot be added again", async () => {
    const { data: made } = await create({ groups: ["vip", "slow"] });
    await app.ctx.options.set("UserUsableGroups", '{"slow":""}');
    const put = (groups: string[]) => app.call(alice.who, "PUT", "/api/token/", { id: made.id, groups });
    expect(await put(["slow", "vip"])).toMatchObject({ success: true });
    expect(await put(["slow"])).toMatchObject({ success: true });
    expect(await put(["slow", "vip"])).toMatchObject({ success: false });
  });

  test("a token of a team has the team's group for its own, not that of its holder", async () => {
    const { db, ledger } = app.ctx;
    const team = await seedTeam(db, ledger, { quota: 0n, group: "secret" });
    await seedMember(db, alice.id, team.walletId);
    const { data } = await app.call(alice.who, "GET", `/api/user/self/groups?team_id=${team.teamId}`);
    expect(Object.keys(data)).toEqual(["secret", "vip", "slow"]);
    expect((await create({ team_id: team.teamId, groups: ["secret", "vip"] })).success).toBe(true);
    expect((await create({ team_id: team.teamId, groups: ["own"] })).success).toBe(false);
  });
});
