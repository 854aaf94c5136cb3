// Keys that change while they are being looked up: the cache is never older than the last change, and calls at once share a look (requirements I67).
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { createTestApp, type TestApp } from "#test/worlds/app.ts";
import { holdReads } from "#test/worlds/held-reads.ts";
import { createPostgresDatabase, type PostgresDatabase } from "#test/worlds/postgres.ts";
import { engines } from "#test/worlds/stores.ts";
import { createAuthenticator } from "./admit.ts";

describe.each(engines)("admission on %s", (engine) => {
  let database: PostgresDatabase | undefined;
  let app: TestApp;
  beforeAll(async () => {
    database = engine === "postgres" ? await createPostgresDatabase() : undefined;
    app = await createTestApp({ databaseUrl: database?.url, env: { SYNC_FREQUENCY: "1" } });
  });
  afterAll(async () => {
    await app.close();
    await database?.drop();
  });

  test.each([
    ["tokens", { name: "disabled", change: { status: 2 } }],
    ["tokens", { name: "deleted", change: { deleted_at: 1 } }],
    ["users", { name: "banned", change: { status: 2 } }],
  ] as const)("of %s: what is %j amid the look-up is not remembered", async (table, { name, change }) => {
    const { db, coord } = app.ctx;
    const user = await seedUser(app.ctx, name);
    const token = await seedToken(app.ctx, user.id);
    const reads = holdReads(db);
    const authenticator = createAuthenticator({ ...app.ctx, db: reads.db });
    const first = reads.hold();
    const admitting = authenticator.authenticate([token.key], "192.0.2.1");
    const held = await first;
    const id = table === "tokens" ? token.id : user.id;
    await db.updateTable(table).set(change).where("id", "=", id).execute();
    await coord.publish(table, String(id));
    held.tell();
    // It came before the change.
    expect(await admitting).toMatchObject({ tokenId: token.id });
    await expect((async () => authenticator.authenticate([token.key], "192.0.2.1"))()).rejects.toThrow();
    authenticator.close();
  });

  test("a key that is forgotten is looked up once for all calls of that moment, and once more for all that are refused", async () => {
    const { db, coord } = app.ctx;
    const user = await seedUser(app.ctx, "crowd");
    const token = await seedToken(app.ctx, user.id);
    let asked = 0;
    const counting = db.withPlugin({
      transformQuery({ node }) {
        asked += 1;
        return node;
      },
      transformResult: ({ result }) => Promise.resolve(result),
    });
    const authenticator = createAuthenticator({ ...app.ctx, db: counting });
    const all = (ask: (address: string) => Promise<unknown>) =>
      Promise.all(Array.from({ length: 300 }, (_, at) => ask(`192.0.2.${at % 200}`)));
    const admit = async (address: string) => authenticator.authenticate([token.key], address);
    await admit("192.0.2.1");
    const ofOne = asked;
    expect(ofOne).toBeGreaterThan(0);
    await coord.publish("users", "");
    await all(admit);
    expect(asked).toBe(2 * ofOne);
    // The ledger has just refused them all: the first look may be older than that for the others, a second one is not.
    await all((address) => authenticator.explain([token.key], address));
    expect(asked).toBeLessThanOrEqual(4 * ofOne);
    authenticator.close();
  });

  test("who asks why it was refused hears of what was so after that, also when others ask at the same time", async () => {
    const { db } = app.ctx;
    const user = await seedUser(app.ctx, "why");
    const token = await seedToken(app.ctx, user.id);
    const reads = holdReads(db);
    const authenticator = createAuthenticator({ ...app.ctx, db: reads.db });
    const first = reads.hold();
    const early = authenticator.explain([token.key], "192.0.2.1");
    const held = await first;
    await db.updateTable("tokens").set({ status: 4 }).where("id", "=", token.id).execute();
    const late = authenticator.explain([token.key], "192.0.2.1");
    held.tell();
    expect(await early).toBeUndefined();
    expect(await late).toMatchObject({ code: "exhausted_key" });
    authenticator.close();
  });

  if (engine === "postgres")
    test("a change that a node did not announce before it died takes effect some time later", async () => {
      const { db } = app.ctx;
      const user = await seedUser(app.ctx, "untold");
      const token = await seedToken(app.ctx, user.id);
      const authenticator = createAuthenticator(app.ctx);
      const models = async () => (await authenticator.authenticate([token.key], "192.0.2.1")).models;
      expect(await models()).toBeUndefined();
      await db.updateTable("tokens").set({ models: "gpt-4" }).where("id", "=", token.id).execute();
      await expect.poll(models).toEqual(new Set(["gpt-4"]));
      authenticator.close();
    });
});
