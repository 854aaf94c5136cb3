// Whether the default password is in use, while it is being changed.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { hashPassword } from "#server/secrets.ts";
import { createTestApp, type TestApp } from "#test/worlds/app.ts";
import { holdReads } from "#test/worlds/held-reads.ts";
import { createDefaultPassword } from "./default-password.ts";
import { DEFAULT_PASSWORD } from "./password.ts";

let app: TestApp;
beforeAll(async () => {
  app = await createTestApp();
});
afterAll(() => app.close());

async function setPassword(password: string): Promise<void> {
  const hash = await hashPassword(password);
  await app.ctx.db.updateTable("users").set({ password: hash }).where("role", "=", 100).execute();
}

test("of two changes the last one counts, however late the answer about the first is", async () => {
  const { db, coord } = app.ctx;
  await setPassword(DEFAULT_PASSWORD);
  const reads = holdReads(db);
  const shipped = createDefaultPassword({ db: reads.db, coord });
  const first = reads.hold();
  const checked = shipped.check();
  const held = await first;
  await setPassword("another-password-1");
  await coord.publish("users", "1");
  const again = shipped.check();
  // Time for the second check to overtake the first.
  await Promise.race([again, sleep(1_000)]);
  held.tell();
  await Promise.all([checked, again]);
  expect(shipped.isInUse).toBe(false);
  shipped.close();
});
