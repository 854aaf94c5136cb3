// Service accounts: no more than their maker may now, from where and until when they are for, and named in the audit log (requirements Z18).
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Endpoint } from "#contract/endpoint.ts";
import { api } from "#contract/index.ts";
import { SERVICE_GRANTABLE } from "#contract/permission.ts";
import { Role } from "#contract/user.ts";
import { fakeClock } from "#server/clock.ts";
import { assignStaffSet, insertStaffSet } from "#server/store/staff.ts";
import { updateUserProfile } from "#server/store/users.ts";
import type { SeededUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp, type Who } from "#test/worlds/app.ts";
import { newcomer, signedIn, withPhone } from "#test/worlds/people.ts";

const PATH = "/api/service_account/";
const REFUSED = "权限不够，无法执行该操作";
const endpoints: readonly Endpoint[] = Object.values(api).flatMap((resource) =>
  Object.values<Endpoint>(resource),
);

describe.each(databases)("service accounts on $name", (database) => {
  const clock = fakeClock();
  let app: TestApp;
  let serial = 0;

  beforeAll(async () => {
    app = await createAppOn(database, { clock, env: { TRUSTED_PROXIES: "127.0.0.1" } });
  });
  afterAll(() => app.close());

  async function machineOf(who: Who, draft: object = {}): Promise<{ id: number; name: string; who: Who }> {
    serial += 1;
    const name = `robot-${serial}`;
    const body = { name, permissions: ["user.read", "log.read"], ...draft };
    const { data, message } = await app.call(who, "POST", PATH, body);
    expect(message).toBe("");
    return { id: data.id, name, who: { authorization: `Bearer ${data.token}` } };
  }

  async function change(user: SeededUser, row: Parameters<typeof updateUserProfile>[2]): Promise<void> {
    await updateUserProfile(app.ctx.db, user.id, row);
    await app.ctx.coord.publish("users", String(user.id));
  }

  test("it does what its list holds and nothing else, neither of staff nor of its maker's own", async () => {
    const held = new Set<string>(["user.read", "log.read"]);
    const { who } = await machineOf(asRoot);
    const closed = endpoints.filter(
      ({ level, permission }) => level !== "public" && !held.has(permission ?? ""),
    );
    expect(closed.length).toBeGreaterThan(150);
    // No walk of one address over all calls may meet its limit.
    const from = (index: number) => ({ ...who, "x-forwarded-for": `10.0.${index % 200}.1` });
    for (const [index, endpoint] of closed.entries()) {
      const path = endpoint.path.replaceAll(/:\w+/g, "987654321");
      const answer = await app.call(from(index), endpoint.method, path, endpoint.body ? {} : undefined);
      expect(answer, `${endpoint.method} ${path}`).toMatchObject({ success: false, message: REFUSED });
    }
    expect(await app.call(who, "GET", "/api/user/")).toMatchObject({ success: true });
    expect(await app.call(who, "GET", "/api/log/")).toMatchObject({ success: true });
  });

  test("its maker is demoted, bound by a set, disabled or deleted: so is it, within the second", async () => {
    const maker = await newcomer(app, Role.admin);
    const { who } = await machineOf(maker.who, { permissions: ["user.read", "channel.read"] });
    const reads = async () => ({
      user: (await app.call(who, "GET", "/api/user/")).message,
      channel: (await app.call(who, "GET", "/api/channel/")).message,
    });
    expect(await reads()).toEqual({ user: "", channel: "" });
    const set = await insertStaffSet(app.ctx.db, { name: "narrow", permissions: "channel.read,log.read" }, 1);
    await assignStaffSet(app.ctx.db, maker.id, set);
    await app.ctx.coord.publish("users", String(maker.id));
    expect(await reads()).toEqual({ user: REFUSED, channel: "" });
    await change(maker, { role: Role.user });
    expect(await reads()).toEqual({ user: REFUSED, channel: REFUSED });
    await change(maker, { role: Role.admin, staff_set_id: 0 });
    expect(await reads()).toEqual({ user: "", channel: "" });
    await change(maker, { status: 2 });
    expect((await reads()).user).toBe("该账户已停用，请联系管理员");
    await change(maker, { status: 3 });
    expect((await reads()).user).toBe("访问凭证无效");
  });

  test("a super administrator's is no super administrator, and none makes or ends another", async () => {
    const { id, who } = await machineOf(asRoot, { permissions: [...SERVICE_GRANTABLE] });
    const admin = await newcomer(app, Role.admin);
    const body = { id: admin.id, display_name: "taken" };
    expect((await app.call(who, "PUT", "/api/user/", body)).success).toBe(false);
    expect((await app.call(who, "GET", "/api/staff/set")).message).toBe(REFUSED);
    expect((await app.call(who, "POST", PATH, { name: "x", permissions: ["user.read"] })).message).toBe(
      REFUSED,
    );
    expect((await app.call(who, "DELETE", `${PATH}${id}`)).message).toBe(REFUSED);
    for (const permission of ["service.write", "user.role.write", "channel.reveal", "*", ""]) {
      const refused = await app.call(asRoot, "POST", PATH, { name: "x", permissions: [permission] });
      expect(refused.message, permission).toBe("没有这个权限，或服务账户不能持有它");
    }
    const metrics = await app.request("/metrics", { headers: { ...who, "x-forwarded-for": "9.9.9.9" } });
    expect(metrics.status).toBe(403);
  });

  test("a maker gives of what he has", async () => {
    const maker = await newcomer(app, Role.admin);
    const set = await insertStaffSet(
      app.ctx.db,
      { name: "giver", permissions: "service.read,service.write,log.read" },
      1,
    );
    await assignStaffSet(app.ctx.db, maker.id, set);
    await app.ctx.coord.publish("users", String(maker.id));
    const beyond = { name: "wide", permissions: ["log.read", "user.read"] };
    expect((await app.call(maker.who, "POST", PATH, beyond)).message).toBe("服务账户的权限不能超过您自己的");
    const { id } = await machineOf(maker.who, { permissions: ["log.read"] });
    const other = await newcomer(app, Role.admin);
    expect((await app.call(other.who, "DELETE", `${PATH}${id}`)).message).toBe("找不到该服务账户");
    const ids = async (who: Who) =>
      (await app.call(who, "GET", PATH)).data.map((row: { id: number }) => row.id);
    expect(await ids(maker.who)).toEqual([id]);
    expect(await ids(other.who)).toEqual([]);
    expect(await ids(asRoot)).toContain(id);
  });

  test("it is shown once, and works in the header only", async () => {
    const { data } = await app.call(asRoot, "POST", PATH, { name: "once", permissions: ["user.read"] });
    expect(data.token).toMatch(/^tgs_[0-9a-f]{48}$/);
    const { data: listed } = await app.call(asRoot, "GET", PATH);
    expect(JSON.stringify(listed)).not.toContain(data.token);
    const stored = await app.ctx.db.selectFrom("service_accounts").selectAll().execute();
    expect(JSON.stringify(stored)).not.toContain(data.token);
    for (const name of ["access_token", "token", "key", "authorization"])
      expect((await app.call({}, "GET", `/api/user/?${name}=${data.token}`)).message, name).toBe(
        "请先登录后再操作",
      );
  });

  test("it works from its networks, until its day or until it is ended, and notes its use", async () => {
    const { id, who } = await machineOf(asRoot, { subnet: "203.0.113.0/24, 2001:db8::/32", days: 1 });
    const from = (address: string) => app.call({ ...who, "x-forwarded-for": address }, "GET", "/api/user/");
    for (const address of ["203.0.113.9", "2001:db8::7"]) expect((await from(address)).success).toBe(true);
    expect(await from("203.0.114.9")).toMatchObject({
      status: 403,
      message: "该服务账户不允许从当前网络地址使用",
    });
    const rowOf = async () =>
      (await app.call(asRoot, "GET", PATH)).data.find((row: { id: number }) => row.id === id);
    expect(await rowOf()).toMatchObject({ last_used_at: clock.seconds(), last_address: "203.0.113.9" });
    clock.advance(86_400_000 - 1);
    expect((await from("203.0.113.9")).success).toBe(true);
    clock.advance(1_001);
    expect((await from("203.0.113.9")).message).toBe("访问凭证无效");
    const ended = await machineOf(asRoot);
    expect((await app.call(asRoot, "DELETE", `${PATH}${ended.id}`)).success).toBe(true);
    expect((await app.call(ended.who, "GET", "/api/user/")).message).toBe("访问凭证无效");
    expect((await app.call(asRoot, "DELETE", `${PATH}${ended.id}`)).success).toBe(false);
    for (const bad of [
      { days: 0 },
      { days: 366 },
      { subnet: "10.0.0.0/33" },
      { name: "a/b" },
      { permissions: [] },
    ])
      expect(
        (await app.call(asRoot, "POST", PATH, { name: "bad", permissions: ["user.read"], ...bad })).success,
        JSON.stringify(bad),
      ).toBe(false);
  });

  test("making one asks for a proof, using one does not; the audit log names it behind its maker", async () => {
    const { user, home } = await withPhone(app, Role.root);
    clock.advance(400_000);
    const draft = { name: "nightly", permissions: ["redemption.read", "redemption.write"] };
    expect(await home.call("POST", PATH, draft)).toMatchObject({ status: 403, code: "VERIFICATION_EXPIRED" });
    const { call } = await signedIn(app, user.id);
    const { data } = await call("POST", PATH, draft);
    const who = { authorization: data.token };
    const code = { name: "by machine", quota: 5, count: 1 };
    expect(await app.call(who, "POST", "/api/redemption/", code)).toMatchObject({ success: true });
    const acts = await app.call(asRoot, "GET", `/api/audit/?username=${user.username}&action=redemption`);
    expect(acts.data).toMatchObject([
      { actor_id: user.id, actor_name: `${user.username}/nightly`, action: "redemption.create" },
    ]);
    const made = await app.call(asRoot, "GET", "/api/audit/?action=service.create");
    expect(JSON.stringify(made.data)).not.toContain(data.token);
    expect(made.data[0]).toMatchObject({ actor_name: user.username, target: String(data.id) });
  });

  test("at most fifty of one maker can be used at a time", async () => {
    const maker = await newcomer(app, Role.admin);
    for (let made = 0; made < 50; made += 1) await machineOf(maker.who);
    const more = { name: "more", permissions: ["user.read"] };
    expect((await app.call(maker.who, "POST", PATH, more)).message).toBe("最多 50 个可用的服务账户");
  });
});
