// 50 notices at once, at two processes where there are two, with administrators who ask, the payer's page that looks and the poller that finds
// the order due, while one process is killed before a statement of its ledger: every order is credited once, with its gift and its
// commission, and the ledger is exact (requirements Y04, Y05, Y38).
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { checkLedger } from "#server/money/ledger-check.ts";
import { type Db, openStore, type Store } from "#server/store/db.ts";
import { MASTER_KEY, query } from "#test/worlds/cluster.ts";
import { testDirectory } from "#test/worlds/directory.ts";
import { type Desk, startDesks, type Told } from "#test/worlds/pay-desks.ts";
import { createPostgresDatabase, type PostgresDatabase } from "#test/worlds/postgres.ts";
import { manage, type ServerProcess, startServer } from "#test/worlds/process.ts";
import { IS_SOAK, rounds } from "#test/worlds/soak.ts";
import { type Engine, engines } from "#test/worlds/stores.ts";

const ROUNDS = rounds(4, 200);
const NOTICES = 50;
const BUYERS = 12;
/** A transaction of the ledger has fewer statements; beyond it the process lives. */
const STATEMENTS = 40;
const PRELOAD = pathToFileURL(join(import.meta.dirname, "../worlds/kill-at-statement.ts")).href;
const QUOTA = 25_000_000;

interface Buyer {
  readonly name: string;
  readonly cookie: string;
}

async function post(url: string, path: string, body: object, headers: Record<string, string> = {}) {
  const response = await fetch(url + path, { method: "POST", body: JSON.stringify(body), headers });
  // biome-ignore lint/suspicious/noExplicitAny: the test knows what it asked for.
  const answer = (await response.json()) as { success: boolean; message: string; data: any };
  expect(answer.message).toBe("");
  return { answer, cookie: response.headers.get("set-cookie")?.split(";")[0] ?? "" };
}

async function register(url: string, name: string, affCode = ""): Promise<Buyer> {
  const account = { username: name, password: "river-stone-42" };
  await post(url, "/api/user/register", { ...account, aff_code: affCode });
  return { name, cookie: (await post(url, "/api/user/login", account)).cookie };
}

/** Sends a callback from an address of the round, since addresses are limited. "" = no server answered. */
async function tell(server: ServerProcess, path: string, told: Told, round: number): Promise<string> {
  const from = { "x-forwarded-for": `10.${round >> 8}.${round & 255}.1` };
  try {
    const response = await fetch(server.url + path + (told.query === undefined ? "" : `?${told.query}`), {
      ...(told.body === undefined ? {} : { method: "POST", body: told.body }),
      headers: { ...told.headers, ...from },
    });
    return response.ok ? `ok ${await response.text()}` : `status ${response.status}`;
  } catch {
    return "";
  }
}

async function seeded(url: string) {
  const giver = await register(url, "giver");
  const inviter = await register(url, "inviter");
  const codeOf = async ({ cookie }: Buyer) => {
    const answer = await fetch(`${url}/api/user/self`, { headers: { cookie } });
    return ((await answer.json()) as { data: { aff_code: string } }).data.aff_code;
  };
  const [gift, invite] = [await codeOf(giver), await codeOf(inviter)];
  const buyers: Buyer[] = [];
  for (let index = 0; index < BUYERS; index++) buyers.push(await register(url, `buyer${index}`, invite));
  return { gift, buyers };
}

interface OpenAccount {
  readonly desk: Desk;
  readonly id: number;
  /** Of its callbacks. */
  readonly path: string;
}

/** Accounts at all five providers. */
async function openAccounts(url: string, desks: readonly Desk[]): Promise<OpenAccount[]> {
  const accounts: OpenAccount[] = [];
  for (const desk of desks) {
    const draft = { name: desk.provider, is_enabled: true, ...desk.draft };
    const made = (await manage(url, "POST", "/api/payment/instance", draft)) as {
      id: number;
      notify_url: string;
    };
    accounts.push({ desk, id: made.id, path: new URL(made.notify_url).pathname });
  }
  return accounts;
}

/** Everybody at once: the provider, administrators, the page of the payer. The provider may never be told no. */
async function rush(
  servers: readonly ServerProcess[],
  { no, path, told, buyer, round }: Rush,
): Promise<void> {
  const at = (index: number) => servers[index % servers.length] as ServerProcess;
  const look = (one: ServerProcess) =>
    fetch(`${one.url}/api/payment/order/${no}`, { headers: { cookie: buyer.cookie } }).catch(() => undefined);
  const ask = (one: ServerProcess) =>
    manage(one.url, "POST", `/api/payment/manage/${no}/ask`, {}).catch(() => undefined);
  const [answers] = await Promise.all([
    Promise.all(Array.from({ length: NOTICES }, (_, index) => tell(at(index), path, told, round))),
    ...servers.flatMap((one) => [ask(one), ask(one), look(one)]),
  ]);
  expect(answers.filter((one) => one.startsWith("status"))).toEqual([]);
}

interface Rush {
  readonly no: string;
  readonly path: string;
  readonly told: Told;
  readonly buyer: Buyer;
  readonly round: number;
}

/** Whether a process is gone; one that answers is not. */
function isGone(server: ServerProcess): Promise<boolean> {
  const answers = fetch(`${server.url}/healthz`).then(
    () => false,
    () => true,
  );
  return Promise.race([server.exited.then(() => true), answers]);
}

/** The servers, of which the first is killed and started again; on SQLite there is one. */
class Nodes {
  readonly dataDir = testDirectory();
  readonly #armed = join(this.dataDir, "kill-at");
  /** Of the other one, which is never armed. */
  readonly #spared = join(this.dataDir, "spared");
  #postgres: PostgresDatabase | undefined;
  #victim: ServerProcess | undefined;
  #other: ServerProcess | undefined;
  kills = 0;

  get victim(): ServerProcess {
    if (!this.#victim) throw new Error("not started");
    return this.#victim;
  }

  get all(): readonly ServerProcess[] {
    return this.#other ? [this.victim, this.#other] : [this.victim];
  }

  async start(engine: Engine): Promise<void> {
    if (engine === "postgres") this.#postgres = await createPostgresDatabase();
    await this.#boot();
    if (this.#postgres) this.#other = await startServer(testDirectory(), this.#env(this.#spared));
  }

  #env(at: string): Record<string, string> {
    const url = this.#postgres?.url;
    const database = url === undefined ? {} : { DATABASE_URL: url };
    const preload = `--import ${PRELOAD}?at=${encodeURIComponent(at)}`;
    return { MASTER_KEY, TRUSTED_PROXIES: "127.0.0.0/8", NODE_OPTIONS: preload, ...database };
  }

  async #boot(): Promise<void> {
    this.#victim = await startServer(this.dataDir, this.#env(this.#armed));
  }

  /** Runs what is to be interrupted before a statement of the ledger, and has both servers afterwards. */
  async interrupted(statement: number, work: () => Promise<void>): Promise<void> {
    writeFileSync(this.#armed, String(statement));
    await work();
    rmSync(this.#armed, { force: true });
    if (!(await isGone(this.victim))) return;
    this.kills += 1;
    await this.victim.exited;
    await this.#boot();
  }

  /** The poller finds the order with its next look, which comes every five seconds. */
  async makeDue(orderNo: string): Promise<void> {
    const change = `UPDATE orders SET next_check = 1 WHERE order_no = '${orderNo}' AND next_check > 0`;
    if (this.#postgres) {
      await query(this.#postgres, change);
      return;
    }
    const database = new DatabaseSync(join(this.dataDir, "tollgate.db"), { timeout: 5_000 });
    database.exec(change);
    database.close();
  }

  /** Statements before which a server was killed. */
  get places(): readonly string[] {
    const log = `${this.#armed}.log`;
    return existsSync(log) ? [...new Set(readFileSync(log, "utf8").trim().split("\n"))] : [];
  }

  /** Statements of every transaction that credited an order. */
  get credit(): readonly string[] {
    const logs = [this.#armed, this.#spared].map((at) => `${at}.credits`).filter((log) => existsSync(log));
    const all = logs.flatMap((log) => readFileSync(log, "utf8").trim().split("\n"));
    // Written by kill-at-statement.ts.
    const [first, ...others] = all.map((line) => new Set(JSON.parse(line) as string[]));
    return [...(first ?? [])].filter((statement) => others.every((ran) => ran.has(statement)));
  }

  /** Ends the servers and opens what they wrote. */
  async end(): Promise<Store> {
    await Promise.all(this.all.map((one) => one.kill("SIGTERM")));
    return openStore({ dataDir: this.dataDir, databaseUrl: this.#postgres?.url });
  }

  async drop(): Promise<void> {
    await Promise.all([this.#victim, this.#other].map((one) => one?.kill("SIGKILL")));
    await this.#postgres?.drop();
  }
}

describe.each(engines)("payments on %s", (engine) => {
  test("are credited once each, however often they are told and whenever a process dies", {
    timeout: 1_200_000,
  }, async () => {
    const nodes = new Nodes();
    onTestFinished(() => nodes.drop());
    await nodes.start(engine);
    const { url } = nodes.victim;
    const providers = await startDesks(Date.now);
    onTestFinished(providers.close);
    await manage(url, "PUT", "/api/option/", { key: "ServerAddress", value: url });
    for (const key of ["QuotaForNewUser", "QuotaForInvitee", "QuotaForInviter"])
      await manage(url, "PUT", "/api/option/", { key, value: "0" });
    const accounts = await openAccounts(url, providers.desks);
    const { gift, buyers } = await seeded(url);
    const orders: string[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const { desk, id, path } = accounts[round % accounts.length] as OpenAccount;
      const buyer = buyers[round % buyers.length] as Buyer;
      const maker = nodes.all[round % nodes.all.length] as ServerProcess;
      const wish = { dollars: 50, instance_id: id, method: desk.method, gift_code: gift };
      const { answer } = await post(maker.url, "/api/payment/order", wish, { cookie: buyer.cookie });
      const no: string = answer.data.order_no;
      orders.push(no);
      desk.desk.pay(no);
      const told = desk.notice(no);
      await nodes.makeDue(no);
      await nodes.interrupted(1 + ((round * 7) % STATEMENTS), () =>
        rush(nodes.all, { no, path, told, buyer, round }),
      );
      // The provider tells again until it is heard.
      expect(await tell(nodes.victim, path, told, round)).toMatch(/^ok/);
    }
    const { kills, places, credit } = nodes;
    const store = await nodes.end();
    onTestFinished(() => store.close());
    const polled = await expectCredited(store.db, orders);
    process.stdout.write(
      `${engine}: ${orders.length} orders, ${kills} kills before ${places.length} statements, ${polled} found by asking first\n`,
    );
    expect(kills).toBeGreaterThan(0);
    process.stdout.write(
      `${credit.map((one) => `${places.includes(one) ? "killed" : "      "} ${one}\n`).join("")}`,
    );
    // From BEGIN to COMMIT, with the order, its event and the entries between.
    expect(credit.length).toBeGreaterThan(5);
    if (IS_SOAK) expect(credit.filter((one) => !places.includes(one))).toEqual([]);
  });
});

/** Returns how many payments were found by asking before a notice was taken. */
async function expectCredited(db: Db, orders: readonly string[]): Promise<number> {
  expect(await checkLedger(db)).toEqual([]);
  const rows = await db
    .selectFrom("orders")
    .select(["order_no", "status", "review", "taken_quota"])
    .execute();
  expect(rows.map(({ status, review, taken_quota }) => `${status}${review}${taken_quota}`)).toEqual(
    orders.map(() => "credited0"),
  );
  const entries = await db
    .selectFrom("ledger")
    .select(["request_id", "amount"])
    .where("request_id", "like", "order/%")
    .execute();
  const of = (end: string) => entries.filter(({ request_id }) => request_id?.endsWith(end));
  expect(
    of("/credit")
      .map(({ request_id }) => request_id?.split("/")[1])
      .sort(),
  ).toEqual([...orders].sort());
  expect(of("/credit").reduce((sum, { amount }) => sum + Number(amount), 0)).toBe(orders.length * QUOTA);
  // 5 % of the quota to both, and 25,000 millionths of a yuan per dollar to the inviter.
  for (const end of ["/gift", "/giver"])
    expect(of(end).reduce((sum, { amount }) => sum + Number(amount), 0)).toBe((orders.length * QUOTA) / 20);
  expect(of("/inviter")).toHaveLength(orders.length);
  const heard = await db.selectFrom("payment_events").select(["kind", "verdict"]).execute();
  return heard.filter(({ kind, verdict }) => kind !== "notify" && verdict === "credited").length;
}
