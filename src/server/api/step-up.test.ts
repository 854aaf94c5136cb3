// The owner is asked again: every endpoint that says so, in this session, for five minutes (requirements I29, I32).
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Endpoint } from "#contract/endpoint.ts";
import { api } from "#contract/index.ts";
import { Role } from "#contract/user.ts";
import { fakeClock } from "#server/clock.ts";
import { createAppOn, databases, type TestApp } from "#test/worlds/app.ts";
import { halfwayIn, newcomer, signedIn, withPhone } from "#test/worlds/people.ts";
import type { Visitor } from "#test/worlds/visitor.ts";

const endpoints: readonly Endpoint[] = Object.values(api).flatMap((resource) =>
  Object.values<Endpoint>(resource),
);
const asking = endpoints.filter(({ stepUp }) => stepUp !== undefined);
const routeOf = ({ method, path }: Endpoint) => `${method} ${path}`;
/** Whatever the handler thinks of it: an empty body, a row that is not there. */
const probe = (browser: Visitor, endpoint: Endpoint, headers: Record<string, string> = {}) =>
  browser.call(
    endpoint.method,
    endpoint.path.replace(":id", "987654321") +
      (endpoint === api.account.removeSelf ? "?username=nobody" : ""),
    endpoint.body ? {} : undefined,
    headers,
  );

describe.each(databases)("asking again on $name", (database) => {
  const clock = fakeClock();
  let app: TestApp;
  let root: Awaited<ReturnType<typeof withPhone>>;

  beforeAll(async () => {
    app = await createAppOn(database, { clock, env: { TRUSTED_PROXIES: "127.0.0.1" } });
    root = await withPhone(app, Role.root);
  });
  afterAll(() => app.close());

  test("what is asked for is what leads to secrets, money, staff and ways in", () => {
    expect(asking.map(routeOf).sort()).toMatchInlineSnapshot(`
      [
        "DELETE /api/alert/target/:id",
        "DELETE /api/login_provider/:id",
        "DELETE /api/mail_domain/:id",
        "DELETE /api/oauth/identity/:id",
        "DELETE /api/staff/set/:id",
        "DELETE /api/team/:id",
        "DELETE /api/user/:id",
        "DELETE /api/user/factor/passkey/:id",
        "DELETE /api/user/factor/totp",
        "DELETE /api/user/self",
        "GET /api/oauth/:slug",
        "GET /api/oauth/email/bind",
        "GET /api/oauth/github",
        "GET /api/oauth/wechat/bind",
        "GET /api/redemption/",
        "GET /api/redemption/:id",
        "GET /api/redemption/search",
        "GET /api/user/token",
        "POST /api/alert/target",
        "POST /api/channel/",
        "POST /api/channel/:id/keys",
        "POST /api/channel/:id/keys/delete",
        "POST /api/channel/:id/keys/export",
        "POST /api/channel/:id/upstream_models/apply",
        "POST /api/channel/copy/:id",
        "POST /api/group/rename",
        "POST /api/invitation/",
        "POST /api/login_provider",
        "POST /api/login_provider/:id/test",
        "POST /api/mail_domain",
        "POST /api/payment/event/:id/credit",
        "POST /api/payment/event/:id/judge",
        "POST /api/payment/instance",
        "POST /api/payment/manage/:no/decide",
        "POST /api/payment/manage/:no/manual",
        "POST /api/payment/manage/:no/refund",
        "POST /api/payment/manage/:no/refund/settle",
        "POST /api/payout/",
        "POST /api/payout_queue/:id/pay",
        "POST /api/payout_queue/export",
        "POST /api/plan/",
        "POST /api/price/draft/:id/approve",
        "POST /api/price/draft/:id/publish",
        "POST /api/price/version/:id/undo",
        "POST /api/redemption/",
        "POST /api/service_account/",
        "POST /api/staff/set",
        "POST /api/team/:id/offer",
        "POST /api/team/:id/take_over",
        "POST /api/team/:id/withdraw",
        "POST /api/token/forget",
        "POST /api/topup",
        "POST /api/user/",
        "POST /api/user/:id/token/",
        "POST /api/user/:id/view",
        "POST /api/user/factor/passkey",
        "POST /api/user/factor/passkey/begin",
        "POST /api/user/factor/recovery",
        "POST /api/user/factor/reset",
        "POST /api/user/factor/reset/cancel",
        "POST /api/user/factor/totp",
        "POST /api/user/factor/totp/begin",
        "POST /api/user/manage",
        "POST /api/user/withdrawal",
        "PUT /api/alert/target/:id",
        "PUT /api/channel/",
        "PUT /api/channel/:id/keys",
        "PUT /api/login_provider/:id",
        "PUT /api/mail_domain/:id",
        "PUT /api/option/",
        "PUT /api/payment/instance/:id",
        "PUT /api/plan/:id",
        "PUT /api/price/model",
        "PUT /api/redemption/",
        "PUT /api/staff/set/:id",
        "PUT /api/staff/user/:id",
        "PUT /api/user/",
      ]
    `);
  });

  test("each of them refuses a session without a proof, with an old one, and an access token", async () => {
    const { user, home, phone } = root;
    clock.advance(60_000);
    const plain = await signedIn(app, user.id, {});
    const future = await signedIn(app, user.id, { stepup_at: clock.seconds() + 3_600 });
    const old = await signedIn(app, user.id, { stepup_at: clock.seconds() - 301 });
    await home.call("POST", "/api/verify", { code: phone.code() });
    for (const endpoint of asking) {
      const route = routeOf(endpoint);
      expect(await probe(plain, endpoint), route).toMatchObject({
        status: 403,
        code: "VERIFICATION_REQUIRED",
      });
      expect(await probe(old, endpoint), route).toMatchObject({ status: 403, code: "VERIFICATION_EXPIRED" });
      expect(await probe(future, endpoint), route).toMatchObject({
        status: 403,
        code: "VERIFICATION_EXPIRED",
      });
      if (endpoint.level === "public") continue;
      const byToken = await app.call(
        user.who,
        endpoint.method,
        endpoint.path.replace(":id", "987654321"),
        endpoint.body ? {} : undefined,
      );
      expect(byToken, route).toMatchObject({ status: 403, code: "VERIFICATION_REQUIRED" });
    }
  });

  test("each of them lets pass a user who proved it in this session within five minutes", async () => {
    const { user } = root;
    // What the calls do to the account is of no matter here, but what ends its session is left out.
    const ending = [api.factor.removeTotp, api.account.accessToken];
    for (const endpoint of asking.filter((each) => !ending.some((other) => other === each))) {
      const browser = await signedIn(app, user.id, { stepup_at: clock.seconds() - 299 });
      const answer = await probe(browser, endpoint);
      expect(answer["code"], routeOf(endpoint)).toBeUndefined();
    }
  });

  test("a proof is of one session only, and wrong ones are counted", async () => {
    const { user, home, phone } = await withPhone(app);
    clock.advance(60_000);
    const other = await signedIn(app, user.id, {});
    expect((await home.call("POST", "/api/verify", { code: phone.code() })).success).toBe(true);
    expect((await other.call("GET", "/api/user/token")).status).toBe(403);
    // The password is none where there is a factor, and a recovery code never is.
    for (const body of [
      { password: user.password },
      { code: phone.recoveryCodes[0] },
      { code: "000000" },
      {},
    ])
      expect(await other.call("POST", "/api/verify", body)).toMatchObject({
        status: 403,
        code: "VERIFICATION_INVALID",
      });
    expect((await other.call("GET", "/api/verify")).data).toEqual(["totp"]);
    expect((await app.call(user.who, "POST", "/api/verify", { code: phone.code(1) })).status).toBe(403);
  });

  test("an account without a factor is asked when the operator says so, and proves itself with the password", async () => {
    const user = await newcomer(app);
    const browser = await signedIn(app, user.id, {});
    expect((await browser.call("GET", "/api/user/token")).success).toBe(true);
    await app.ctx.options.set("StepUpForAllEnabled", "true");
    expect((await browser.call("GET", "/api/user/token")).status).toBe(403);
    expect((await browser.call("GET", "/api/verify")).data).toEqual(["password"]);
    expect((await browser.call("POST", "/api/verify", { password: "wrong-stone-1" })).status).toBe(403);
    expect((await browser.call("POST", "/api/verify", { password: user.password })).success).toBe(true);
    expect((await browser.call("GET", "/api/user/token")).success).toBe(true);
    await app.ctx.options.set("StepUpForAllEnabled", "false");
  });

  test("half a login opens no endpoint that needs a login", async () => {
    const { user } = await withPhone(app);
    const half = await halfwayIn(app, user.id);
    const closed = endpoints.filter(({ level }) => level !== "public");
    for (const endpoint of closed) expect((await probe(half, endpoint)).status, routeOf(endpoint)).toBe(401);
    // The words of half a login are no credential elsewhere.
    const words = half.cookies.get("half") ?? "";
    half.cookies.clear();
    expect((await half.call("GET", "/api/user/self", undefined, { authorization: words })).success).toBe(
      false,
    );
    half.cookies.set("session", words);
    expect((await half.call("GET", "/api/user/self")).status).toBe(401);
  });
});
