// Permission sets, cell by cell (requirements Z15, Z16, Z17): every call of administrators × every set is what the file beside says and what the
// server does; an auditor changes nothing; fields, pins and metrics have their own rules; no administrator widens his own rights.
import pino from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Endpoint } from "#contract/endpoint.ts";
import { api } from "#contract/index.ts";
import { BUILT_IN_SETS, GRANTABLE, PERMISSION_NAMES, SUPER_ONLY } from "#contract/permission.ts";
import { mayCall, type Rights } from "#server/accounts/may.ts";
import { createApi } from "#server/api/mount.ts";
import { assignStaffSet, listStaffSets } from "#server/store/staff.ts";
import { guide } from "#test/seeds/fuzz-recipes.ts";
import { routeOf } from "#test/seeds/role-table.ts";
import { type SeededUser, seedPassword, seedToken, seedUser } from "#test/seeds/seed.ts";
import { type Answer, asRoot, databases, type Who } from "#test/worlds/app.ts";
import { createFuzzWorld, dumpTables, type FuzzWorld, newPeople } from "#test/worlds/fuzz-world.ts";

const endpoints: readonly Endpoint[] = Object.values(api).flatMap((resource) =>
  Object.values<Endpoint>(resource),
);
const ofStaff = endpoints.filter(({ level }) => level === "admin" || level === "root");

const REFUSED = "权限不够，无法执行该操作";
const isRefused = ({ message }: Answer) => message === REFUSED;

/** Who is asked for each call, as the file's columns: the four sets, an administrator without one, a super administrator. */
const actors: readonly (readonly [string, Rights])[] = [
  ...BUILT_IN_SETS.map(
    ({ name, permissions }) => [name, { role: 10, permissions: new Set(permissions) }] as const,
  ),
  ["不限", { role: 10 }],
  ["超级管理员", { role: 100 }],
];

function matrix(
  answer: (route: string, actor: string, rights: Rights, endpoint: Endpoint) => boolean,
): string {
  const rows = ofStaff.map((endpoint) => {
    const cells = actors.map(([name, rights]) =>
      answer(routeOf(endpoint), name, rights, endpoint) ? "是" : "—",
    );
    return `| ${routeOf(endpoint)} | ${endpoint.permission} | ${cells.join(" | ")} |`;
  });
  const head = ["调用", "权限", ...actors.map(([name]) => name)];
  return `| ${head.join(" | ")} |\n|${head.map(() => "---|").join("")}\n${rows.sort().join("\n")}\n`;
}

test("the rights of every set are those of the file", async () => {
  await expect(matrix((_route, _name, rights, endpoint) => mayCall(rights, endpoint))).toMatchFileSnapshot(
    "fixtures/staff-matrix.md",
  );
});

test("a call of administrators that names no permission, or none that there is, stops the start", () => {
  for (const permission of [undefined, "channel.everything"]) {
    const probe = { ...api.audit.list, permission } as unknown as Endpoint; // what the types would not let through
    expect(() => createApi({} as never, { audit: { list: probe } })).toThrow("which permission");
  }
});

test("sets hold what may be granted only, and only what there is", () => {
  const granted = BUILT_IN_SETS.flatMap(({ permissions }) => permissions);
  expect(granted.filter((name) => !GRANTABLE.includes(name))).toEqual([]);
  expect([...GRANTABLE, ...SUPER_ONLY].sort()).toEqual([...PERMISSION_NAMES].sort());
  const used = new Set<string>(
    endpoints.flatMap(({ permission, needs = {}, needsToChange = {}, masks = {} }) => [
      permission ?? "",
      ...Object.values(masks),
      ...Object.values(needsToChange),
      ...Object.values(needs).flatMap((need) => (typeof need === "string" ? [need] : Object.values(need))),
    ]),
  );
  // Asked for in the code of a room, not by an endpoint.
  for (const name of ["user.session.end", "redemption.reveal"]) used.add(name);
  expect(PERMISSION_NAMES.filter((name) => !used.has(name))).toEqual([]);
});

describe.each(databases)("permission sets on $name", (database) => {
  let world: FuzzWorld;
  const staff = new Map<string, SeededUser>();

  const call = (who: Who, method: string, path: string, body?: unknown): Promise<Answer> =>
    world.app.call(who, method, path, body);
  const whoOf = (name: string): Who => staff.get(name)?.who ?? asRoot;
  const setId = async (name: string) =>
    (await listStaffSets(world.app.ctx.db)).find((set) => set.name === name)?.id ?? 0;

  beforeAll(async () => {
    world = await createFuzzWorld(database, pino({ level: "silent" }));
    for (const [index, [name]] of actors.entries()) {
      if (name === "超级管理员") continue;
      const user = await seedUser(world.app.ctx, `staff${index}`, { role: 10 });
      await assignStaffSet(world.app.ctx.db, user.id, await setId(name));
      staff.set(name, user);
    }
  });
  afterAll(() => world.close());

  test("the sets that come with the database are those of the program", async () => {
    const { data } = await call(asRoot, "GET", "/api/staff/set");
    expect(
      data.map(({ name, permissions, is_built_in }: Record<string, unknown>) => [
        name,
        permissions,
        is_built_in,
      ]),
    ).toEqual(BUILT_IN_SETS.map(({ name, permissions }) => [name, permissions, true]));
  });

  test("the server answers every cell as the file says", async () => {
    const seen = new Map<string, boolean>();
    for (const endpoint of ofStaff)
      for (const [name] of actors) {
        const path = endpoint.path.replace(/:\w+/g, "987654321");
        const answer = await call(whoOf(name), endpoint.method, path, endpoint.body ? {} : undefined);
        seen.set(`${routeOf(endpoint)} ${name}`, !isRefused(answer));
      }
    const real = matrix((route, name) => seen.get(`${route} ${name}`) === true);
    expect(real).toBe(matrix((_route, _name, rights, endpoint) => mayCall(rights, endpoint)));
  }, 120_000);

  test("an auditor who makes every call that is allowed changes nothing", async () => {
    const people = await newPeople(world, 1);
    const auditor = whoOf("审计员");
    const allowed = ofStaff.filter((endpoint) => mayCall(actors[0]?.[1] ?? { role: 0 }, endpoint));
    const calls: { method: string; path: string; body: unknown }[] = [];
    for (const endpoint of allowed) {
      const route = `${endpoint.method} ${endpoint.path}`;
      const { path, body } = await guide(world, people, { endpoint, route });
      calls.push({ method: endpoint.method, path, body });
    }
    const before = await dumpTables(world, ["audit", "audit_head", "team_audit"]);
    for (const { method, path, body } of calls)
      expect(await call(auditor, method, path, body), path).toMatchObject({ success: true });
    expect(await dumpTables(world, ["audit", "audit_head", "team_audit"])).toEqual(before);
    expect(calls.length).toBeGreaterThan(20);
  });

  test("a field takes the permission that the contract names, whatever the call itself takes", async () => {
    const { ctx } = world.app;
    const editor = await made(["user.read", "user.write", "user.create"]);
    const { id, username } = await seedUser(ctx, "edited");
    for (const [field, value] of [
      ["quota", 5],
      ["invite_commission_balance", "1"],
      ["group", "vip"],
      ["status", 2],
      ["role", 10],
    ] as const) {
      const answer = await call(editor, "PUT", "/api/user/", { id, [field]: value, display_name: "改" });
      expect(answer, field).toMatchObject({ success: false, message: "权限不够，无法修改这一项" });
    }
    expect((await call(asRoot, "GET", `/api/user/${id}`)).data).toMatchObject({
      display_name: username,
      group: "default",
    });
    expect((await call(editor, "PUT", "/api/user/", { id, display_name: "改" })).success).toBe(true);
    const disabler = await made(["user.read", "user.disable"]);
    for (const action of ["delete", "promote", "demote"])
      expect((await call(disabler, "POST", "/api/user/manage", { username, action })).success).toBe(false);
    expect(
      (await call(disabler, "POST", "/api/user/manage", { username, action: "disable" })).data.status,
    ).toBe(2);
    const denied = await call(asRoot, "GET", "/api/audit/?action=auth.denied&size=100");
    expect(denied.data.some(({ detail }: { detail: string }) => detail === '{"about":"quota"}')).toBe(true);
  });

  test("codes and addresses are for those who may see them", async () => {
    await call(asRoot, "POST", "/api/redemption/", { name: "masked", quota: 5, count: 1 });
    const reader = await made(["redemption.read", "audit.read"]);
    const both = await made(["redemption.read", "redemption.reveal", "audit.read", "log.address.read"]);
    const code = async (who: Who) =>
      (await call(who, "GET", "/api/redemption/search?keyword=masked")).data[0].key;
    const address = async (who: Who) =>
      (await call(who, "GET", "/api/audit/?action=redemption&size=1")).data[0].address;
    expect([await code(reader), await address(reader)]).toEqual(["", ""]);
    expect(await code(both)).toMatch(/^\w{32}$/);
    expect(await address(both)).not.toBe("");
    expect(await code(whoOf("审计员"))).toBe("");
  });

  test("who has a set pins no channel and reads no metrics; who has none does as before", async () => {
    const { ctx } = world.app;
    const url = await world.app.listen();
    const pinned = async (name: string) => {
      const { key } = await seedToken(ctx, staff.get(name)?.id ?? 0);
      const response = await fetch(`${url}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer sk-${key}-987654`, "content-type": "application/json" },
        body: JSON.stringify({ model: "some-model", messages: [{ role: "user", content: "hi" }] }),
      });
      return response.text();
    };
    const metrics = async (name: string) => {
      const response = await fetch(`${url}/metrics`, { headers: whoOf(name) });
      await response.text();
      return response.status;
    };
    const refusal = "普通用户不支持指定渠道";
    for (const { name } of BUILT_IN_SETS) {
      expect(await pinned(name)).toContain(refusal);
      expect(await metrics(name)).toBe(403);
    }
    expect(await pinned("不限")).not.toContain(refusal);
    expect(await metrics("不限")).toBe(200);
  });

  test("only a super administrator makes and gives sets; nothing grows by itself", async () => {
    const draft = { name: "自建", permissions: ["user.read"] };
    for (const [name] of actors.slice(0, -1)) {
      expect(isRefused(await call(whoOf(name), "POST", "/api/staff/set", draft)), name).toBe(true);
      const own = staff.get(name)?.id ?? 0;
      expect(isRefused(await call(whoOf(name), "PUT", `/api/staff/user/${own}`, { staff_set_id: 0 }))).toBe(
        true,
      );
    }
    for (const permissions of [[], ["everything"], ["user.role.write"], ["channel.reveal"], "user.read", [1]])
      expect((await call(asRoot, "POST", "/api/staff/set", { name: "x", permissions })).success).toBe(false);
    const { data } = await call(asRoot, "POST", "/api/staff/set", draft);
    expect(data).toMatchObject({ ...draft, is_built_in: false, members: 0 });
    expect((await call(asRoot, "POST", "/api/staff/set", draft)).message).toBe("已有同名的权限集");
    const builtIn = await setId("财务");
    expect((await call(asRoot, "PUT", `/api/staff/set/${builtIn}`, draft)).success).toBe(false);
    expect((await call(asRoot, "DELETE", `/api/staff/set/${builtIn}`)).success).toBe(false);
    const { id: plain } = await seedUser(world.app.ctx, "plain");
    for (const [id, staff_set_id] of [
      [plain, data.id],
      [1, data.id],
      [staff.get("财务")?.id, 987_654],
    ])
      expect((await call(asRoot, "PUT", `/api/staff/user/${id}`, { staff_set_id })).success).toBe(false);
  });

  test("a set that is given, changed or taken holds at once, ends the sessions, and is told to the console", async () => {
    const { ctx, login } = world.app;
    const user = await seedUser(ctx, "moved", { role: 10 });
    const before = await login("moved", seedPassword);
    expect((await call(before, "GET", "/api/user/self")).data).toMatchObject({
      staff_set: "",
      staff_set_id: 0,
      role: 10,
    });
    const { data: set } = await call(asRoot, "POST", "/api/staff/set", {
      name: "看渠道",
      permissions: ["channel.read"],
    });
    expect((await call(asRoot, "PUT", `/api/staff/user/${user.id}`, { staff_set_id: set.id })).success).toBe(
      true,
    );
    expect((await call(before, "GET", "/api/user/self")).status).toBe(401);
    const who = await login("moved", seedPassword);
    const rights = { staff_set: "看渠道", permissions: ["channel.read"], role: 10 };
    expect((await call(who, "GET", "/api/user/self")).data).toMatchObject(rights);
    expect((await call(who, "GET", "/api/channel/")).success).toBe(true);
    expect(isRefused(await call(who, "GET", "/api/user/"))).toBe(true);
    await call(asRoot, "PUT", `/api/staff/set/${set.id}`, { name: "看用户", permissions: ["user.read"] });
    expect(isRefused(await call(who, "GET", "/api/channel/"))).toBe(true);
    expect((await call(who, "GET", "/api/user/")).success).toBe(true);
    expect((await call(asRoot, "DELETE", `/api/staff/set/${set.id}`)).success).toBe(false);
    const { data: acts } = await call(asRoot, "GET", `/api/audit/?action=user.staff_set&target=${user.id}`);
    expect(JSON.parse(acts[0].detail)).toMatchObject({ staff_set_id: set.id, before: { staff_set_id: 0 } });
    for (const action of ["demote", "promote"])
      await call(asRoot, "POST", "/api/user/manage", { username: "moved", action });
    const again = await login("moved", seedPassword);
    expect((await call(again, "GET", "/api/user/self")).data.staff_set).toBe("");
    expect((await call(asRoot, "DELETE", `/api/staff/set/${set.id}`)).success).toBe(true);
  });

  test("the audit log names every right that a change gives or takes, however many a set has", async () => {
    const all = [...GRANTABLE];
    const [first, last] = [all.at(0), all.at(-1)];
    const some = all.slice(2, -2);
    expect(some.length).toBeGreaterThan(20);
    const { data: set } = await call(asRoot, "POST", "/api/staff/set", { name: "many", permissions: some });
    const change = { name: "more", permissions: [first, ...some.slice(0, -1), last] };
    await call(asRoot, "PUT", `/api/staff/set/${set.id}`, change);
    await call(asRoot, "DELETE", `/api/staff/set/${set.id}`);
    const { data } = await call(asRoot, "GET", `/api/audit/?action=staff&target=${set.id}`);
    const acts: { action: string; detail: string }[] = data;
    const [gone, changed, made] = acts.map(({ detail }) => JSON.parse(detail));
    expect(made.permissions.toSorted()).toEqual(some.toSorted());
    expect(changed).toEqual({
      ...{ name: "more", added: [first, last], removed: some.slice(-1) },
      before: { name: "many" },
    });
    expect(gone.permissions.toSorted()).toEqual([...change.permissions].sort());
  });

  let serial = 0;
  /** An administrator with a set of his own. */
  async function made(permissions: readonly string[]): Promise<Who> {
    serial += 1;
    const { data } = await call(asRoot, "POST", "/api/staff/set", { name: `own ${serial}`, permissions });
    const user = await seedUser(world.app.ctx, `own${serial}`, { role: 10 });
    await assignStaffSet(world.app.ctx.db, user.id, data.id);
    return user.who;
  }
});
