// What operators' tools are told: alive, ready, and numbers without any user's name (requirements G04, P08).
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { reconcile } from "#server/jobs/reconcile.ts";
import {
  chatReply,
  createFakeUpstream,
  type FakeUpstream,
  json,
  reset,
} from "#test/emulators/fake-upstream.ts";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createTestApp, type TestApp } from "#test/worlds/app.ts";

let app: TestApp;
let upstream: FakeUpstream;
let url = "";

beforeAll(async () => {
  app = await createTestApp();
  upstream = await createFakeUpstream();
  const draft = {
    type: 1,
    name: "c",
    key: "sk-metrics-canary",
    base_url: upstream.url,
    models: "gpt-4o-mini",
    group: "default",
  };
  await app.call(asRoot, "POST", "/api/channel/", draft);
  url = await app.listen();
});
afterAll(async () => {
  await app.close();
  await upstream.close();
});

async function scrape(headers: Record<string, string> = {}) {
  const response = await fetch(`${url}/metrics`, { headers });
  return { status: response.status, text: await response.text() };
}

test.each(["/healthz", "/readyz", "/metrics", "/assets/none.js"])(
  "%s is kept by no cache and read as what it says it is (requirements H09)",
  async (path) => {
    const { headers } = await fetch(`${url}${path}`);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
  },
);

/** The value of a sample by its full name with labels. */
function readValue(text: string, name: string): number {
  const line = text.split("\n").find((candidate) => candidate.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1));
}

test("calls, tokens, quota, durations, failures and the state of the books can be read", async () => {
  const user = await seedUser(app.ctx, "metrics");
  const { key } = await seedToken(app.ctx, user.id);
  const call = () =>
    fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer sk-${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "gpt-4o-mini", messages: [{ role: "user", content: "hi" }] }),
    }).then((response) => response.text());
  upstream.script(json(chatReply("hello")), json(chatReply("hello")), reset);
  for (let turn = 0; turn < 3; turn += 1) await call();
  await reconcile.run(app.ctx);
  const { status, text } = await scrape();
  expect(status).toBe(200);
  expect(readValue(text, 'tollgate_relay_requests_total{endpoint="chat",outcome="ok"}')).toBe(2);
  expect(readValue(text, "tollgate_relay_prompt_tokens_total")).toBe(20);
  expect(readValue(text, "tollgate_relay_completion_tokens_total")).toBe(10);
  const { used_quota } = (await app.call(user.who, "GET", "/api/user/self")).data;
  expect(readValue(text, "tollgate_relay_quota_total")).toBe(used_quota);
  expect(readValue(text, 'tollgate_relay_duration_seconds_count{endpoint="chat"}')).toBe(3);
  expect(readValue(text, 'tollgate_relay_duration_seconds_bucket{endpoint="chat",le="300"}')).toBe(3);
  expect(readValue(text, 'tollgate_relay_first_byte_seconds_count{endpoint="chat"}')).toBe(2);
  expect(readValue(text, "tollgate_relay_running")).toBe(0);
  expect(readValue(text, "tollgate_realtime_running")).toBe(0);
  expect(readValue(text, "tollgate_ledger_mismatches")).toBe(0);
  expect(text).toMatch(/^tollgate_channel_failures_total\{channel="1",code="[a-z_]+"\} 1$/m);
  expect(text).toContain("# TYPE tollgate_relay_duration_seconds histogram");
  // Every line is a comment or a sample.
  for (const line of text.trimEnd().split("\n"))
    expect(line).toMatch(/^(# (HELP|TYPE) |[a-z_0-9]+(\{[^}]*\})? -?[\d.e+-]+$)/);
  for (const secret of [key, user.username, "sk-metrics-canary", "gpt-4o-mini"])
    expect(text).not.toContain(secret);
});

test("a balance that was changed by hand shows in the gauge", async () => {
  const user = await seedUser(app.ctx, "forged");
  const put = (quota: number) =>
    sql`UPDATE users SET quota = ${quota} WHERE id = ${user.id}`.execute(app.ctx.db);
  await put(1);
  await reconcile.run(app.ctx);
  expect(readValue((await scrape()).text, "tollgate_ledger_mismatches")).toBe(1);
  await put(500_000);
  await reconcile.run(app.ctx);
  expect(readValue((await scrape()).text, "tollgate_ledger_mismatches")).toBe(0);
});

test("numbers are for this machine or an administrator's access token", async () => {
  const user = await seedUser(app.ctx, "reader");
  const proxied = { "x-forwarded-for": "203.0.113.9" };
  expect((await scrape(proxied)).status).toBe(403);
  expect((await scrape({ ...proxied, ...user.who })).status).toBe(403);
  expect((await scrape({ ...proxied, ...asRoot })).status).toBe(200);
});

test("behind a known proxy no client is local, since a bare one adds nothing", async () => {
  const behind = await createTestApp({ env: { TRUSTED_PROXIES: "127.0.0.1" } });
  const address = await behind.listen();
  expect((await fetch(`${address}/metrics`)).status).toBe(403);
  expect((await fetch(`${address}/metrics`, { headers: asRoot })).status).toBe(200);
  await behind.close();
});

test("alive is not ready: a database that cannot be written makes the one 503 and leaves the other", async () => {
  const look = async (path: string) => (await fetch(`${url}${path}`)).status;
  expect([await look("/healthz"), await look("/readyz")]).toEqual([200, 200]);
  await sql.raw("PRAGMA query_only = ON").execute(app.ctx.db);
  expect([await look("/healthz"), await look("/readyz")]).toEqual([200, 503]);
  await sql.raw("PRAGMA query_only = OFF").execute(app.ctx.db);
  expect([await look("/healthz"), await look("/readyz")]).toEqual([200, 200]);
  app.app.drain();
  expect([await look("/healthz"), await look("/readyz")]).toEqual([200, 503]);
});
