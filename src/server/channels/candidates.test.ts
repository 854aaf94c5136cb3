// Channels that change while they are being read: the last change stands on every node.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestApp, type TestApp } from "#test/worlds/app.ts";
import { holdReads } from "#test/worlds/held-reads.ts";
import { createPostgresDatabase, type PostgresDatabase } from "#test/worlds/postgres.ts";
import { engines, seedChannel } from "#test/worlds/stores.ts";
import { createCandidates } from "./candidates.ts";

describe.each(engines)("candidates on %s", (engine) => {
  let database: PostgresDatabase | undefined;
  let app: TestApp;
  let id: number;
  beforeAll(async () => {
    database = engine === "postgres" ? await createPostgresDatabase() : undefined;
    app = await createTestApp({ databaseUrl: database?.url });
    const { db, secrets } = app.ctx;
    id = await seedChannel(db, {
      key_hash: secrets.hash("sk-x"),
      key_sealed: secrets.seal("sk-x", "channels.key"),
    });
  });
  afterAll(async () => {
    await app.close();
    await database?.drop();
  });

  /** Another node changes the name of the channel. */
  async function rename(name: string): Promise<void> {
    await app.ctx.db.updateTable("channels").set({ name }).where("id", "=", id).execute();
    await app.ctx.coord.publish("channels", String(id));
  }

  test("a change while a node reads them for the first time is not missed", async () => {
    const reads = holdReads(app.ctx.db);
    const first = reads.hold();
    const starting = createCandidates({ ...app.ctx, db: reads.db });
    const held = await first;
    await rename("amid the start");
    held.tell();
    const candidates = await starting;
    await expect.poll(() => candidates.byId(id)?.name).toBe("amid the start");
    candidates.close();
  });

  test("a change amid a rebuild is in the next one, which begins at once", async () => {
    const reads = holdReads(app.ctx.db);
    const candidates = await createCandidates({ ...app.ctx, db: reads.db });
    const first = reads.hold();
    await rename("first");
    const held = await first;
    await rename("second");
    held.tell();
    await candidates.pending;
    expect(candidates.byId(id)?.name).toBe("second");
    candidates.close();
  });

  test("a change that could not be read is read again soon", async () => {
    const reads = holdReads(app.ctx.db);
    const candidates = await createCandidates({ ...app.ctx, db: reads.db });
    const first = reads.hold();
    await rename("after a failure");
    const held = await first;
    const { pending } = candidates;
    held.tell(new Error("the line broke"));
    // Calls that wait are served by the old snapshot.
    await expect(pending).resolves.toBeUndefined();
    expect(candidates.find("default", "gpt-4o")).toMatchObject([{ name: "second" }]);
    await expect.poll(() => candidates.byId(id)?.name).toBe("after a failure");
    candidates.close();
  });

  test("a key is opened once, and forgotten with its channel", async () => {
    const { db, secrets } = app.ctx;
    let openings = 0;
    const open: typeof secrets.open = (sealed, context) => {
      openings += 1;
      return secrets.open(sealed, context);
    };
    const candidates = await createCandidates({ ...app.ctx, secrets: { ...secrets, open } });
    await candidates.reload();
    expect(openings).toBe(1);
    for (const deleted_at of [1, 0]) {
      await db.updateTable("channels").set({ deleted_at }).where("id", "=", id).execute();
      await candidates.reload();
    }
    expect(openings).toBe(2);
    candidates.close();
  });
});
