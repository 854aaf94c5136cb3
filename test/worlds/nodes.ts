// One node on SQLite, or several on one PostgreSQL: what tests of calls that all nodes count together share.
import { afterAll, beforeAll, expect, vi } from "vitest";
import { createFakeUpstream, type FakeUpstream } from "#test/emulators/fake-upstream.ts";
import { asRoot, createTestApp, type TestApp, type TestAppOptions } from "./app.ts";
import { createPostgresDatabase, type PostgresDatabase } from "./postgres.ts";
import type { Engine } from "./stores.ts";

const MASTER_KEY = "one master key for all nodes of the test";
/** On a busy machine. */
export const PATIENCE = { timeout: 20_000 };

export interface Nodes {
  /** A test that ends a node takes it and its address out. */
  readonly apps: TestApp[];
  readonly urls: string[];
  /** The node with this index. */
  node(at: number): TestApp;
  first(): TestApp;
}

interface NodesOptions extends Pick<TestAppOptions, "clock"> {
  /** How many there are on PostgreSQL. */
  readonly count: number;
}

/** Opens the nodes before the first test of a block, and closes them after the last. */
export function createNodes(engine: Engine, { count, ...options }: NodesOptions): Nodes {
  const apps: TestApp[] = [];
  const urls: string[] = [];
  let database: PostgresDatabase | undefined;
  beforeAll(async () => {
    database = engine === "postgres" ? await createPostgresDatabase() : undefined;
    const shared = database && { databaseUrl: database.url, env: { MASTER_KEY } };
    for (let at = 0; at < (database ? count : 1); at += 1) {
      const app = await createTestApp({ ...options, ...shared });
      apps.push(app);
      urls.push(await app.listen());
    }
  }, 60_000);
  afterAll(async () => {
    for (const app of apps) await app.close();
    await database?.drop();
  });
  const node = (at: number) => apps[at] ?? expect.fail();
  return { apps, urls, node, first: () => node(0) };
}

export interface CallNodes extends Nodes {
  readonly upstream: FakeUpstream;
  /** Adds a channel for `gpt-4` that leads to the upstream, and waits until all nodes have it. */
  addChannel(group?: string): Promise<void>;
}

/** The same beside a scripted upstream. Nothing is set aside for a call but what it may cost. */
export function createCallNodes(engine: Engine, options: NodesOptions): CallNodes {
  const nodes = createNodes(engine, options);
  let upstream: FakeUpstream | undefined;
  beforeAll(async () => {
    upstream = await createFakeUpstream();
    await nodes.first().ctx.options.set("PreConsumedQuota", "0");
    for (const { ctx } of nodes.apps)
      await vi.waitFor(() => expect(ctx.options.get("PreConsumedQuota")).toBe(0), PATIENCE);
  });
  afterAll(() => upstream?.close());
  const calls = {
    ...nodes,
    get upstream() {
      return upstream ?? expect.fail("the nodes are not open yet");
    },
    async addChannel(group = "default") {
      const draft = { type: 8, name: "c", key: "k", base_url: calls.upstream.url, models: "gpt-4", group };
      await nodes.first().call(asRoot, "POST", "/api/channel/", draft);
      for (const { ctx } of nodes.apps)
        await vi.waitFor(() => expect(ctx.candidates.find(group, "gpt-4")).toHaveLength(1), PATIENCE);
    },
  };
  return calls;
}
