// kill -9 while calls are counted against budgets at every level (requirements L07, O09): whatever step the process was at, afterwards
// no window keeps what no open call holds, and every counter is what the ledger says. Then calls go on until they are refused: exactly the
// budget was charged in all, by who was killed and who came after. On SQLite, where the next start puts it right, and with three nodes on one
// PostgreSQL, where the others do.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { checkLedger } from "#server/money/ledger-check.ts";
import { checkLimits } from "#server/money/ledger-check-limits.ts";
import { openStore } from "#server/store/db.ts";
import { insertLimit } from "#server/store/limits.ts";
import { chatReply, chunk, createFakeUpstream, type FakeUpstream } from "#test/emulators/fake-upstream.ts";
import { boot, channelDraft, chat, cleanUp, createDatabase } from "#test/worlds/cluster.ts";
import { manage, type ServerProcess, startServer, temporaryDir } from "#test/worlds/process.ts";
import { IS_SOAK, rounds } from "#test/worlds/soak.ts";

const KILLS = rounds(2, 40);
const CALLS = 24;
/** More than what the calls of the rounds cost, and so little that some of them are refused. */
const BUDGET = 100 * KILLS;
/** Counted as the upstream counts it: a plain call costs what is set aside for it. */
const PROMPT = { messages: [{ role: "user", content: "hello world" }] };
const PROMPT_TOKENS = 9;

let upstream: FakeUpstream;

/** Puts out as much as it may; a stream goes on for ever, one word each 50 ms. */
beforeAll(async () => {
  upstream = await createFakeUpstream();
  upstream.script((res, { json }) => {
    if (json.stream !== true) {
      const tokens = { prompt_tokens: PROMPT_TOKENS, completion_tokens: json.max_tokens };
      const usage = { ...tokens, total_tokens: PROMPT_TOKENS + json.max_tokens };
      res.writeHead(200, { "content-type": "application/json" });
      res.end(JSON.stringify(chatReply("hello", usage)));
      return;
    }
    res.writeHead(200, { "content-type": "text/event-stream" });
    const timer = setInterval(() => res.write(chunk({ content: " word" })), 50);
    res.on("close", () => clearInterval(timer));
  });
});

afterAll(async () => {
  await cleanUp();
  await upstream?.close();
});

interface Made {
  readonly id: number;
  readonly key: string;
}

/** The data of an answer; the tests know what they asked for. */
async function ask<T>(url: string, method: string, path: string, body?: unknown): Promise<T> {
  return (await manage(url, method, path, body)) as T;
}

const LIMITS = [
  // Its window begins with the first call, and so ends in no run of this test.
  { kind: "quota", amount: BUDGET, time_window: "session" },
  { kind: "calls", amount: 10_000, time_window: "week" },
] as const;

interface Where {
  readonly dataDir: string;
  readonly databaseUrl?: string;
}

/** Caps the seat of the team's only member, its owner, before the first call: the API caps those below him. */
async function capSeat(where: Where): Promise<void> {
  const store = await openStore({ databaseUrl: undefined, ...where });
  try {
    const seat = await store.db.selectFrom("team_members").select("id").executeTakeFirstOrThrow();
    for (const limit of LIMITS) {
      const whose = { subject: "seat", subject_id: seat.id, subject_name: "", model_pattern: "" } as const;
      await insertLimit(store.db, { ...limit, ...whose, anchor: 1, mode: "hard", created_at: 1_800_000_000 });
    }
  } finally {
    await store.close();
  }
}

/** A team of root with a project and a token, and a budget at every level. Returns the token's key. */
async function furnish(url: string, upstreamUrl: string): Promise<string> {
  await ask(url, "PUT", "/api/option/", { key: "PreConsumedQuota", value: "0" });
  await ask(url, "POST", "/api/channel/", channelDraft(upstreamUrl));
  const team = await ask<Made>(url, "POST", "/api/team/", { name: "budgets" });
  await ask(url, "POST", "/api/team/adjust", { id: team.id, amount: 1_000_000_000, reason: "test" });
  const project = await ask<Made>(url, "POST", `/api/team/${team.id}/project`, { name: "p" });
  const limits = LIMITS;
  const token = await ask<Made>(url, "POST", "/api/token/", {
    ...{ name: "t", unlimited_quota: true, team_id: team.id, project_id: project.id },
  });
  await ask(url, "PUT", `/api/token/${token.id}/limit`, { limits });
  await ask(url, "PUT", `/api/team/${team.id}/limit`, { limits });
  await ask(url, "PUT", `/api/team/${team.id}/project/limit`, { project_id: project.id, limits });
  for (const limit of limits)
    for (const whose of [
      { subject: "user", subject_id: 1 },
      { subject: "group", subject_name: "default" },
      { subject: "all", model_pattern: "gpt-4*" },
    ])
      await ask(url, "POST", "/api/limit/", { ...limit, ...whose });
  return token.key;
}

/** Every second call is a stream. */
function isStream(index: number): boolean {
  return index % 2 === 0;
}

/** One call, plain or as a stream that its client leaves after a while. The server may die meanwhile. */
async function call(url: string, key: string, index: number): Promise<void> {
  try {
    const signal = AbortSignal.timeout(isStream(index) ? 1_500 : 30_000);
    const body = isStream(index) ? { stream: true, max_tokens: 100 } : { max_tokens: 5 };
    const response = await chat(url, key, { ...PROMPT, ...body }, signal);
    await response.text();
  } catch {
    // The process was killed, or the stream was left.
  }
}

/** Plain calls, until one is refused; then smaller ones until the budget has no room for the smallest. Its error has to be the budget's. */
async function spendAll(urls: readonly string[], key: string): Promise<void> {
  for (const max_tokens of [20, 5, 1]) {
    for (let turn = 0, isRefused = false; !isRefused; turn += 1) {
      expect(turn, "calls without an end").toBeLessThan(2 * BUDGET);
      const response = await chat(urls[turn % urls.length] ?? "", key, { ...PROMPT, max_tokens });
      const answer = await response.json();
      isRefused = response.status !== 200;
      if (isRefused) expect([response.status, answer.error?.code]).toEqual([429, "usage_limit_reached"]);
    }
  }
}

interface Books {
  readonly faults: readonly unknown[];
  readonly open: number;
  readonly reserved: number;
  /** By each budget. */
  readonly spent: readonly number[];
  /** By the ledger. */
  readonly charged: number;
  /** Of the limits, those with a window of quota: each level has one. */
  readonly levels: number;
}

/** The books as the database has them. */
async function readBooks(where: Where): Promise<Books> {
  const store = await openStore({ databaseUrl: undefined, ...where });
  try {
    const windows = await store.db
      .selectFrom("limit_windows")
      .innerJoin("limits", "limits.id", "limit_id")
      .select(["subject", "spent", "reserved"])
      .where("kind", "=", "quota")
      .execute();
    const { open } = await store.db
      .selectFrom("reservations")
      .select((count) => count.fn.countAll<number | string>().as("open"))
      .executeTakeFirstOrThrow();
    const { charged } = await store.db
      .selectFrom("ledger")
      .select((sum) => sum.fn.sum<number | string | null>("amount").as("charged"))
      .where("kind", "=", "consume")
      .executeTakeFirstOrThrow();
    return {
      faults: [...(await checkLedger(store.db)), ...(await checkLimits(store.db))],
      open: Number(open),
      reserved: windows.reduce((sum, { reserved }) => sum + reserved, 0),
      spent: windows.map(({ spent }) => spent),
      charged: -Number(charged ?? 0),
      levels: new Set(windows.map(({ subject }) => subject)).size,
    };
  } finally {
    await store.close();
  }
}

/** What a killed process left is closed by its next start or another node; then the books are exact. */
async function expectExact(where: Where): Promise<Books> {
  await expect
    .poll(async () => readBooks(where), { timeout: 60_000, interval: 500 })
    .toMatchObject({ faults: [], open: 0, reserved: 0 });
  const books = await readBooks(where);
  for (const spent of books.spent) expect(spent).toBe(books.charged);
  expect(books.charged).toBeLessThanOrEqual(BUDGET);
  return books;
}

/** Exactly the budget was charged, and each level has counted it: token, seat, project, team, user, group and all. */
async function expectUsedUp(where: Where): Promise<void> {
  const { levels, spent, charged } = await expectExact(where);
  expect({ levels, spent, charged }).toEqual({
    levels: 7,
    spent: Array.from({ length: 7 }, () => BUDGET),
    charged: BUDGET,
  });
}

/**
 * A moment in which some calls are being set aside, some run and some are booked. In every second round a plain one has been answered, so
 * that something is booked on however slow a machine.
 */
async function someMoment(round: number, calls: readonly Promise<void>[]): Promise<void> {
  const isAnswered = round % 2 === 0;
  if (isAnswered) await Promise.race(calls.filter((_, index) => !isStream(index)));
  await sleep(Math.random() * (isAnswered ? 300 : 900));
}

it(`SQLite: budgets are exact after ${KILLS} kills`, { timeout: 60_000 + KILLS * 20_000 }, async () => {
  const dir = temporaryDir();
  let server: ServerProcess = await startServer(dir.path);
  try {
    const key = await furnish(server.url, upstream.url);
    await server.kill("SIGTERM");
    await capSeat({ dataDir: dir.path });
    server = await startServer(dir.path);
    for (let round = 0; round < KILLS; round += 1) {
      const { url } = server;
      const calls = Array.from({ length: CALLS }, (_, index) => call(url, key, index));
      await someMoment(round, calls);
      await server.kill("SIGKILL");
      await Promise.all(calls);
      server = await startServer(dir.path);
      if (!IS_SOAK) continue;
      await server.kill("SIGTERM");
      await expectExact({ dataDir: dir.path });
      server = await startServer(dir.path);
    }
    await server.kill("SIGTERM");
    expect((await expectExact({ dataDir: dir.path })).charged).toBeGreaterThan(0);
    server = await startServer(dir.path);
    await spendAll([server.url], key);
    await server.kill("SIGTERM");
    await expectUsedUp({ dataDir: dir.path });
  } finally {
    await server.kill("SIGKILL");
    dir.remove();
  }
});

it(`three nodes: budgets are exact after ${KILLS} kills`, { timeout: 120_000 + KILLS * 60_000 }, async () => {
  const database = await createDatabase();
  const nodes = [await boot(database), await boot(database), await boot(database)];
  const key = await furnish(nodes[0]?.url ?? "", upstream.url);
  await capSeat({ dataDir: "", databaseUrl: database.url });
  for (let round = 0; round < KILLS; round += 1) {
    const urls = nodes.map(({ url }) => url);
    const calls = Array.from({ length: CALLS }, (_, index) => call(urls[index % 3] ?? "", key, index));
    await someMoment(round, calls);
    const victim = round % 3;
    await nodes[victim]?.kill("SIGKILL");
    await Promise.all(calls);
    await expectExact({ dataDir: "", databaseUrl: database.url });
    nodes[victim] = await boot(database);
  }
  expect((await expectExact({ dataDir: "", databaseUrl: database.url })).charged).toBeGreaterThan(0);
  await spendAll(
    nodes.map(({ url }) => url),
    key,
  );
  await expectUsedUp({ dataDir: "", databaseUrl: database.url });
});
