// Every endpoint × every kind of actor gets exactly what the table of roles says, which is written by hand (requirements Z02), and
// nothing is served that it does not name (requirements Z01).
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Endpoint, Level } from "#contract/endpoint.ts";
import { api } from "#contract/index.ts";
import { docsPaths } from "#server/api/docs-site.ts";
import { createApi } from "#server/api/mount.ts";
import { updateUserProfile } from "#server/store/users.ts";
import { roleTable, routeOf } from "#test/seeds/role-table.ts";
import { seedPassword, seedPeople, seedToken } from "#test/seeds/seed.ts";
import {
  type Answer,
  asGuest,
  asRoot,
  createAppOn,
  databases,
  type TestApp,
  type Who,
} from "#test/worlds/app.ts";

const endpoints: readonly Endpoint[] = Object.values(api).flatMap((resource) =>
  Object.values<Endpoint>(resource),
);

/** How the permission check ended; "in" = the call passed it, whatever the handler thought of the input. */
type Verdict = "in" | "401" | "role too low" | "unknown access token" | "disabled";

function verdictOf(answer: Answer): Verdict {
  if (answer.status === 401) return "401";
  if (answer.message === "权限不够，无法执行该操作") return "role too low";
  if (answer.message === "访问凭证无效") return "unknown access token";
  if (answer.message === "该账户已停用，请联系管理员") return "disabled";
  return "in";
}

type CallerName = "guest" | "banned" | "user" | "other user" | "admin" | "peer admin" | "root" | "relay key";

const expected: Readonly<Record<CallerName, Readonly<Record<Level, Verdict>>>> = {
  guest: { public: "in", user: "401", admin: "401", root: "401" },
  banned: { public: "in", user: "disabled", admin: "disabled", root: "disabled" },
  user: { public: "in", user: "in", admin: "role too low", root: "role too low" },
  "other user": { public: "in", user: "in", admin: "role too low", root: "role too low" },
  admin: { public: "in", user: "in", admin: "in", root: "role too low" },
  "peer admin": { public: "in", user: "in", admin: "in", root: "role too low" },
  root: { public: "in", user: "in", admin: "in", root: "in" },
  "relay key": {
    public: "in",
    user: "unknown access token",
    admin: "unknown access token",
    root: "unknown access token",
  },
};

/** A path that exists for the router and names nothing; an empty body changes nothing. */
function probe(endpoint: Endpoint): { path: string; body: unknown } {
  // A user that confirms the end of the account with another name stays.
  const query = endpoint === api.account.removeSelf ? "?username=nobody" : "";
  return { path: endpoint.path.replace(":id", "987654321") + query, body: endpoint.body ? {} : undefined };
}

/** The path in its other spelling of the trailing slash. */
function respell(path: string): string {
  const [before = "", query] = path.split("?");
  const other = before.endsWith("/") ? before.slice(0, -1) : `${before}/`;
  return query === undefined ? other : `${other}?${query}`;
}

describe.each(databases)("permissions on $name", (database) => {
  let app: TestApp;
  let people: Awaited<ReturnType<typeof seedPeople>>;
  let relayKey = "";
  const callers = new Map<CallerName, Who>();
  /** By user name: a password takes fifty milliseconds of the processor to look at. */
  const sessions = new Map<string, Who>();

  beforeAll(async () => {
    app = await createAppOn(database);
    people = await seedPeople(app.ctx);
    relayKey = (await seedToken(app.ctx, people.alice.id)).key;
    callers.set("guest", asGuest);
    callers.set("banned", people.banned.who);
    callers.set("user", people.alice.who);
    callers.set("other user", people.bob.who);
    callers.set("admin", people.admin.who);
    callers.set("peer admin", people.peer.who);
    callers.set("root", asRoot);
    callers.set("relay key", { authorization: `Bearer sk-${relayKey}` });
  });
  afterAll(() => app.close());

  /** Gives back the access tokens that asking for a new one has replaced, and a session for one that was ended. */
  async function undo({ path }: Endpoint): Promise<void> {
    if (path === api.auth.logout.path) sessions.clear();
    if (path !== api.account.accessToken.path) return;
    for (const { id, who } of [...Object.values(people), { id: 1, who: asRoot }]) {
      const hash = app.ctx.secrets.hash(who["authorization"] ?? "");
      await updateUserProfile(app.ctx.db, id, { access_token_hash: hash });
    }
  }

  const cells = endpoints.flatMap((endpoint) =>
    // The keys of `expected` are the actors.
    (Object.keys(expected) as CallerName[]).map((caller) => ({
      caller,
      endpoint,
      route: `${endpoint.method} ${endpoint.path}`,
      verdict: expected[caller][roleTable.get(routeOf(endpoint)) ?? "root"],
    })),
  );

  test("what is in the contract and what the router serves is in the table of roles, and the other way round", () => {
    const known = [...roleTable.keys()].sort();
    expect(endpoints.map(routeOf).sort()).toEqual(known);
    expect(endpoints.filter((endpoint) => roleTable.get(routeOf(endpoint)) !== endpoint.level)).toEqual([]);
    const served = createApi(app.ctx)
      .routes.filter(({ method }) => method !== "ALL")
      .map(routeOf);
    // Providers of payments and logins, and payers who come back: they have no level, and are in no contract of clients.
    const providers = ["GET", "POST"].map((method) => `${method} /api/payment/notify/:slug`);
    providers.push("GET /api/payment/return/:no", "POST /api/oauth/:slug/backchannel");
    const outside = [...docsPaths.map((path) => `GET ${path}`), ...providers];
    expect([...new Set(served)].filter((route) => !outside.includes(route)).sort()).toEqual(known);
  });

  test.each(cells)("$caller at $route: $verdict", async ({ caller, endpoint, verdict }) => {
    const { path, body } = probe(endpoint);
    const answer = await app.call(callers.get(caller) ?? {}, endpoint.method, path, body);
    await undo(endpoint);
    expect(verdictOf(answer)).toBe(verdict);
    expect(answer.status).toBe(verdict === "401" ? 401 : answer.status);
    expect(answer).toHaveProperty("data");
    if (verdict !== "in") expect(answer).toMatchObject({ success: false, data: null });
  });

  test.each(cells.filter(({ caller }) => ["user", "admin"].includes(caller)))(
    "a session of $caller at $route is worth the same as the access token",
    async ({ caller, endpoint, verdict }) => {
      const { username } = caller === "admin" ? people.admin : people.alice;
      const session = sessions.get(username) ?? (await app.login(username, seedPassword));
      sessions.set(username, session);
      const { path, body } = probe(endpoint);
      const answer = await app.call(session, endpoint.method, path, body);
      await undo(endpoint);
      expect(verdictOf(answer)).toBe(verdict);
    },
  );

  test.each(endpoints.map((endpoint) => ({ endpoint, route: `${endpoint.method} ${endpoint.path}` })))(
    "both spellings of $route are served",
    async ({ endpoint }) => {
      const { path, body } = probe(endpoint);
      const answer = await app.call(asGuest, endpoint.method, respell(path), body);
      expect(answer.status).toBe((await app.call(asGuest, endpoint.method, path, body)).status);
      // Callbacks of logins without a state are the public calls that are refused by status (requirements W4.5).
      const open = /^\/api\/oauth\/(github|:slug)$/.test(endpoint.path) ? 403 : 200;
      expect(answer.status).toBe(roleTable.get(routeOf(endpoint)) === "public" ? open : 401);
    },
  );

  const writes = endpoints.filter((endpoint) => endpoint.method !== "GET" || endpoint.mutates);
  const foreign: readonly (readonly [string, Who])[] = [
    ["Sec-Fetch-Site: cross-site", { "sec-fetch-site": "cross-site" }],
    ["Sec-Fetch-Site: same-site", { "sec-fetch-site": "same-site" }],
    ["a navigation", { "sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate" }],
    ["a frame of our own page", { "sec-fetch-site": "same-origin", "sec-fetch-dest": "iframe" }],
    ["a typed address", { "sec-fetch-site": "none", "sec-fetch-mode": "navigate" }],
    ["Origin of another site", { origin: "https://evil.example" }],
    ["Origin null", { origin: "null" }],
    ["Referer of another site", { referer: "https://evil.example/page" }],
    ["an image in a notice", { "sec-fetch-site": "same-origin", "sec-fetch-dest": "image" }],
    // A browser adds it by itself where a proxy in front asks for a password.
    ["Authorization beside the cookie", { authorization: "Basic dTpw", "sec-fetch-site": "cross-site" }],
    // Over plain http a browser sends no Sec-Fetch headers, and a page may have it send no Referer.
    ["a silent image", { accept: "image/avif,image/webp,*/*;q=0.8", "accept-language": "zh-CN" }],
    ["a silent script", { accept: "*/*", "accept-language": "zh-CN,zh;q=0.9" }],
    ["a silent style sheet", { accept: "text/css,*/*;q=0.1" }],
    ["a silent link", { accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" }],
  ];
  const crossings = writes
    .flatMap((endpoint) =>
      foreign.map(([how, headers]) => ({
        endpoint,
        how,
        headers,
        route: `${endpoint.method} ${endpoint.path}`,
      })),
    )
    // What the body carries is the proof; behind a proxy that hides the host the page is ours (first-run.test.ts).
    .filter(({ endpoint, how }) => !(endpoint.keyed && how === "Origin of another site"));

  test("one endpoint is known by what it carries, and that is the first run", () => {
    expect(endpoints.filter(({ keyed }) => keyed).map(routeOf)).toEqual(["POST /api/first_run"]);
  });

  test.each(crossings)("$how does not get through to $route", async ({ endpoint, headers }) => {
    const { path, body } = probe(endpoint);
    const answer = await app.call({ cookie: "session=whatever", ...headers }, endpoint.method, path, body);
    expect(answer).toMatchObject({ status: 403, success: false });
  });

  test.each(
    writes
      .filter(({ level }) => level === "public")
      .map((endpoint) => ({ endpoint, route: `${endpoint.method} ${endpoint.path}` })),
  )("another site cannot sign a visitor in by $route, whatever a browser adds", async ({ endpoint }) => {
    const { path, body } = probe(endpoint);
    const headers = { authorization: "Basic dTpw", "sec-fetch-site": "cross-site" };
    expect((await app.call(headers, endpoint.method, path, body)).status).toBe(403);
  });

  test.each(writes.map((endpoint) => ({ endpoint, route: `${endpoint.method} ${endpoint.path}` })))(
    "our own pages and programs get through to $route",
    async ({ endpoint }) => {
      const { path, body } = probe(endpoint);
      const own: readonly Who[] = [
        { "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" },
        { origin: "http://localhost" },
        { referer: "http://localhost/channel", "accept-language": "zh-CN" },
        {},
        // curl, axios, and Node's fetch with what it adds by itself.
        { cookie: "session=whatever", accept: "*/*" },
        { cookie: "session=whatever", accept: "application/json, text/plain, */*" },
        { cookie: "session=whatever", accept: "*/*", "accept-language": "*", "sec-fetch-mode": "cors" },
        ...(endpoint.level === "public"
          ? []
          : [{ authorization: "a-token", origin: "https://other.example" }]),
      ];
      for (const headers of own) {
        const answer = await app.call(headers, endpoint.method, path, body);
        expect(answer.message).not.toBe("拒绝跨站请求");
      }
    },
  );

  test("another user's token does not exist, for reading, changing and deleting", async () => {
    const { id } = await seedToken(app.ctx, people.alice.id);
    for (const [method, path, body] of [
      ["GET", `/api/token/${id}`, undefined],
      ["PUT", "/api/token/", { id, name: "stolen" }],
      ["PUT", "/api/token/?status_only=true", { id, status: 2 }],
      ["DELETE", `/api/token/${id}`, undefined],
    ] as const) {
      const other = await app.call(people.bob.who, method, path, body);
      const missing = await app.call(
        people.bob.who,
        method,
        path.replace(String(id), "987654321"),
        body && { ...body, id: 987654321 },
      );
      expect(other).toEqual(missing);
      expect(other.success).toBe(false);
    }
    expect((await app.call(people.alice.who, "GET", `/api/token/${id}`)).data.name).toBe("seed");
  });

  test("no answer of any endpoint to any actor carries a secret", async () => {
    const secretForms = /argon2id|access_token_hash|key_sealed|key_hash|v1:[\w-]{20}/;
    for (const who of [people.alice.who, people.admin.who, asRoot]) {
      for (const endpoint of endpoints.filter(({ method }) => method === "GET")) {
        const response = await app.request(probe(endpoint).path, { headers: who });
        expect(await response.text()).not.toMatch(secretForms);
        await undo(endpoint);
      }
    }
  });
});
