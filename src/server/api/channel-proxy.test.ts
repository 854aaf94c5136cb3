// The proxy of a channel through the management API: judged, sealed, kept, copied, audited, and never shown with its credentials
// (requirements C08, C12, C17).
import { afterAll, beforeAll, expect, test } from "vitest";
import { type SeededUser, seedUser } from "#test/seeds/seed.ts";
import { createTestApp, type TestApp } from "#test/worlds/app.ts";

const PASSWORD = "proxy-password-canary";
const PROXY = `socks5h://proxy-user-canary:${PASSWORD}@proxy.example:1080`;
const SHOWN = "socks5h://proxy.example:1080";

let app: TestApp;
let admin: SeededUser;

beforeAll(async () => {
  app = await createTestApp({ env: { EGRESS_ALLOW: "127.0.0.1:1", EGRESS_PROXY_ALLOW: "127.0.0.1:7890" } });
  admin = await seedUser(app.ctx, "admin", { role: 10 });
});
afterAll(() => app.close());

const call = (method: string, path: string, body?: unknown) => app.call(admin.who, method, path, body);
const draft = { type: 1, name: "c", key: "sk-1234567890", models: "gpt-4o", group: "default" };
/** What the relay calls by. */
const live = (id: number) => app.ctx.candidates.byId(id)?.proxy;

async function made(more: object): Promise<number> {
  expect(await call("POST", "/api/channel/", { ...draft, ...more })).toMatchObject({ success: true });
  const { data } = await call("GET", "/api/channel/?p=0");
  // The newest channel stands first.
  return (data as { id: number }[])[0]?.id ?? 0;
}

test("is stored sealed, shown without credentials, and used with them", async () => {
  const id = await made({ proxy: PROXY });
  expect(live(id)).toBe(PROXY);
  const { data } = await call("GET", `/api/channel/${id}`);
  expect(data).toMatchObject({
    proxy: SHOWN,
    proxy_login: true,
    proxy_resting: false,
    reuse: "auto",
    reuse_stopped: false,
  });
  expect(JSON.stringify(data)).not.toMatch(/canary|proxy_sealed/);
  const rows = await app.ctx.db.selectFrom("channels").selectAll().execute();
  const trail = await app.ctx.db.selectFrom("audit").selectAll().execute();
  expect(JSON.stringify([rows, trail])).not.toContain("canary");
  expect(JSON.stringify(trail)).toContain("proxy.example");
});

test("keeps its credentials while the address stays, and nowhere else", async () => {
  const id = await made({ proxy: PROXY });
  const change = async (proxy: string) => {
    expect(await call("PUT", "/api/channel/", { id, proxy })).toMatchObject({ success: true });
    return live(id);
  };
  expect(await change(SHOWN)).toBe(PROXY);
  expect(await call("PUT", "/api/channel/", { id, name: "renamed" })).toMatchObject({ success: true });
  expect(live(id)).toBe(PROXY);
  expect(await change("socks5h://thief.example:1080")).toBe("socks5h://thief.example:1080");
  expect(await change(PROXY)).toBe(PROXY);
  expect(await change("socks5h://@proxy.example:1080")).toBe(SHOWN);
  expect(await change("direct")).toBe("direct");
  expect(await change("")).toBe("");
  const acts = await app.ctx.db
    .selectFrom("audit")
    .select("detail")
    .where("action", "=", "channel.update")
    .execute();
  expect(acts.map(({ detail }) => detail).join()).toMatch(/"proxy":"socks5h:\/\/thief\.example:1080"/);
});

test("goes with a copy, and with the channel when it is deleted", async () => {
  const id = await made({ proxy: PROXY, reuse: "never" });
  const { data } = await call("POST", `/api/channel/copy/${id}`);
  const copy = (data as { id: number }).id;
  expect(live(copy)).toBe(PROXY);
  expect(app.ctx.candidates.byId(copy)?.route.isOnce).toBe(true);
  await call("DELETE", `/api/channel/${id}`);
  const row = await app.ctx.db
    .selectFrom("channels")
    .select("proxy_sealed")
    .where("id", "=", id)
    .executeTakeFirst();
  expect(row?.proxy_sealed).toBe("");
});

test.each([
  ["socks4://proxy.example:1080", /http、https、socks5/],
  ["http://proxy example", /代理地址应为/],
  ["http://10.0.0.1:8080", /EGRESS_PROXY_ALLOW/],
  ["http://127.0.0.1:1080", /EGRESS_PROXY_ALLOW/],
  ["http://169.254.169.254", /EGRESS_PROXY_ALLOW/],
])("%s is refused, in a channel, a question and the settings", async (proxy, words) => {
  expect((await call("POST", "/api/channel/", { ...draft, proxy })).message).toMatch(words);
  const question = { type: 1, key: "sk-1234567890", proxy };
  expect((await call("POST", "/api/channel/upstream_models", question)).message).toMatch(words);
  const root = { authorization: "0123456789abcdef0123456789abcdef" };
  const answer = await app.call(root, "PUT", "/api/option/", { key: "OutboundProxy", value: proxy });
  expect(answer.message).toMatch(words);
});

test("what proxies may be is allowed for them alone", async () => {
  const id = await made({ proxy: "http://127.0.0.1:7890" });
  expect(live(id)).toBe("http://127.0.0.1:7890");
  expect((await call("POST", "/api/channel/", { ...draft, base_url: "http://127.0.0.1:7890" })).success).toBe(
    false,
  );
});
