// Several processes on one PostgreSQL: what one changes the others know within a second, and the reservations that a killed one
// leaves open the others close (requirements A02, M04, M30, F05, U02).
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  boot,
  channelDraft,
  chat,
  cleanUp,
  cleanupMark,
  createDatabase,
  createUpstream,
  expectExactLedger,
  query,
  status,
} from "#test/worlds/cluster.ts";
import type { PostgresDatabase } from "#test/worlds/postgres.ts";
import { manage, rootKey, type ServerProcess } from "#test/worlds/process.ts";

const WITHIN_MS = 1000;

interface Answer {
  readonly success: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: the tests know what they asked for.
  readonly data: any;
}

/** Calls as the user of the cookie; `order` is method and path. */
async function call(url: string, cookie: string, order: string, body?: unknown) {
  const [method = "", path = ""] = order.split(" ");
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { cookie, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  // A management answer that is not 429 is this envelope.
  const answer = (text === "" ? {} : JSON.parse(text)) as Partial<Answer>;
  return { status: response.status, success: answer.success === true, data: answer.data };
}

async function login(url: string, username: string, password: string): Promise<string> {
  const response = await fetch(`${url}/api/user/login`, {
    method: "POST",
    body: JSON.stringify({ username, password }),
  });
  const cookie = response.headers.get("set-cookie")?.split(";")[0];
  if (cookie === undefined)
    throw new Error(`login of ${username}: ${response.status} ${await response.text()}`);
  return cookie;
}

/** A node that does not know a change by then will not know it. */
const PATIENCE_MS = 10 * WITHIN_MS;

/** How long each change took to be known everywhere. */
const knownMs: number[] = [];

/** Every node must come to see it; the last test of the three says within what time. */
async function allSee(
  nodes: readonly ServerProcess[],
  sees: (url: string) => Promise<boolean>,
): Promise<void> {
  const startMs = performance.now();
  await Promise.all(
    nodes.map(async ({ url }) => {
      while (!(await sees(url))) {
        expect(performance.now() - startMs, `${url} does not know yet`).toBeLessThan(PATIENCE_MS);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    }),
  );
  knownMs.push(performance.now() - startMs);
}

describe("three nodes", () => {
  let database: PostgresDatabase;
  let nodes: ServerProcess[];
  let [one, two, three]: ServerProcess[] = [];
  let upstream = "";
  let channelId = 0;
  let mark = 0;

  beforeAll(async () => {
    database = await createDatabase();
    upstream = await createUpstream();
    one = await boot(database);
    [two, three] = await Promise.all([boot(database), boot(database)]);
    nodes = [one, two, three];
    await manage(one.url, "POST", "/api/channel/", channelDraft(upstream));
    const channels = (await manage(one.url, "GET", "/api/channel/")) as { id: number }[];
    channelId = channels[0]?.id ?? 0;
    await allSee(nodes, async (url) => (await status(url, rootKey)) === 200);
    mark = cleanupMark();
  });
  afterEach(() => cleanUp(mark));
  afterAll(async () => {
    process.stdout.write(`known on every node after at most ${Math.max(...knownMs).toFixed(0)} ms\n`);
    await cleanUp();
  });

  const at = (node: ServerProcess | undefined) => node?.url ?? expect.fail("no node");

  /** A user with quota, a session and a token. */
  async function createPerson(username: string, quota: number) {
    const password = "river-stone-42";
    await manage(at(one), "POST", "/api/user/", { username, password, display_name: username });
    const users = (await manage(at(one), "GET", `/api/user/search?keyword=${username}`)) as { id: number }[];
    const id = users[0]?.id ?? 0;
    await manage(at(one), "PUT", "/api/user/", { id, username, quota });
    const cookie = await login(at(two), username, password);
    const token = await call(at(three), cookie, "POST /api/token/", { name: "t", unlimited_quota: true });
    return { id, username, password, cookie, tokenId: Number(token.data.id), key: String(token.data.key) };
  }

  test("a session that one gives is known to all, and gone everywhere when it is ended", async () => {
    const cookie = await login(at(one), "root", "123456");
    const isIn = async (url: string) => (await call(url, cookie, "GET /api/user/self")).success;
    for (const { url } of nodes) expect(await isIn(url)).toBe(true);
    await call(at(two), cookie, "GET /api/user/logout");
    await allSee(nodes, async (url) => !(await isIn(url)));
  });

  test("a banned user is refused everywhere: console and key", async () => {
    const person = await createPerson("banned1", 1_000_000);
    await allSee(nodes, async (url) => (await status(url, person.key)) === 200);
    await manage(at(one), "POST", "/api/user/manage", { username: person.username, action: "disable" });
    await allSee(nodes, async (url) => {
      const isIn = (await call(url, person.cookie, "GET /api/user/self")).success;
      return !isIn && (await status(url, person.key)) === 403;
    });
  });

  test("a deleted token is refused everywhere, a new one works everywhere", async () => {
    const person = await createPerson("tokens1", 1_000_000);
    await allSee(nodes, async (url) => (await status(url, person.key)) === 200);
    expect((await call(at(two), person.cookie, `DELETE /api/token/${person.tokenId}`)).success).toBe(true);
    await allSee(nodes, async (url) => (await status(url, person.key)) === 401);
  });

  test("an edited channel is used everywhere", async () => {
    await manage(at(three), "PUT", "/api/channel/", { id: channelId, status: 2 });
    await allSee(nodes, async (url) => (await status(url, rootKey)) === 503);
    await manage(at(two), "PUT", "/api/channel/", { id: channelId, status: 1 });
    await allSee(nodes, async (url) => (await status(url, rootKey)) === 200);
  });

  test("an option holds everywhere, prices too", async () => {
    await manage(at(two), "PUT", "/api/option/", { key: "SystemName", value: "三节点" });
    await allSee(nodes, async (url) => {
      const response = await fetch(`${url}/api/status`);
      return JSON.stringify(await response.json()).includes("三节点");
    });
    const person = await createPerson("prices1", 10_000_000);
    await manage(at(one), "PUT", "/api/option/", { key: "ModelRatio", value: '{"gpt-4o-mini":1000}' });
    await new Promise((resolve) => setTimeout(resolve, 3 * WITHIN_MS));
    for (const { url } of nodes) expect((await chat(url, person.key, { max_tokens: 10 })).status).toBe(200);
    const charges = await query<{ amount: string }>(
      database,
      `SELECT amount FROM ledger WHERE kind = 'consume' AND user_id = ${person.id}`,
    );
    expect(new Set(charges.map(({ amount }) => amount)).size).toBe(1);
    expect(Number(charges[0]?.amount)).toBeLessThanOrEqual(-20_000);
    await manage(at(one), "PUT", "/api/option/", { key: "ModelRatio", value: "{}" });
    await new Promise((resolve) => setTimeout(resolve, 3 * WITHIN_MS));
  });

  test("a balance cannot be spent twice by asking all of them at once", async () => {
    const person = await createPerson("spender1", 2_000);
    const calls = Array.from({ length: 150 }, (_, index) =>
      chat(nodes[index % 3]?.url ?? "", person.key, { max_tokens: 1000 }).then(async (response) => {
        await response.text();
        return response.status;
      }),
    );
    const statuses = await Promise.all(calls);
    expect([...new Set(statuses)].toSorted()).toEqual([200, 403]);
    const [row] = await query<{ quota: string; used_quota: string; request_count: string }>(
      database,
      `SELECT quota, used_quota, request_count FROM users WHERE id = ${person.id}`,
    );
    expect(Number(row?.request_count)).toBe(statuses.filter((code) => code === 200).length);
    expect(Number(row?.quota)).toBeGreaterThanOrEqual(0);
    expect(Number(row?.quota) + Number(row?.used_quota)).toBe(2_000);
    await expectExactLedger(database);
  });

  test("one code and 50 users at three nodes: 200 tries at once, one success, exact sums", async () => {
    const tries = 200;
    const people = await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        const username = `racer${index}`;
        const password = "river-stone-42";
        await manage(at(one), "POST", "/api/user/", { username, password, display_name: username });
        return login(nodes[index % nodes.length]?.url ?? "", username, password);
      }),
    );
    const [key] = (await manage(at(two), "POST", "/api/redemption/", {
      name: "race",
      quota: 777_777,
      count: 1,
    })) as string[];
    const answers = await Promise.all(
      Array.from({ length: tries }, (_, index) =>
        call(
          nodes[(index >> 1) % nodes.length]?.url ?? "",
          people[index % people.length] ?? "",
          "POST /api/user/topup",
          { key },
        ),
      ),
    );
    expect(answers.filter(({ success }) => success).map(({ data }) => data)).toEqual([777_777]);
    const [paid] = await query<{ entries: string; quota: string }>(
      database,
      "SELECT count(*) AS entries, sum(quota) AS quota FROM users WHERE username LIKE 'racer%' AND quota > 0",
    );
    expect(paid).toEqual({ entries: "1", quota: "777777" });
    await expectExactLedger(database);
  }, 60_000);

  test("connections to the database that break under load cost no booking, and all go on by themselves", async () => {
    const person = await createPerson("breaks1", 100_000_000);
    let isOver = false;
    const statuses: number[] = [];
    const load = Array.from({ length: 12 }, async (_, index) => {
      while (!isOver) statuses.push(await status(nodes[index % 3]?.url ?? "", person.key));
    });
    const served = () => statuses.filter((code) => code === 200).length;
    // However slow the machine is: as many breaks as it takes for a hundred answers.
    for (let round = 0; round < 5 || served() < 100; round += 1) {
      await new Promise((resolve) => setTimeout(resolve, 300));
      await query(
        database,
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND application_name LIKE 'tollgate%'`,
      );
    }
    const startMs = performance.now();
    for (const { url } of nodes) {
      while ((await status(url, person.key)) !== 200) expect(performance.now() - startMs).toBeLessThan(5000);
    }
    isOver = true;
    await Promise.all(load);
    expect([...new Set(statuses)].filter((code) => code !== 200 && code !== 503)).toEqual([]);
    const [row] = await query<{ calls: string; open: string }>(
      database,
      `SELECT request_count AS calls, (SELECT count(*) FROM reservations WHERE user_id = ${person.id}) AS open
        FROM users WHERE id = ${person.id}`,
    );
    expect(Number(row?.calls)).toBeGreaterThanOrEqual(served());
    expect(row?.open).toBe("0");
    await expectExactLedger(database);
    for (const node of nodes) expect(node.output()).not.toContain("unexpected fault");
    // What is announced is heard again.
    await manage(at(three), "PUT", "/api/channel/", { id: channelId, status: 2 });
    await allSee(nodes, async (url) => (await status(url, rootKey)) === 503);
    await manage(at(three), "PUT", "/api/channel/", { id: channelId, status: 1 });
    await allSee(nodes, async (url) => (await status(url, rootKey)) === 200);
  }, 60_000);

  test("what a killed node had reserved is closed by another within five seconds", async () => {
    const dying = await boot(database);
    const streams = await Promise.all(
      Array.from({ length: 5 }, () => chat(dying.url, rootKey, { stream: true })),
    );
    // Some words have come and been noted.
    await new Promise((resolve) => setTimeout(resolve, 700));
    await dying.kill("SIGKILL");
    await Promise.allSettled(streams.map((response) => response.text()));
    const open = () => query<{ node: string }>(database, "SELECT node FROM reservations");
    expect(await open()).toHaveLength(5);
    await expect.poll(open, { timeout: 5_000, interval: 200 }).toEqual([]);
    const booked = await query<{ amount: string }>(
      database,
      "SELECT amount FROM ledger WHERE kind = 'consume' ORDER BY id DESC LIMIT 5",
    );
    expect(booked.filter(({ amount }) => Number(amount) < 0)).toHaveLength(5);
    await expectExactLedger(database);
  }, 60_000);

  // The machine may be busy with something else, but not at most of the changes.
  test("know of changes within a second", () => {
    expect(knownMs.length).toBeGreaterThan(8);
    expect(knownMs.toSorted((a, b) => a - b)[Math.floor(knownMs.length / 2)]).toBeLessThan(WITHIN_MS);
  });
});

describe("together", () => {
  afterEach(() => cleanUp());

  test("what the only node had reserved is closed within five seconds of its next start", async () => {
    const database = await createDatabase();
    const first = await boot(database);
    await manage(first.url, "POST", "/api/channel/", channelDraft(await createUpstream()));
    const streams = await Promise.all(
      Array.from({ length: 5 }, () => chat(first.url, rootKey, { stream: true })),
    );
    await new Promise((resolve) => setTimeout(resolve, 500));
    await first.kill("SIGKILL");
    await Promise.allSettled(streams.map((response) => response.text()));
    await boot(database);
    const open = () => query(database, "SELECT node FROM reservations");
    expect(await open()).toHaveLength(5);
    await expect.poll(open, { timeout: 5_000, interval: 200 }).toEqual([]);
    await expectExactLedger(database);
  });

  test("a node that loses every connection for a moment is not taken for a killed one", async () => {
    const database = await createDatabase();
    const node = await boot(database);
    await boot(database);
    await manage(node.url, "POST", "/api/channel/", channelDraft(await createUpstream()));
    const leaving = new AbortController();
    const stream = await chat(node.url, rootKey, { stream: true }, leaving.signal);
    const [held] = await query<{ node: string }>(database, "SELECT node FROM reservations");
    for (let time = 0; time < 6; time += 1) {
      await query(
        database,
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND pid <> pg_backend_pid()`,
      );
      await new Promise((resolve) => setTimeout(resolve, 900));
    }
    expect(await query(database, "SELECT node FROM reservations")).toEqual([held]);
    leaving.abort();
    await stream.text().catch(() => undefined);
    await expect.poll(() => query(database, "SELECT node FROM reservations"), { timeout: 5_000 }).toEqual([]);
    await expectExactLedger(database);
  }, 40_000);

  test("five that start at once on an empty database make one schema and one first user", async () => {
    const database = await createDatabase();
    const nodes = await Promise.all(Array.from({ length: 5 }, () => boot(database)));
    expect(nodes.filter((node) => node.output().includes("First login"))).toHaveLength(1);
    const [sums] = await query<{ users: string; tokens: string; grants: string; keys: string }>(
      database,
      `SELECT (SELECT count(*) FROM users) AS users, (SELECT count(*) FROM tokens) AS tokens,
        (SELECT count(*) FROM ledger) AS grants, (SELECT count(*) FROM options WHERE key = 'DataKey') AS keys`,
    );
    expect(sums).toEqual({ users: "1", tokens: "1", grants: "1", keys: "1" });
    for (const { url } of nodes) expect((await fetch(`${url}/readyz`)).status).toBe(200);
  });

  test("limits that guard accounts are counted together", async () => {
    const database = await createDatabase();
    const env = { CRITICAL_RATE_LIMIT: "6" };
    const nodes = [await boot(database, env), await boot(database, env)];
    const tries: number[] = [];
    for (let turn = 0; turn < 10; turn += 1) {
      const response = await fetch(`${nodes[turn % 2]?.url}/api/user/login`, {
        method: "POST",
        body: JSON.stringify({ username: "root", password: "123456" }),
      });
      await response.text();
      tries.push(response.status);
    }
    expect(tries).toEqual([200, 200, 200, 200, 200, 200, 429, 429, 429, 429]);
  });

  test("another master key is refused by the second node, whatever it finds in its own directory", async () => {
    const database = await createDatabase();
    await boot(database);
    await expect(boot(database, { MASTER_KEY: "some other master key of 32 characters" })).rejects.toThrow(
      "MASTER_KEY is not the key this database was made with",
    );
  });
});
