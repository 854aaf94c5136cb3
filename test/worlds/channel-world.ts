// The management API beside a scripted provider that channels lead to: what tests of runs over channels share.
import { afterAll, beforeAll, beforeEach, vi } from "vitest";
import type { OptionKey } from "#contract/option.ts";
import { insertChannels, type NewChannel } from "#server/store/channels.ts";
import { createFakeUpstream, type FakeUpstream } from "#test/emulators/fake-upstream.ts";
import { channelRow } from "#test/seeds/channel-row.ts";
import { type SeededUser, seedUser } from "#test/seeds/seed.ts";
import { type Answer, createAppOn, type TestApp, type TestDatabase } from "./app.ts";

export const CHANNEL_KEY = "sk-canary-upstream-key-0123456789";

export interface ChannelWorld {
  readonly app: TestApp;
  readonly upstream: FakeUpstream;
  /** An ordinary administrator. */
  readonly admin: SeededUser;
  set(key: OptionKey, value: string): Promise<unknown>;
  /** Stores a channel that leads to the upstream, and waits until this process has read it. Returns its id. */
  add(change?: Partial<NewChannel> & { readonly key?: string }): Promise<number>;
  /** The channel as administrators see it. */
  row(id: number): Promise<Answer["data"]>;
}

/** Opens the world for the tests of a `describe`, and empties it of channels, spies and calls before each of them. */
export function channelWorld(database: TestDatabase): ChannelWorld {
  let app: TestApp;
  let upstream: FakeUpstream;
  let admin: SeededUser;
  beforeAll(async () => {
    app = await createAppOn(database);
    upstream = await createFakeUpstream();
    admin = await seedUser(app.ctx, "admin", { role: 10 });
  });
  afterAll(async () => {
    await app.close();
    await upstream.close();
  });
  beforeEach(async () => {
    vi.restoreAllMocks();
    // SQLite gives a new channel the id of one that was deleted, and with it whatever keys are left.
    for (const table of ["channels", "channel_keys"] as const) await app.ctx.db.deleteFrom(table).execute();
    upstream.journal.length = 0;
  });
  return {
    get app() {
      return app;
    },
    get upstream() {
      return upstream;
    },
    get admin() {
      return admin;
    },
    set: (key, value) => app.ctx.options.set(key, value),
    async add(change = {}) {
      const { ctx } = app;
      const ours = { type: 8, key: CHANNEL_KEY, base_url: upstream.url };
      const [id = 0] = await insertChannels(ctx.db, [channelRow(ctx.secrets, { ...ours, ...change })]);
      await ctx.coord.publish("channels", "");
      await ctx.candidates.pending;
      return id;
    },
    row: async (id) => (await app.call(admin.who, "GET", `/api/channel/${id}`)).data,
  };
}
