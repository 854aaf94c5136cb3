// Options that change while they are being read: the last change stands on every node.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { saveOption } from "#server/store/options.ts";
import { createTestApp, type TestApp } from "#test/worlds/app.ts";
import { holdReads } from "#test/worlds/held-reads.ts";
import { createPostgresDatabase, type PostgresDatabase } from "#test/worlds/postgres.ts";
import { engines } from "#test/worlds/stores.ts";
import { createOptions } from "./options.ts";

describe.each(engines)("options on %s", (engine) => {
  let database: PostgresDatabase | undefined;
  let app: TestApp;
  beforeAll(async () => {
    database = engine === "postgres" ? await createPostgresDatabase() : undefined;
    app = await createTestApp({ databaseUrl: database?.url });
  });
  afterAll(async () => {
    await app.close();
    await database?.drop();
  });

  /** Another node changes the name of the site. */
  async function rename(name: string): Promise<void> {
    await saveOption(app.ctx.db, "SystemName", name);
    await app.ctx.coord.publish("options", "");
  }

  test("a change while a node reads them for the first time is not missed", async () => {
    const reads = holdReads(app.ctx.db);
    const first = reads.hold();
    const starting = createOptions({ ...app.ctx, db: reads.db });
    const held = await first;
    await rename("amid the start");
    held.tell();
    const options = await starting;
    await expect.poll(() => options.get("SystemName")).toBe("amid the start");
    options.close();
  });

  test("of two changes the last one stands, however late the answer about the first is", async () => {
    const reads = holdReads(app.ctx.db);
    const options = await createOptions({ ...app.ctx, db: reads.db });
    const first = reads.hold();
    await rename("first");
    const held = await first;
    await rename("second");
    held.tell();
    await expect.poll(() => options.get("SystemName")).toBe("second");
    options.close();
  });

  test("a change that could not be read is read again soon", async () => {
    const reads = holdReads(app.ctx.db);
    const options = await createOptions({ ...app.ctx, db: reads.db });
    const first = reads.hold();
    await rename("after a failure");
    (await first).tell(new Error("the line broke"));
    await expect.poll(() => options.get("SystemName")).toBe("after a failure");
    options.close();
  });
});
