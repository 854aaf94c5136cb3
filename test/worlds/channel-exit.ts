// A channel that leaves by a proxy, whose address is the channel's own, its key's, or the option for all: what tests of all paths share.

import type { LiveChannel } from "#server/channels/live-channel.ts";
import { sealProxy } from "#server/channels/proxies.ts";
import { addKeys, listSealedKeys } from "#server/store/channel-keys.ts";
import { pollTasks } from "#server/tasks/poll.ts";
import { named } from "./outside-proxies.ts";
import { type ChannelSeed, errorOf, type World } from "./relay-world.ts";

/** Where the address of the proxy stands. */
export const SETTINGS = ["channel", "key", "option"] as const;
export type Setting = (typeof SETTINGS)[number];

export class ChannelExit {
  readonly world: World;
  readonly #setting: Setting;
  readonly #proxy: string;
  readonly #closers: (() => void | Promise<void>)[] = [];
  #seed: ChannelSeed = {};
  id = 0;

  constructor(world: World, setting: Setting, proxy: string) {
    this.world = world;
    this.#setting = setting;
    this.#proxy = proxy;
  }

  /** Adds the channel, at the world's scripted provider unless it names another. */
  async add(seed: ChannelSeed = {}): Promise<LiveChannel> {
    this.#seed = { baseUrl: named(this.world.upstream.url), ...seed };
    this.id = await this.world.addChannel({ priority: 10, ...this.#seed });
    const { db } = this.world.ctx;
    if (this.#setting === "key") await db.transaction().execute((tx) => addKeys(tx, this.id, [], 1));
    await this.leaveBy(this.#proxy);
    return this.live();
  }

  /** Adds a channel like it that leaves by the first proxy whatever becomes of this one's. */
  async addOther(): Promise<void> {
    const id = await this.world.addChannel({ ...this.#seed, priority: 0 });
    await this.#set(id, this.#proxy);
    await this.world.ctx.candidates.reload();
  }

  /** Lets the channel leave by another proxy. */
  async leaveBy(proxy: string): Promise<void> {
    const { db, secrets, candidates } = this.world.ctx;
    if (this.#setting === "option") await this.world.setOption("OutboundProxy", proxy);
    else if (this.#setting === "channel") await this.#set(this.id, proxy);
    else {
      // The channel's own setting would lead nowhere.
      await this.#set(this.id, "direct");
      await db
        .updateTable("channel_keys")
        .set({ proxy_sealed: sealProxy(secrets, proxy) })
        .where("channel_id", "=", this.id)
        .execute();
      await db
        .updateTable("channels")
        .set((row) => ({ keys_version: row("keys_version", "+", 1) }))
        .where("id", "=", this.id)
        .execute();
    }
    await candidates.reload();
  }

  async #set(id: number, proxy: string): Promise<void> {
    const { db, secrets } = this.world.ctx;
    const proxy_sealed = sealProxy(secrets, proxy);
    await db.updateTable("channels").set({ proxy_sealed }).where("id", "=", id).execute();
  }

  live(): LiveChannel {
    const found = this.world.ctx.candidates.byId(this.id);
    if (found === undefined) throw new Error("the channel is not enabled");
    return found;
  }

  /** Status of the channel, and of its keys where they have rows. */
  async states(): Promise<number[]> {
    const { db } = this.world.ctx;
    const own = await db
      .selectFrom("channels")
      .select("status")
      .where("id", "=", this.id)
      .executeTakeFirstOrThrow();
    const keys = await listSealedKeys(db, this.id);
    return [own.status, ...keys.map(({ status }) => status)];
  }

  /** Calls as the test's user; a body that is no form goes as JSON. */
  async call(method: string, path: string, body?: object): Promise<Response> {
    const isForm = body instanceof FormData;
    return fetch(this.world.url + path, {
      method,
      headers: {
        authorization: `Bearer sk-${this.world.token.key}`,
        ...(body !== undefined && !isForm && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
    });
  }

  /** As `call`; what the client sees, in short. */
  async told(method: string, path: string, body?: object): Promise<string> {
    return shortOf(await this.call(method, path, body));
  }

  /** As `call`; the id of what was made. Throws: with the answer when nothing was. */
  async made(path: string, body: object): Promise<string> {
    const response = await this.call("POST", path, body);
    const text = await response.text();
    const { id } = JSON.parse(text);
    if (typeof id !== "string") throw new Error(text);
    return id;
  }

  /** Lets what is under way be looked after now. */
  async sweep(): Promise<void> {
    const { db } = this.world.ctx;
    await db.updateTable("tasks").set({ next_at: 0 }).where("is_booked", "=", 0).execute();
    await pollTasks(this.world.ctx);
  }

  /** A server that the path needs, until the test ends. */
  async kept<Server extends { close(): void | Promise<void> }>(starting: Promise<Server>): Promise<Server> {
    const server = await starting;
    this.#closers.push(() => server.close());
    return server;
  }

  /** Ends what is under way, so that nothing is set aside for it, and the servers. */
  async close(): Promise<void> {
    const { db, options } = this.world.ctx;
    await db
      .updateTable("tasks")
      .set({ deadline_at: 1, next_at: 0, upstream_sealed: "" })
      .where("is_booked", "=", 0)
      .execute();
    await pollTasks(this.world.ctx);
    await db.deleteFrom("tasks").execute();
    for (const close of this.#closers.toReversed()) await close();
    await db.deleteFrom("options").where("key", "=", "OutboundProxy").execute();
    await options.reload();
  }
}

/** What a client sees of an answer: its status, and of an error the code, where the format has one, and the sentence. */
export async function shortOf(response: Response): Promise<string> {
  if (!response.ok) {
    const { status } = response;
    // Gemini's has members of these names, too.
    const { code, message } = await errorOf(response);
    const named = typeof code === "string" ? `${status} ${code}` : String(status);
    return `${named} ${message.split(" (")[0]}`;
  }
  await response.arrayBuffer();
  return String(response.status);
}
