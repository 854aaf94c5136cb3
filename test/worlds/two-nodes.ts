// Two nodes of one PostgreSQL, each with a port of its own: what tests of calls over several nodes share.
import { afterAll, beforeAll, expect, vi } from "vitest";
import type { OptionKey } from "#contract/option.ts";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createTestApp, type TestApp } from "./app.ts";
import { createPostgresDatabase, type PostgresDatabase } from "./postgres.ts";

const MASTER_KEY = "one master key for both nodes of the test";

/** On a busy machine. */
export const PATIENCE = { timeout: 20_000 };

export interface TwoNodes {
  /** A test that ends a node takes it and its address out. */
  readonly apps: TestApp[];
  readonly urls: string[];
  /** The node with this index. */
  node(at: number): TestApp;
  /** Adds a channel for a model, and waits until both nodes have it. */
  addChannel(model: string, draft: { readonly base_url: string; readonly type?: number }): Promise<void>;
  /** Sets an option, and waits until both nodes have it. */
  set(option: OptionKey, text: string): Promise<void>;
  /** A user with plenty of quota, and the key of a token of his. */
  newcomer(name: string): Promise<{ readonly userId: number; readonly key: string }>;
}

/** Opens the nodes before the first test of the file, and closes them after the last. */
export function twoNodes(): TwoNodes {
  const apps: TestApp[] = [];
  const urls: string[] = [];
  let database: PostgresDatabase;
  beforeAll(async () => {
    database = await createPostgresDatabase();
    for (let at = 0; at < 2; at += 1) {
      const app = await createTestApp({ databaseUrl: database.url, env: { MASTER_KEY } });
      apps.push(app);
      urls.push(await app.listen());
    }
  }, 60_000);
  afterAll(async () => {
    for (const app of apps) await app.close();
    await database.drop();
  });
  const node = (at: number) => apps[at] ?? expect.fail();
  return {
    apps,
    urls,
    node,
    async addChannel(model, draft) {
      const found = () => apps.map(({ ctx }) => ctx.candidates.find("default", model).length);
      const wanted = found().map((count) => count + 1);
      const more = {
        type: 8,
        name: "c",
        key: `sk-${draft.base_url}`,
        models: model,
        group: "default",
        ...draft,
      };
      await node(0).call(asRoot, "POST", "/api/channel/", more);
      await vi.waitFor(() => expect(found()).toEqual(wanted), PATIENCE);
    },
    async set(option, text) {
      await node(0).ctx.options.set(option, text);
      const read = () => apps.map(({ ctx }) => ctx.options.get(option));
      const [wanted] = read();
      await vi.waitFor(() => expect(read()).toEqual([wanted, wanted]), PATIENCE);
    },
    async newcomer(name) {
      const { ctx } = node(0);
      const { id: userId } = await seedUser(ctx, name);
      const quota = { delta: 10n ** 9n };
      await ctx.ledger.adjust({ userId, kind: "grant", quota, actorId: 1, reason: "test" });
      return { userId, key: (await seedToken(ctx, userId)).key };
    },
  };
}
