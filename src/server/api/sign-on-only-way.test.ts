// Accounts that one login provider alone opens (requirements I63).
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Role } from "#contract/user.ts";
import { fakeClock } from "#server/clock.ts";
import { updateUserProfile } from "#server/store/users.ts";
import type { Forger } from "#test/emulators/oidc-forger.ts";
import { seedPassword, seedUser } from "#test/seeds/seed.ts";
import { asRoot, databases, type TestApp } from "#test/worlds/app.ts";
import {
  addProvider,
  changeProvider,
  loginThrough,
  type SignOnApp,
  somebody,
  startSignOnApp,
} from "#test/worlds/sign-on-app.ts";
import { visit } from "#test/worlds/visitor.ts";

describe.each(databases)("the only way in on $name", (database) => {
  const clock = fakeClock();
  let world: SignOnApp;
  let app: TestApp;
  let forger: Forger;
  let row: SignOnApp["row"];
  let other: { id: number; slug: string };
  let serial = 0;

  beforeAll(async () => {
    world = await startSignOnApp(database, clock);
    ({ app, forger, row } = world);
    other = await addProvider(app, { issuer: forger.url });
  });
  afterAll(() => world.close());

  const setOnly = (is_only_way: boolean) =>
    changeProvider(app, row, { mail_domains: ["corp.example"], is_only_way });
  const byPassword = (username: string) =>
    visit(app).call("POST", "/api/user/login", { username, password: seedPassword });
  const through = (slug: string, sub: string) => loginThrough(visit(app), slug, { forger, sub });

  /** An account with a password that is bound to both providers, while that opens it. */
  async function bound(email: string, kind: { role?: number } = {}) {
    await setOnly(false);
    serial += 1;
    const username = `only-${serial}`;
    const { id } = await seedUser(app.ctx, username, kind);
    await updateUserProfile(app.ctx.db, id, { email });
    const sub = somebody();
    const who = visit(app);
    await who.call("POST", "/api/user/login", { username, password: seedPassword });
    for (const { slug } of [row, other])
      expect(await loginThrough(who, slug, { forger, sub })).toMatchObject({ message: "bind" });
    return { username, sub };
  }

  test("a bound account of the domain is opened by this provider, and by nothing else", async () => {
    const { username, sub } = await bound("one@corp.example");
    await setOnly(true);
    const refused = { success: false, message: `该账户须通过 ${row.name} 登录` };
    expect(await byPassword(username)).toMatchObject(refused);
    expect(await through(other.slug, sub)).toMatchObject(refused);
    expect(await through(row.slug, sub)).toMatchObject({ success: true });
    const { data } = await app.call(asRoot, "GET", "/api/audit/?size=10");
    const reasons = data.filter(({ action }: { action: string }) => action === "auth.login_failed");
    expect(reasons).toHaveLength(2);
    expect(reasons[0].detail).toContain(row.name);
    await setOnly(false);
    expect(await byPassword(username)).toMatchObject({ success: true });
  });

  test("others keep their ways: unbound ones, other domains, and super administrators", async () => {
    const elsewhere = await bound("two@elsewhere.example");
    const below = await bound("three@sub.corp.example");
    const nobody = await bound("");
    const root = await bound("boss@corp.example", { role: Role.root });
    const { id } = await seedUser(app.ctx, "not-bound");
    await updateUserProfile(app.ctx.db, id, { email: "four@corp.example" });
    await setOnly(true);
    for (const { username } of [elsewhere, below, nobody, root, { username: "not-bound" }])
      expect(await byPassword(username), username).toMatchObject({ success: true });
  });

  test("a provider that is off locks no user out", async () => {
    const { username } = await bound("five@corp.example");
    await setOnly(true);
    expect(await byPassword(username)).toMatchObject({ success: false });
    await changeProvider(app, row, { mail_domains: ["corp.example"], is_only_way: true, is_enabled: false });
    expect(await byPassword(username)).toMatchObject({ success: true });
    await changeProvider(app, row, { mail_domains: ["corp.example"], is_enabled: true });
  });

  test("it needs domains", async () => {
    expect(await changeProvider(app, row, { mail_domains: [], is_only_way: true })).toMatchObject({
      success: false,
      message: "仅允许由此登录时，请至少填写一个邮箱域名",
    });
  });
});
