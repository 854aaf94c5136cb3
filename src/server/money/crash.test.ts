// A real process under load, killed without warning (requirements M12): what it acknowledged is booked, what was open is
// recovered, and the sums are exact.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "#server/clock.ts";
import type { Db, Store } from "#server/store/db.ts";
import { rounds } from "#test/worlds/soak.ts";
import { createTestDatabase, engines, seedAccount, type TestDatabase } from "#test/worlds/stores.ts";
import { createLedger } from "./ledger.ts";
import { checkLedger } from "./ledger-check.ts";

const CYCLES = rounds(2, 50);
const CALLERS = 40;

/** Calls without end: reserve, sometimes extend, checkpoint, then settle or release; prints each settlement that was acknowledged. */
const PROGRAM = `
  import { openStore } from "#server/store/db.ts";
  import { createLedger } from "#server/money/ledger.ts";
  import { systemClock } from "#server/clock.ts";
  const { options, account, node } = JSON.parse(process.argv[1]);
  const ledger = createLedger({ store: await openStore(options), clock: systemClock, node });
  await ledger.recover();
  let serial = 0;
  async function call() {
    const requestId = node + "-" + (serial += 1);
    const n = serial;
    const verdict = await ledger.reserve({ requestId, ...account, amount: 20n, modelName: "m" });
    if (verdict !== "reserved") throw new Error(verdict);
    if (n % 3 === 0) await ledger.extend(requestId, 5n);
    if (n % 2 === 0) {
      ledger.checkpoint(requestId, { charge: 7n, promptTokens: 3, completionTokens: 4, channelId: 0 });
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    if (n % 7 === 0) return ledger.release(requestId);
    const charge = BigInt(n % 20);
    const log = { content: "", model_name: "m", elapsed_time: 1, first_byte_time: 1, is_stream: 0, estimated: 0, trail: "" };
    const usage = { promptTokens: 1, completionTokens: 1, cachedTokens: 0 };
    await ledger.settle({ requestId, ...account, channelId: 0, charge, usage, log });
    process.stdout.write(requestId + " " + charge + "\\n");
  }
  for (let index = 0; index < ${CALLERS}; index += 1) (async () => { for (;;) await call(); })();
`;

describe.each(engines)("a killed process on %s", (engine) => {
  let database: TestDatabase;
  let account: { userId: number; tokenId: number };

  const withStore = async <T>(work: (store: Store) => Promise<T>): Promise<T> => {
    const store = await database.open();
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  };

  beforeAll(async () => {
    database = await createTestDatabase(engine);
    account = await withStore(async (store) => {
      const ledger = createLedger({ store, clock: systemClock, node: "setup" });
      const made = await seedAccount(store.db, ledger, { quota: 10n ** 12n, remain: 10n ** 12n });
      await ledger.close();
      return made;
    });
  });

  afterAll(() => database.drop());

  /** The server may still be at the last group of a client that is gone. */
  const bankIsGone = (db: Db) =>
    expect
      .poll(async () => {
        const { rows } = await sql`SELECT pid FROM pg_stat_activity
          WHERE datname = current_database() AND application_name = 'tollgate ledger'`.execute(db);
        return rows.length;
      })
      .toBe(0);

  /** Runs the program for a moment, kills it, and returns the settlements it had acknowledged. */
  async function runAndKill(node: string, lifeMs: number): Promise<Map<string, number>> {
    const input = JSON.stringify({ options: database.options, account, node });
    const child = spawn(process.execPath, ["--input-type=module", "-e", PROGRAM, input], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const acknowledged = new Map<string, number>();
    const lines = createInterface(child.stdout).on("line", (line) => {
      const [requestId = "", charge] = line.split(" ");
      acknowledged.set(requestId, Number(charge));
    });
    await once(child.stdout, "data");
    await new Promise((resolve) => setTimeout(resolve, lifeMs));
    child.kill("SIGKILL");
    await once(lines, "close");
    return acknowledged;
  }

  test("loses nothing it acknowledged and leaves nothing open", { timeout: 240_000 }, async () => {
    for (let cycle = 1; cycle <= CYCLES; cycle += 1) {
      const node = `cycle${cycle}`;
      const acknowledged = await runAndKill(node, 60 + cycle * 90);
      await withStore(async (store) => {
        const { db } = store;
        expect(acknowledged.size).toBeGreaterThan(0);
        if (engine === "postgres") await bankIsGone(db);
        const ledger = createLedger({
          store: { ...store, db } as Store,
          clock: systemClock,
          node: `after${cycle}`,
        });
        const open = await db.selectFrom("reservations").select("request_id").execute();
        // On PostgreSQL the lock of the dead process must have been free for a while; its lease runs on.
        let closed = 0;
        await expect
          .poll(
            async () => {
              closed += (await ledger.recover()).closed;
              return closed;
            },
            { interval: 500 },
          )
          .toBe(open.length);
        await ledger.close();
        const booked = await db
          .selectFrom("ledger")
          .select(["request_id", "amount"])
          .where("kind", "=", "consume")
          .where("request_id", "like", `${node}-%`)
          .execute();
        const amounts = new Map(booked.map((entry) => [entry.request_id ?? "", 0 - entry.amount]));
        expect(amounts.size).toBe(booked.length);
        for (const [requestId, charge] of acknowledged) expect(amounts.get(requestId)).toBe(charge);
        // Recovery charges the checkpoint or nothing.
        for (const { request_id } of open) expect([0, 7]).toContain(amounts.get(request_id));
        expect(await db.selectFrom("reservations").select("request_id").execute()).toEqual([]);
        expect(await checkLedger(db)).toEqual([]);
      });
    }
  });
});
