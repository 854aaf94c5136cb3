// The relay when the database cannot be written: nothing goes upstream without a reservation, callers get an error soon and may
// try again, and afterwards everything works with exact books (requirements F02, F03).
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import { checkLedger } from "#server/money/ledger-check.ts";
import { chatReply, createFakeUpstream, type FakeUpstream, json } from "#test/emulators/fake-upstream.ts";
import { seedToken } from "#test/seeds/seed.ts";
import { asRoot, createTestApp, rootAccess, type TestApp } from "#test/worlds/app.ts";
import { temporaryDir } from "#test/worlds/process.ts";

let dir: ReturnType<typeof temporaryDir>;
let app: TestApp;
let upstream: FakeUpstream;
let url = "";
let key = "";
const cleanups: (() => unknown)[] = [];

beforeEach(async () => {
  dir = temporaryDir();
  app = await createTestApp({ dataDir: dir.path });
  upstream = await createFakeUpstream();
  upstream.script(json(chatReply("hello")));
  const draft = {
    type: 1,
    name: "c",
    key: "k",
    base_url: upstream.url,
    models: "gpt-4o-mini",
    group: "default",
  };
  await app.call(asRoot, "POST", "/api/channel/", draft);
  ({ key } = await seedToken(app.ctx, 1));
  url = await app.listen();
});

afterEach(async () => {
  for (const clean of cleanups.splice(0)) await clean();
  await app.close();
  await upstream.close();
  dir.remove();
});

async function chat() {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer sk-${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "gpt-4o-mini", messages: [{ role: "user", content: "hi" }] }),
  });
  const body = await response.json();
  return { status: response.status, retryAfter: response.headers.get("retry-after"), code: body.error?.code };
}

const pragma = (text: string) => sql.raw(`PRAGMA ${text}`).execute(app.ctx.db);

test("a full disk: 503 before anything goes upstream, reads work, and writes work again by themselves", async () => {
  expect((await chat()).status).toBe(200);
  // The file may not grow by a single page; a large entry is refused for lack of space.
  await pragma("max_page_count = 1");
  const filler = "x".repeat(20_000);
  const fill = async () => {
    for (let entry = 0; entry < 1000; entry += 1) {
      await app.ctx.db
        .insertInto("options")
        .values({ key: `filler${entry}-${filler}`, value: "" })
        .execute();
    }
  };
  await expect(fill()).rejects.toMatchObject({ kind: "full" });
  const before = upstream.journal.length;
  const answers: Awaited<ReturnType<typeof chat>>[] = [];
  const calls = Array.from({ length: 200 }, async () => answers.push(await chat()));
  // A page of reservations may have room for some forty; the others were not sent.
  const sent = () => upstream.journal.length - before;
  const refused = () => answers.filter(({ code }) => code === "storage_unavailable");
  await expect.poll(() => refused().length + sent(), { timeout: 15_000 }).toBe(200);
  expect(refused().length).toBeGreaterThan(0);
  for (const { status, retryAfter } of refused()) expect([status, Number(retryAfter)]).toEqual([503, 2]);
  expect((await app.call(asRoot, "GET", "/api/channel/")).success).toBe(true);
  const write = await app.call(asRoot, "POST", "/api/token/", { name: "x".repeat(30) });
  expect([200, 503]).toContain(write.status);
  const sentMeanwhile = sent();
  await pragma("max_page_count = 1073741823");
  await expect.poll(async () => (await chat()).status).toBe(200);
  // Calls that had been sent are booked now and only then answered; refused callers pay nothing.
  await Promise.all(calls);
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(sentMeanwhile);
  const open = () => app.ctx.db.selectFrom("reservations").select("request_id").execute();
  await expect.poll(open).toEqual([]);
  const booked = await app.ctx.db.selectFrom("ledger").select("id").where("kind", "=", "consume").execute();
  // With the calls before and after.
  expect(booked).toHaveLength(upstream.journal.length);
  expect(await checkLedger(app.ctx.db)).toEqual([]);
}, 40_000);

test("a call whose answer comes while the database is locked is answered and charged when it is free again", async () => {
  const reply = JSON.stringify(chatReply("hello"));
  upstream.script((res) => {
    setTimeout(() => res.writeHead(200, { "content-type": "application/json" }).end(reply), 2_000);
  });
  const answering = chat();
  await expect.poll(() => upstream.journal.length).toBe(1);
  const unlock = await lockElsewhere();
  await new Promise((resolve) => setTimeout(resolve, 12_000));
  await unlock();
  expect((await answering).status).toBe(200);
  const charged = await app.ctx.db
    .selectFrom("ledger")
    .select("amount")
    .where("kind", "=", "consume")
    .execute();
  expect(charged).toHaveLength(1);
  expect(charged[0]?.amount).toBeLessThan(0);
  expect(await checkLedger(app.ctx.db)).toEqual([]);
}, 40_000);

test("a booking that the database will not take is refused and returned in full, to the last unit", async () => {
  const owner = async () =>
    app.ctx.db.selectFrom("users").select(["quota", "used_quota"]).where("id", "=", 1).executeTakeFirst();
  const before = await owner();
  // A settlement begins with 1 there, a reservation with 0 (money/wire.ts).
  await sql`CREATE TRIGGER no_calls BEFORE INSERT ON journal WHEN new.batch LIKE '%[1,"%'
    BEGIN SELECT RAISE(ABORT, 'no'); END`.execute(app.ctx.db);
  const answer = await chat();
  expect([answer.status, answer.code]).toEqual([503, "booking_failed"]);
  expect(await owner()).toEqual(before);
  expect(await app.ctx.db.selectFrom("reservations").select("request_id").execute()).toEqual([]);
  await sql`DROP TRIGGER no_calls`.execute(app.ctx.db);
  expect((await chat()).status).toBe(200);
  expect(await checkLedger(app.ctx.db)).toEqual([]);
});

/** Another process that takes the write lock of the database and keeps it until it is killed. */
async function lockElsewhere() {
  const script = `const { DatabaseSync } = require("node:sqlite");
    const db = new DatabaseSync(${JSON.stringify(join(dir.path, "tollgate.db"))}, { timeout: 5000 });
    db.exec("BEGIN EXCLUSIVE"); process.stdout.write("locked"); setInterval(() => undefined, 1000);`;
  const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  const gone = once(child, "exit");
  const unlock = async () => {
    child.kill("SIGKILL");
    await gone;
  };
  cleanups.push(unlock);
  return unlock;
}

test("a lock held by another process: bounded 503 with Retry-After, then everything works", async () => {
  expect((await chat()).status).toBe(200);
  const unlock = await lockElsewhere();
  const startMs = performance.now();
  const before = upstream.journal.length;
  const answers = await Promise.all(Array.from({ length: 30 }, chat));
  expect(performance.now() - startMs).toBeLessThan(17_000);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
  for (const { retryAfter } of answers) expect(Number(retryAfter)).toBeGreaterThan(0);
  expect(upstream.journal.length).toBe(before);
  const write = await app.call(asRoot, "PUT", "/api/option/", { key: "SystemName", value: "busy" });
  expect(write).toMatchObject({ status: 503, success: false, message: "数据库暂时不可用，请稍后再试" });
  await unlock();
  await expect.poll(async () => (await chat()).status).toBe(200);
  expect(await checkLedger(app.ctx.db)).toEqual([]);
}, 60_000);

test("writers beside such a lock get an error soon, however many they are, and hold up no other call", async () => {
  expect((await chat()).status).toBe(200);
  const unlock = await lockElsewhere();
  const startMs = performance.now();
  const timed = async (answer: Promise<{ status: number; retryAfter: number }>) => ({
    ...(await answer),
    ms: performance.now() - startMs,
  });
  const ask = async (path: string, init?: RequestInit) => {
    const response = await fetch(`${url}${path}`, init);
    await response.text();
    return { status: response.status, retryAfter: Number(response.headers.get("retry-after")) };
  };
  const headers = { authorization: rootAccess, "content-type": "application/json" };
  const login = JSON.stringify({ username: "root", password: "no such password" });
  const write = (index: number) =>
    ask("/api/token/", { method: "POST", headers, body: JSON.stringify({ name: `t${index}` }) });
  const writes = Array.from({ length: 20 }, (_, index) => timed(write(index)));
  await new Promise((resolve) => setTimeout(resolve, 100));
  const calls = Array.from({ length: 5 }, () =>
    timed(chat().then(({ status, retryAfter }) => ({ status, retryAfter: Number(retryAfter) }))),
  );
  const [ready, signIn, read] = await Promise.all([
    timed(ask("/readyz")),
    timed(ask("/api/user/login", { method: "POST", headers, body: login })),
    timed(ask("/api/channel/", { headers })),
  ]);
  expect([ready.status, read.status]).toEqual([503, 200]);
  expect(ready.ms).toBeLessThan(2_000);
  expect(Math.max(signIn.ms, read.ms)).toBeLessThan(8_000);
  for (const { status, retryAfter, ms } of await Promise.all(writes)) {
    expect([status, retryAfter]).toEqual([503, 2]);
    expect(ms).toBeLessThan(8_000);
  }
  for (const { status, retryAfter, ms } of await Promise.all(calls)) {
    expect([status, retryAfter]).toEqual([503, 2]);
    expect(ms).toBeLessThan(17_000);
  }
  // From now on no call waits at length for a lock that has just been waited for in vain.
  const laterMs = performance.now();
  expect((await write(21)).status).toBe(503);
  expect(performance.now() - laterMs).toBeLessThan(2_000);
  await unlock();
  expect((await write(22)).status).toBe(200);
  expect((await chat()).status).toBe(200);
  expect((await ask("/readyz")).status).toBe(200);
  expect(await checkLedger(app.ctx.db)).toEqual([]);
}, 60_000);
