// The relay on real HTTP over a temporary database, with a scripted provider: what the relay's tests share. Nothing of ours is
// faked; the provider's time limits are short.
import { createServer, type Server } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach } from "vitest";
import type { OptionKey } from "#contract/option.ts";
import { EarlyAnswer } from "#server/app/early-answer.ts";
import type { Context } from "#server/context.ts";
import { createRelay, type Relay } from "#server/relay/relay.ts";
import { chatReply, createFakeUpstream, type FakeUpstream, json } from "#test/emulators/fake-upstream.ts";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { createTestApp, type TestApp, type TestAppOptions, type TestDatabase } from "./app.ts";
import { seedChannel } from "./stores.ts";

export const CHANNEL_KEY = "sk-canary-upstream-key-0123456789";
/** Model ratio 15, completion ratio 2: prices are easy to see. */
export const MODEL = "gpt-4";
/** Nine prompt tokens by our own count. */
export const QUESTION = {
  model: MODEL,
  messages: [{ role: "user", content: "hello world" }],
  max_tokens: 100,
};

export interface ChannelSeed {
  readonly baseUrl?: string;
  readonly type?: number;
  readonly models?: string;
  readonly priority?: number;
  readonly weight?: number;
  readonly status?: number;
  readonly group?: string;
  readonly mapping?: Record<string, string>;
  readonly key?: string;
}

export interface AskInit {
  /** Another relay than the world's own. */
  readonly url?: string;
  readonly path?: string;
  readonly key?: string;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

export interface ErrorSeen {
  readonly status: number;
  readonly message: string;
  readonly type: string;
  readonly code: unknown;
  readonly param: unknown;
}

/** Reads an error answer. */
export async function errorOf(response: Response): Promise<ErrorSeen> {
  // Every refusal of the relay has this shape; a test that gets another fails on its first look.
  const { error } = (await response.json()) as { error: Omit<ErrorSeen, "status"> };
  return { status: response.status, ...error };
}

export class World {
  #app: TestApp | undefined;
  #upstream: FakeUpstream | undefined;
  /** Where the relay listens. Its time limits are those of production: a loaded machine answers late. */
  url = "";
  /** Where a relay listens that soon closes silent connections. */
  hastyUrl = "";
  userId = 0;
  /** What the process does with the relay when it ends. */
  stopRelay: () => Promise<void> = () => Promise.resolve();
  /** Lets another relay listen, until the end of the file, and tells where. */
  serve: (relay: Relay) => Promise<string> = () => Promise.reject(new Error("the world is not set up yet"));
  /** A fresh unlimited token for each test. */
  token = { id: 0, key: "" };

  /** The management API beside the relay. */
  get app(): TestApp {
    if (this.#app === undefined) throw new Error("the world is not set up yet");
    return this.#app;
  }

  get ctx(): Context {
    return this.app.ctx;
  }

  get upstream(): FakeUpstream {
    if (this.#upstream === undefined) throw new Error("the world is not set up yet");
    return this.#upstream;
  }

  fill(app: TestApp, upstream: FakeUpstream): void {
    this.#app = app;
    this.#upstream = upstream;
  }

  async addChannel(seed: ChannelSeed = {}): Promise<number> {
    const { ctx } = this;
    const key = seed.key ?? CHANNEL_KEY;
    const id = await seedChannel(ctx.db, {
      type: seed.type ?? 8,
      key_hash: ctx.secrets.hash(key),
      key_sealed: ctx.secrets.seal(key, "channels.key"),
      status: seed.status ?? 1,
      weight: seed.weight ?? 0,
      priority: seed.priority ?? 0,
      base_url: seed.baseUrl ?? this.upstream.url,
      models: seed.models ?? MODEL,
      group: seed.group ?? "default",
      model_mapping: seed.mapping ? JSON.stringify(seed.mapping) : "",
    });
    await ctx.candidates.reload();
    return id;
  }

  async clearChannels(): Promise<void> {
    await this.ctx.db.updateTable("channels").set({ deleted_at: 1 }).execute();
    await this.ctx.candidates.reload();
  }

  setOption(key: OptionKey, value: string): Promise<void> {
    return this.ctx.options.set(key, value);
  }

  /** Changes the test's token and tells all caches. */
  async changeToken(set: Record<string, number | string>): Promise<void> {
    await this.ctx.db.updateTable("tokens").set(set).where("id", "=", this.token.id).execute();
    await this.ctx.coord.publish("tokens", String(this.token.id));
  }

  /** Posts a body (an object or raw text) with the test's token. */
  ask(body: unknown, init: AskInit = {}): Promise<Response> {
    return fetch(`${init.url ?? this.url}${init.path ?? "/v1/chat/completions"}`, {
      method: "POST",
      headers: {
        authorization: `Bearer sk-${init.key ?? this.token.key}`,
        "content-type": "application/json",
        ...init.headers,
      },
      body: typeof body === "string" ? body : JSON.stringify(body),
      ...(init.signal ? { signal: init.signal } : {}),
    });
  }

  /** Balance, open reservations and consumption log of the test's user. */
  async money() {
    const { db } = this.ctx;
    const user = await db
      .selectFrom("users")
      .select("quota")
      .where("id", "=", this.userId)
      .executeTakeFirstOrThrow();
    const open = await db.selectFrom("reservations").select("request_id").execute();
    const logs = await db
      .selectFrom("logs")
      .selectAll()
      .where("type", "=", 2)
      .orderBy("id", "desc")
      .execute();
    return { quota: user.quota, open: open.length, log: logs[0], logs: logs.length };
  }

  /** The money once nothing is set aside any more, or after ten seconds. */
  async #settled() {
    for (let tries = 0; tries < 500 && (await this.money()).open > 0; tries += 1) await sleep(20);
    // Read again: the balance of that look was older than its reservations.
    return this.money();
  }

  /** What an action cost. A client that left does not wait for the settlement, so this does. */
  async costOf(action: () => Promise<unknown>) {
    // What an earlier test left running has nothing to do with this one.
    const before = await this.#settled();
    await action();
    const after = await this.#settled();
    return {
      charged: before.quota - after.quota,
      open: after.open,
      entries: after.logs - before.logs,
      log: after.log,
    };
  }
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return `http://127.0.0.1:${address.port}`;
}

export interface WorldOptions extends Pick<TestAppOptions, "logger" | "clock"> {
  /** Absent = SQLite. */
  readonly database?: TestDatabase;
}

/** Sets the world up for the tests of a file, or of a part of it, and cleans it before each of them. */
export function createRelayWorld({ database, ...options }: WorldOptions = {}): World {
  const world = new World();
  const closers: (() => unknown)[] = [];

  beforeAll(async () => {
    const made = await database?.create();
    closers.push(() => made?.drop());
    const app = await createTestApp({ ...options, databaseUrl: made?.url });
    closers.push(() => app.close());
    const upstream = await createFakeUpstream();
    closers.push(() => upstream.close());
    world.fill(app, upstream);
    world.serve = async (relay) => {
      const server = createServer({ ServerResponse: EarlyAnswer }, relay).on("upgrade", relay.upgrade);
      closers.push(() => {
        server.closeAllConnections();
        server.close();
      });
      return listening(server);
    };
    const relay = createRelay(app.ctx);
    world.stopRelay = () => relay.cut();
    world.url = await world.serve(relay);
    const limits = { firstByteMs: 1_000, idleMs: 1_000, totalMs: 1_500 };
    const times = { pingMs: 500, idleMs: 1_500, lifeMs: 60_000 };
    world.hastyUrl = await world.serve(createRelay(app.ctx, limits, undefined, times));
    world.userId = (await seedUser(app.ctx, "caller")).id;
    const quota = { delta: 10n ** 12n };
    await app.ctx.ledger.adjust({ userId: world.userId, kind: "grant", quota, actorId: 1, reason: "test" });
  });

  afterAll(async () => {
    for (const close of closers.toReversed()) await close();
  });

  beforeEach(async () => {
    await world.clearChannels();
    world.upstream.journal.length = 0;
    world.upstream.script(json(chatReply("hi")));
    world.token = await seedToken(world.ctx, world.userId);
    await world.setOption("RetryTimes", "0");
  });

  return world;
}
