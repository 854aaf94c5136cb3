// A disk that loses everything after its last sync: a settlement that a caller was told of before the power was cut is found there
// (requirements M11, F04).
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { systemClock } from "#server/clock.ts";
import { createLedger } from "#server/money/ledger.ts";
import { createDice } from "#test/seeds/random.ts";
import { bill, order } from "#test/worlds/ledger-world.ts";
import { createTestDatabase, seedAccount } from "#test/worlds/stores.ts";

/** In the writer's thread: each sync leaves a copy of what the disk has then, and counts it. */
const CAMERA = new URL(`data:text/javascript,
  import fs from "node:fs";
  import { syncBuiltinESMExports } from "node:module";
  export function run(database, shared) {
    const images = new Int32Array(shared);
    const { fdatasyncSync } = fs;
    fs.fdatasyncSync = (handle) => {
      fdatasyncSync(handle);
      const file = database.location();
      for (const end of ["", "-wal"]) fs.copyFileSync(file + end, file + "." + images[0] + end);
      images[0] += 1;
    };
    syncBuiltinESMExports();
  }
  export function flush() {}`);

const CALLS = 150;
const CALLERS = 12;

/** Whether the image has booked the call: in the table, or in the journal as a settlement. */
function isBooked(image: DatabaseSync, requestId: string): boolean {
  const row = image
    .prepare(
      "SELECT (SELECT count(*) FROM ledger WHERE request_id = ?) + (SELECT count(*) FROM journal WHERE instr(batch, ?)) AS n",
    )
    .get(requestId, `[1,"${requestId}",`);
  return Number(row?.["n"]) > 0;
}

test("what was told as settled is in the last image of the disk before it was told", async () => {
  const database = await createTestDatabase("sqlite");
  const store = await database.open();
  if (store.dialect !== "sqlite") throw new Error("the test needs SQLite");
  const ledger = createLedger({ store, clock: systemClock, node: "n" });
  const account = await seedAccount(store.db, ledger, { quota: 1_000_000n, remain: 1_000_000n });
  const images = new Int32Array(new SharedArrayBuffer(4));
  await store.runInWriter(CAMERA, images.buffer);
  const roll = createDice(11);
  const told: { requestId: string; image: number }[] = [];
  const caller = async () => {
    for (let at = 0; at < CALLS / CALLERS; at += 1) {
      const call = order(account, 10n);
      await ledger.reserve(call);
      await new Promise((resolve) => setTimeout(resolve, roll(4)));
      await ledger.settle({ ...bill(call, 5n), mayWait: roll(2) === 0 });
      told.push({ requestId: call.requestId, image: Atomics.load(images, 0) - 1 });
      // Others look now and then, which carries over, and so do those whose commits are their own.
      if (roll(10) === 0) await store.db.selectFrom("users").select("id").execute();
      if (roll(20) === 0) await store.db.deleteFrom("options").where("key", "=", "").execute();
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  const file = join(database.options.dataDir, "tollgate.db");
  const opened = new Map<number, DatabaseSync>();
  for (const { requestId, image } of told) {
    const known = opened.get(image) ?? new DatabaseSync(`${file}.${image}`);
    opened.set(image, known);
    expect(isBooked(known, requestId), `${requestId} in image ${image}`).toBe(true);
  }
  expect(told).toHaveLength(Math.ceil(CALLS / CALLERS) * CALLERS);
  expect(opened.size).toBeGreaterThan(5);
  // And the images are whole databases.
  for (const [, image] of opened) {
    expect(image.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
    image.close();
  }
  await ledger.close();
  await store.close();
  await database.drop();
});
