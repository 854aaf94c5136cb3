// What the tests of the route explainer share: an app that listens, channels, a caller, and what administrators are told of his calls.
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import type { RouteDecision } from "#contract/route.ts";
import { createFakeUpstream, type FakeUpstream } from "#test/emulators/fake-upstream.ts";
import { type SeededUser, seedToken, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, type TestApp, type TestDatabase } from "./app.ts";

/** An app with nothing in it, for the tests of a block. */
export class RouteWorld {
  #app: TestApp | undefined;
  #upstream: FakeUpstream | undefined;
  user: SeededUser | undefined;
  token = { id: 0, key: "" };
  url = "";

  get app(): TestApp {
    return this.#app ?? expect.fail("the world is not set up yet");
  }

  get upstream(): FakeUpstream {
    return this.#upstream ?? expect.fail("the world is not set up yet");
  }

  async open(database: TestDatabase): Promise<void> {
    this.#app = await createAppOn(database);
    this.#upstream = await createFakeUpstream();
    this.url = await this.app.listen();
    this.user = await seedUser(this.app.ctx, "caller");
    this.token = await seedToken(this.app.ctx, this.user.id);
    await this.app.ctx.options.set("ChannelQueueSeconds", "0");
    await this.app.ctx.options.set("RetryTimes", "3");
  }

  async close(): Promise<void> {
    await this.#app?.close();
    await this.#upstream?.close();
  }

  /** Adds one whose key is its name. */
  async channel(name: string, draft: object = {}): Promise<void> {
    const usual = {
      ...{ type: 8, name, key: name, base_url: this.upstream.url, models: "gpt-4", group: "default" },
      ...draft,
    };
    expect(await this.app.call(asRoot, "POST", "/api/channel/", usual)).toMatchObject({ success: true });
  }

  async dropChannels(): Promise<void> {
    await this.app.ctx.db.updateTable("channels").set({ deleted_at: 1 }).execute();
    await this.app.ctx.candidates.reload();
  }

  /** The number of the entry of the log that this work brings. */
  async logged(work: () => Promise<unknown>): Promise<number> {
    const newest = async () => {
      const logs = this.app.ctx.db.selectFrom("logs").select("id");
      return (await logs.orderBy("id", "desc").executeTakeFirst())?.id ?? 0;
    };
    const before = await newest();
    await work();
    await expect.poll(newest).toBeGreaterThan(before);
    return newest();
  }

  async decision(id: number): Promise<RouteDecision> {
    const { data, message, success } = await this.app.call(asRoot, "GET", `/api/route/call/${id}`);
    expect([success, message]).toEqual([true, ""]);
    return data;
  }
}

/** Group by group what became of each candidate. */
export function verdictsOf({ groups }: RouteDecision) {
  return groups.map(({ group, candidates }) => [
    group,
    Object.fromEntries(candidates.map(({ name, verdict }) => [name, verdict])),
  ]);
}

/** Sets it up for the tests of a block; each begins without channels. */
export function createRouteWorld(database: TestDatabase): RouteWorld {
  const world = new RouteWorld();
  beforeAll(() => world.open(database));
  afterEach(() => world.dropChannels());
  afterAll(() => world.close());
  return world;
}
