// What the tests of videos share: a relay, a model with prices, and a look at what is under way.
import { beforeEach, expect } from "vitest";
import { pollTasks } from "#server/tasks/poll.ts";
import { json } from "#test/emulators/fake-upstream.ts";
import { createRelayWorld, type World } from "./relay-world.ts";

export const VIDEO_MODEL = "sora-2";
/** Five seconds at ratio 50. */
export const VIDEO_PRICE = 250_000;
export const ORDER = { model: VIDEO_MODEL, prompt: "a cat", seconds: "5" };
/** Channel types by how they make videos. */
export const OPENAI = 8;
export const ARK = 40;
export const KLING = 102;
export const MINIMAX = 27;
export const GEMINI = 24;

export const started = json({ id: "up-1", object: "video", status: "queued" });
export const done = json({ id: "up-1", status: "completed", progress: 100 });

/** Sets it up for the tests of a file: nothing is under way when one begins. */
export function createVideoWorld() {
  const world: World = createRelayWorld();

  /** Lets what is under way be looked after now. */
  async function sweep(change: { deadline_at?: number; upstream_sealed?: string } = {}): Promise<void> {
    const { db } = world.ctx;
    await db
      .updateTable("tasks")
      .set({ next_at: 0, ...change })
      .where("is_booked", "=", 0)
      .execute();
    await pollTasks(world.ctx);
  }

  beforeEach(async () => {
    await sweep({ deadline_at: 1, upstream_sealed: "" });
    await expect.poll(async () => (await world.money()).open).toBe(0);
    await world.ctx.db.deleteFrom("tasks").execute();
    await world.setOption(
      "ModelRatio",
      JSON.stringify({ [VIDEO_MODEL]: 50, "sora-2@1080p": 100, seedance: 1 }),
    );
    await world.setOption("FallbackModelRatio", "");
  });

  const keyed = (key: string) => ({ authorization: `Bearer sk-${key}` });
  const video = {
    world,
    sweep,
    get: (path: string, key = world.token.key, headers: Record<string, string> = {}) =>
      fetch(world.url + path, { headers: { ...keyed(key), ...headers } }),
    send: (method: string, path: string, key = world.token.key) =>
      fetch(world.url + path, { method, headers: keyed(key) }),
    submit: (body: object = ORDER) => world.ask(body, { path: "/v1/videos" }),
    async submitted(body: object = ORDER): Promise<string> {
      const response = await video.submit(body);
      expect(response.status).toBe(200);
      return (await read(response)).id;
    },
    rowOf: (id: string) =>
      world.ctx.db.selectFrom("tasks").selectAll().where("task_id", "=", id).executeTakeFirstOrThrow(),
    /** Reservations that are open, and charges there ever were. */
    async books() {
      const { open } = await world.money();
      const { db } = world.ctx;
      const consumed = await db.selectFrom("ledger").select("id").where("kind", "=", "consume").execute();
      return { open, entries: consumed.length };
    },
  };
  return video;
}

// The tests know what they asked for.
// biome-ignore lint/suspicious/noExplicitAny: fields of any video.
export async function read(response: Response): Promise<any> {
  return response.json();
}
