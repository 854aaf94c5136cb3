// A disk that refuses to write or to read the log for a while: groups wait, what was answered stays true, nothing is booked twice
// (requirements F04).
import { closeSync, constants, openSync, readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "#server/clock.ts";
import { createDice } from "#test/seeds/random.ts";
import { bill, order } from "#test/worlds/ledger-world.ts";
import { createTestDatabase, seedAccount } from "#test/worlds/stores.ts";
import { createLedger } from "./ledger.ts";
import { checkLedger } from "./ledger-check.ts";

const DESCRIPTORS = "/proc/self/fd";
const CALLS = 120;
const CALLERS = 8;
const SPELLS = 25;

function descriptorsOf(file: string): number[] {
  return readdirSync(DESCRIPTORS)
    .map(Number)
    .filter((handle) => {
      try {
        return readlinkSync(`${DESCRIPTORS}/${handle}`) === file;
      } catch {
        // The one that the directory was read with.
        return false;
      }
    });
}

/** Every descriptor of the file opens it another way from now on: below SQLite, by descriptor numbers. */
function reopen(file: string, flags: number): void {
  // The lowest free number is given out first: those below are taken meanwhile.
  const fillers: number[] = [];
  for (const handle of descriptorsOf(file)) {
    while ((fillers.at(-1) ?? -1) < handle) fillers.push(openSync("/dev/null", "r"));
    closeSync(handle);
    let taken = openSync(file, flags);
    // Another thread of the process may open a file between the two calls: its number is free again when it is done.
    for (const until = performance.now() + 5_000; taken !== handle && performance.now() < until; ) {
      closeSync(taken);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
      taken = openSync(file, flags);
    }
    expect(taken).toBe(handle);
  }
  for (const filler of fillers) closeSync(filler);
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test.each([
  ["written", constants.O_RDONLY],
  ["read", constants.O_WRONLY],
])("a log that cannot be %s for moments costs time and nothing else", async (_, flags) => {
  const database = await createTestDatabase("sqlite");
  const store = await database.open();
  const ledger = createLedger({ store, clock: systemClock, node: "n" });
  const account = await seedAccount(store.db, ledger, { quota: 1_000_000n, remain: 1_000_000n });
  // A connection that cannot read the schema when it first wants to says that there are no tables.
  await store.db.selectFrom("users").select("id").execute();
  const log = join(database.options.dataDir, "tollgate.db-wal");
  const roll = createDice(flags + 5);
  const told: string[] = [];
  const refused: unknown[] = [];
  let isOver = false;
  const caller = async () => {
    for (let at = 0; at < CALLS / CALLERS || !isOver; at += 1) {
      const call = order(account, 10n);
      try {
        await ledger.reserve(call);
      } catch (error) {
        refused.push(error);
        await pause(1);
        continue;
      }
      await pause(roll(4));
      await ledger.settle({ ...bill(call, 5n), mayWait: roll(2) === 0 });
      told.push(call.requestId);
      // Other clients read meanwhile; they get an error, and may come again.
      if (roll(10) === 0) {
        await store.db
          .selectFrom("users")
          .select("id")
          .execute()
          .catch((error: unknown) => refused.push(error));
      }
    }
  };
  const disk = async () => {
    // On a slow machine it may be that no caller writes during the first spells.
    for (let spell = 0; spell < SPELLS || (refused.length === 0 && spell < 10 * SPELLS); spell += 1) {
      await pause(roll(30));
      reopen(log, flags);
      await pause(roll(30));
      reopen(log, constants.O_RDWR);
    }
    isOver = true;
  };
  await Promise.all([disk(), ...Array.from({ length: CALLERS }, caller)]);
  await ledger.close();
  expect(await checkLedger(store.db)).toEqual([]);
  const booked = await store.db
    .selectFrom("ledger")
    .select("request_id")
    .where("kind", "=", "consume")
    .execute();
  expect(booked.map((row) => row.request_id).sort()).toEqual(told.sort());
  // The fault was noticed, and no caller was told of another one.
  expect(refused.length).toBeGreaterThan(0);
  for (const error of refused) expect(error).toMatchObject({ kind: "broken", message: "disk I/O error" });
  expect(await store.db.selectFrom("reservations").select("request_id").execute()).toEqual([]);
  await store.close();
  await database.drop();
});
