// The operator asks for second factors: days of grace, then nothing but adding one, and no dead end (requirements I31).
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Endpoint } from "#contract/endpoint.ts";
import { api } from "#contract/index.ts";
import { Role } from "#contract/user.ts";
import { fakeClock } from "#server/clock.ts";
import { updateUserProfile } from "#server/store/users.ts";
import { asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";
import { enrolTotp } from "#test/worlds/authenticator.ts";
import { newcomer, signedIn } from "#test/worlds/people.ts";

const DAY_MS = 86_400_000;
const closed: readonly Endpoint[] = Object.values(api)
  .flatMap((resource) => Object.values<Endpoint>(resource))
  .filter(({ level, enrols }) => level !== "public" && !enrols);
const REFUSED = { status: 403, code: "MFA_ENROLMENT_REQUIRED" };

describe.each(databases)("second factors that are asked for on $name", (database) => {
  const clock = fakeClock();
  let app: TestApp;

  beforeAll(async () => {
    app = await createAppOn(database, { clock, env: { TRUSTED_PROXIES: "127.0.0.1" } });
  });
  afterAll(() => app.close());

  test("a new installation asks its administrators, after two weeks, and the default journey goes on till then", async () => {
    const root = await app.login("root", "123456");
    expect((await app.call(asRoot, "GET", "/api/user/")).success).toBe(true);
    const state = await app.call(root, "GET", "/api/user/factor");
    expect(state.data).toMatchObject({ is_required: true, due_at: clock.seconds() + 14 * 86_400 });
    clock.advance(14 * DAY_MS - 1_000);
    expect((await app.call(asRoot, "GET", "/api/user/")).success).toBe(true);
    const user = await newcomer(app);
    clock.advance(2_000);
    expect(await app.call(asRoot, "GET", "/api/user/")).toMatchObject(REFUSED);
    expect((await app.call(user.who, "GET", "/api/user/self")).success).toBe(true);
  });

  test("then every call is refused but those that add a factor, and adding one opens all", async () => {
    await app.ctx.options.set("MfaGraceDays", "0");
    const admin = await newcomer(app, Role.admin);
    const browser = await signedIn(app, admin.id);
    for (const endpoint of closed) {
      const path = endpoint.path.replace(":id", "987654321");
      const answer = await browser.call(endpoint.method, path, endpoint.body ? {} : undefined);
      // A role that is too low is said first.
      if (endpoint.level === "root") continue;
      expect(answer, `${endpoint.method} ${path}`).toMatchObject(REFUSED);
    }
    expect(await app.call(admin.who, "GET", "/api/user/available_models")).toMatchObject(REFUSED);
    expect((await browser.call("GET", "/api/user/factor")).success).toBe(true);
    await enrolTotp(app, browser);
    expect((await browser.call("GET", "/api/user/self")).data.id).toBe(admin.id);
    expect((await app.call(admin.who, "GET", "/api/user/self")).success).toBe(true);
    // The last factor stays while the operator asks for one.
    clock.advance(60_000);
    const removal = await browser.call("DELETE", "/api/user/factor/totp");
    expect(removal).toMatchObject({ success: false, message: "管理员要求保留至少一个验证方式" });
  });

  test("a user who becomes staff has the days of grace from then on, users none of this until all are asked", async () => {
    await app.ctx.options.set("MfaGraceDays", "3");
    const user = await newcomer(app);
    clock.advance(10 * DAY_MS);
    expect((await app.call(user.who, "GET", "/api/token/")).success).toBe(true);
    await updateUserProfile(app.ctx.db, user.id, { role: Role.admin });
    await app.ctx.coord.publish("users", String(user.id));
    expect((await app.call(user.who, "GET", "/api/token/")).success).toBe(true);
    clock.advance(3 * DAY_MS + 1_000);
    expect(await app.call(user.who, "GET", "/api/token/")).toMatchObject(REFUSED);
    const other = await newcomer(app);
    await app.ctx.options.set("MfaRequiredFor", "all");
    expect((await app.call(other.who, "GET", "/api/token/")).success).toBe(true);
    clock.advance(3 * DAY_MS + 1_000);
    expect(await app.call(other.who, "GET", "/api/token/")).toMatchObject(REFUSED);
    await app.ctx.options.set("MfaRequiredFor", "none");
    expect((await app.call(other.who, "GET", "/api/token/")).success).toBe(true);
    await app.ctx.options.set("MfaRequiredFor", "staff");
  });
});
