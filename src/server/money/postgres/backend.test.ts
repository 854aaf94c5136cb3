// What a broken connection does to the ledger backend for PostgreSQL (requirements F05, F06).
import { connect, createServer, type Server, type Socket } from "node:net";
import { sql } from "kysely";
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { systemClock } from "#server/clock.ts";
import { createLedger, type Ledger } from "#server/money/ledger.ts";
import { checkLedger } from "#server/money/ledger-check.ts";
import { openStore, type Store } from "#server/store/db.ts";
import { getUser } from "#server/store/users.ts";
import { bill, codeTerms, order } from "#test/worlds/ledger-world.ts";
import { createPostgresDatabase, type PostgresDatabase } from "#test/worlds/postgres.ts";
import { seedAccount, seedChannel, seedRedemption, seedToken } from "#test/worlds/stores.ts";
import { createPostgresBackend } from "./backend.ts";

type Cut = "before" | "after";

/** Passes everything on, and can cut the connection that sends the next COMMIT, before or after the server has got it. */
class CuttingProxy {
  readonly #server: Server;
  readonly #target: { host: string; port: number };
  readonly #sockets = new Set<Socket>();
  armed: Cut | undefined;
  /** The next cut refuses new connections, until it is opened. */
  shutsWithCut = false;
  isShut = false;
  cuts = 0;

  constructor(target: { host: string; port: number }) {
    this.#target = target;
    this.#server = createServer((client) => this.#serve(client));
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    const address = this.#server.address();
    return typeof address === "object" && address ? address.port : 0;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #serve(client: Socket): void {
    if (this.isShut) {
      client.destroy();
      return;
    }
    const server = connect(this.#target);
    let isDoomed = false;
    const end = () => {
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on("error", end).on("close", end);
    }
    client.on("data", (bytes) => {
      if (this.armed !== undefined && bytes.includes("COMMIT")) {
        isDoomed = true;
        const cut = this.armed;
        this.armed = undefined;
        this.cuts += 1;
        this.isShut = this.shutsWithCut;
        if (cut === "before") {
          end();
          return;
        }
      }
      server.write(bytes);
    });
    server.on("data", (bytes) => {
      if (!isDoomed) client.write(bytes);
      // The transaction is durable and no client learns of it.
      else if (bytes.includes("COMMIT")) end();
    });
  }
}

let database: PostgresDatabase;
let direct: Store;
let store: Store;
let proxy: CuttingProxy;
let ledger: Ledger;
const errors: unknown[] = [];

beforeAll(async () => {
  database = await createPostgresDatabase();
  const url = new URL(database.url);
  proxy = new CuttingProxy({ host: url.hostname, port: Number(url.port) });
  url.port = String(await proxy.listen());
  direct = await openStore({ dataDir: "unused", databaseUrl: database.url });
  store = await openStore({ dataDir: "unused", databaseUrl: url.href });
});

afterAll(async () => {
  await store.close();
  await direct.close();
  proxy.close();
  await database.drop();
});

beforeEach(() => {
  ledger = createLedger({
    store,
    clock: systemClock,
    node: `node${Math.random()}`,
    onError: (error) => errors.push(error),
  });
});

afterEach(async () => {
  await ledger.close();
  expect(await checkLedger(direct.db)).toEqual([]);
  expect(errors).toEqual([]);
});

test.each(["before", "after"] as const)(
  "a connection lost %s the database had the COMMIT leaves exactly one entry",
  async (cut) => {
    const account = await seedAccount(direct.db, ledger, { quota: 1_000n, remain: 1_000n });
    const cutNext = () => {
      proxy.armed = cut;
    };
    const before = proxy.cuts;
    const held = order(account, 100n);
    cutNext();
    expect(await ledger.reserve(held)).toBe("reserved");
    cutNext();
    expect(await ledger.extend(held.requestId, 50n)).toBe(true);
    expect((await getUser(direct.db, account.userId)).quota).toBe(850);
    cutNext();
    expect(await ledger.settle(bill(held, 30n))).toEqual({ charged: 30n, shortfall: 0n });
    const second = order(account, 100n);
    await ledger.reserve(second);
    cutNext();
    await ledger.release(second.requestId);
    cutNext();
    const gift = {
      userId: account.userId,
      kind: "grant",
      quota: { delta: 5n },
      actorId: 1,
      reason: "",
    } as const;
    expect((await ledger.adjust(gift)).outcome).toBe(cut === "after" ? "repeated" : "done");
    const code = {
      operationId: `redeem-${cut}`,
      userId: account.userId,
      redemptionId: await seedRedemption(direct.db, { quota: 10 }),
      giverId: null,
      inviterId: 0,
      terms: codeTerms,
      display: { quotaPerUnit: 500_000, inCurrency: true },
    };
    cutNext();
    expect(await ledger.redeem(code)).toEqual({ outcome: "done", quota: 10n, bonus: 0n });
    expect(proxy.cuts - before).toBe(6);
    expect(await getUser(direct.db, account.userId)).toMatchObject({
      quota: 985,
      used_quota: 30,
      request_count: 1,
    });
  },
);

test("a reservation that is stored and given up does not stay open", { timeout: 30_000 }, async () => {
  const account = await seedAccount(direct.db, ledger, { quota: 1_000n, remain: 1_000n });
  const held = order(account, 400n);
  proxy.armed = "after";
  proxy.shutsWithCut = true;
  // All its tries take less than the time that the database is away.
  setTimeout(() => {
    proxy.shutsWithCut = false;
    proxy.isShut = false;
  }, 5_000);
  await expect(ledger.reserve(held)).rejects.toThrow();
  expect(proxy.isShut).toBe(true);
  expect((await getUser(direct.db, account.userId)).quota).toBe(600);
  await vi.waitFor(async () => expect((await getUser(direct.db, account.userId)).quota).toBe(1_000), {
    timeout: 8_000,
    interval: 100,
  });
  const open = await direct.db.selectFrom("reservations").select("request_id").execute();
  expect(open).toEqual([]);
});

test("connections killed under load lose and double nothing", { timeout: 30_000 }, async () => {
  const accounts = await Promise.all(
    Array.from({ length: 5 }, () => seedAccount(direct.db, ledger, { quota: 10n ** 9n, remain: 10n ** 9n })),
  );
  let kills = 0;
  const killer = async () => {
    while (kills < 6) {
      await new Promise((resolve) => setTimeout(resolve, 150));
      const killed = await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'tollgate ledger'`.execute(direct.db);
      kills += killed.rows.length;
    }
  };
  const spent = new Map<number, number>();
  const caller = async (index: number) => {
    const account = accounts[index % accounts.length] ?? { userId: 0, tokenId: 0 };
    for (let round = 0; kills < 6; round += 1) {
      const held = order(account, 50n);
      expect(await ledger.reserve(held)).toBe("reserved");
      if (round % 10 === 0) {
        await ledger.release(held.requestId);
        continue;
      }
      expect(await ledger.settle(bill(held, 7n))).toEqual({ charged: 7n, shortfall: 0n });
      spent.set(account.userId, (spent.get(account.userId) ?? 0) + 1);
    }
  };
  await Promise.all([killer(), ...Array.from({ length: 20 }, (_, index) => caller(index))]);
  for (const { userId } of accounts) {
    const calls = spent.get(userId) ?? 0;
    expect(await getUser(direct.db, userId)).toMatchObject({ used_quota: 7 * calls, request_count: calls });
  }
});

test("two nodes that book the same users and channels do not block each other", async () => {
  const other = createLedger({ store: direct, clock: systemClock, node: "other" });
  const channels = await Promise.all([
    seedChannel(direct.db),
    seedChannel(direct.db),
    seedChannel(direct.db),
  ]);
  const accounts = await Promise.all(
    Array.from({ length: 4 }, () => seedAccount(direct.db, ledger, { quota: 100_000n })),
  );
  await Promise.all(
    Array.from({ length: 400 }, async (_, index) => {
      const account = accounts[(index * 7) % 4] ?? { userId: 0, tokenId: 0 };
      const chosen = index % 2 ? ledger : other;
      const held = order(account, 10n);
      expect(await chosen.reserve(held)).toBe("reserved");
      await chosen.settle({ ...bill(held, 3n), channelId: channels[(index * 5) % 3] ?? 0 });
    }),
  );
  await other.close();
});

test("a node whose lock stays free is declared dead although its lease runs; one that connects anew is not", async () => {
  const account = await seedAccount(direct.db, ledger, { quota: 1_000n });
  const cut = createLedger({ store: direct, clock: systemClock, node: "cut" });
  await cut.reserve(order(account, 10n));
  // A node that is gone: its row and its reservation stay, its connection does not.
  const gone = createLedger({ store: direct, clock: systemClock, node: "gone" });
  await gone.reserve(order(account, 20n));
  await gone.close();
  await sql`INSERT INTO nodes (node, lease_until, is_locked) VALUES ('gone', 4000000000, 1)`.execute(
    direct.db,
  );
  // One of an older version, which holds no lock.
  await sql`INSERT INTO nodes (node, lease_until) VALUES ('older', 4000000000)`.execute(direct.db);
  expect(await ledger.recover()).toEqual({ closed: 0 });
  await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'tollgate ledger'`.execute(direct.db);
  let closed = 0;
  await vi.waitFor(
    async () => {
      closed += (await ledger.recover()).closed;
      expect(closed).toBe(1);
    },
    { timeout: 10_000, interval: 300 },
  );
  const left = await direct.db.selectFrom("nodes").select("node").orderBy("node").execute();
  expect(left.map((row) => row.node)).toEqual(expect.arrayContaining(["cut", "older"]));
  expect(left).not.toContainEqual({ node: "gone" });
  await direct.db.deleteFrom("nodes").where("node", "=", "older").execute();
  await cut.close();
  expect(await ledger.recover()).toEqual({ closed: 1 });
});

test("a node whose lease ran out is declared dead; one that is alive is left alone", async () => {
  const account = await seedAccount(direct.db, ledger, { quota: 1_000n });
  const alive = createLedger({ store: direct, clock: systemClock, node: "alive" });
  const held = order(account, 10n);
  await alive.reserve(held);
  expect(await ledger.recover()).toEqual({ closed: 0 });
  await sql`UPDATE nodes SET lease_until = lease_until - 61 WHERE node = 'alive'`.execute(direct.db);
  expect(await ledger.recover()).toEqual({ closed: 1 });
  // It finds out at its next renewal that it was declared dead, and goes on.
  vi.useFakeTimers({ toFake: ["setInterval"] });
  const renewing = createLedger({ store: direct, clock: systemClock, node: "renewing" });
  await renewing.recover();
  await sql`DELETE FROM nodes WHERE node = 'renewing'`.execute(direct.db);
  vi.advanceTimersByTime(20_000);
  vi.useRealTimers();
  await expect
    .poll(() => direct.db.selectFrom("nodes").select("node").where("node", "=", "renewing").execute())
    .toHaveLength(1);
  await renewing.close();
  await alive.close();
  expect(
    await direct.db.selectFrom("nodes").select("node").where("node", "in", ["alive", "renewing"]).execute(),
  ).toEqual([]);
});

test("a connection that is lost again before its process has shown to be alive does not count as alive", async () => {
  const account = await seedAccount(direct.db, ledger, { quota: 1_000n });
  const held = order(account, 100n);
  await ledger.reserve(held);
  const kill = () =>
    sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'tollgate ledger'`.execute(direct.db);
  const locks = async () => {
    const { rows } = await sql`SELECT 1 FROM pg_locks
      WHERE locktype = 'advisory' AND classid = ${0x7012} AND granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`.execute(direct.db);
    return rows.length;
  };
  await direct.db.transaction().execute(async (tx) => {
    // The lease waits for this.
    await sql`LOCK TABLE nodes IN EXCLUSIVE MODE`.execute(tx);
    await kill();
    const waiting = sql`SELECT 1 FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%INTO nodes%'`;
    await expect.poll(async () => (await waiting.execute(direct.db)).rows.length).toBe(1);
    await kill();
    await expect.poll(locks).toBe(0);
  });
  await expect.poll(locks, { timeout: 3_000 }).toBe(1);
  await ledger.release(held.requestId);
});

test("calls of tokens that have one name are stored by the group that they came in", async () => {
  const one = await seedAccount(direct.db, ledger, { quota: 1_000n });
  const tokenId = await seedToken(direct.db, one.userId, { unlimited_quota: 1, name: "same" });
  await direct.db.updateTable("tokens").set({ name: "same" }).where("id", "=", one.tokenId).execute();
  if (store.dialect !== "postgres") throw new Error("this is PostgreSQL");
  const backend = createPostgresBackend(store, "names");
  onTestFinished(() => backend.close());
  const operations = [one, { ...one, tokenId }].map((parties) => ({
    ...{ kind: "settle" as const, ...bill(order(parties, 7n), 7n), log: null },
  }));
  const outcomes: unknown[] = [];
  const nowSec = systemClock.seconds();
  await backend.run({ operations, nowSec, node: "names" }, (_, { kind }) => outcomes.push(kind));
  expect(outcomes).toEqual(["settle", "settle"]);
  const rows = direct.db.selectFrom("log_rollups").select(["quota", "requests"]);
  expect(await rows.where("token_name", "=", "same").execute()).toEqual([{ quota: 14, requests: 2 }]);
});
