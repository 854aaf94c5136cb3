// What the tests of rewriting share: a channel with rules in its config, and the preview of a request.
import { expect } from "vitest";
import type { RewritePreview } from "#contract/channel.ts";
import { createApi } from "#server/api/mount.ts";
import { seedUser } from "#test/seeds/seed.ts";
import { CHANNEL_KEY, type ChannelSeed, type World } from "./relay-world.ts";

/** Adds a channel whose config is this. Returns its id. */
export async function addRuled(world: World, config: unknown, seed: ChannelSeed = {}): Promise<number> {
  const id = await world.addChannel(seed);
  await setRules(world, id, config);
  return id;
}

/** Gives a channel another config. */
export async function setRules(world: World, id: number, config: unknown): Promise<void> {
  const { db, candidates } = world.ctx;
  await db
    .updateTable("channels")
    .set({ config: JSON.stringify(config) })
    .where("id", "=", id)
    .execute();
  await candidates.reload();
}

/** A config with one rule. */
export function oneRule(...actions: readonly unknown[]) {
  return { rewrite: { v: 1, rules: [{ id: "r", do: actions }] } };
}

/** What connections add to the headers of a request. */
const TRANSPORT = /^(host|connection|content-length|transfer-encoding|upgrade|sec-websocket-.*)$/;

/** Asks for previews as an administrator, who gets no key to see. */
export async function previewer(world: World) {
  const api = createApi(world.ctx);
  const admin = await seedUser(world.ctx, "previewer", { role: 10 });
  return async (asked: object): Promise<RewritePreview> => {
    const response = await api.request("/api/channel/rewrite/preview", {
      method: "POST",
      headers: { ...admin.who, "content-type": "application/json" },
      body: JSON.stringify({ type: 8, ...asked }),
    });
    const answer = (await response.json()) as { message: string; data: RewritePreview }; // as the contract says
    expect(answer.message).toBe("");
    expect(JSON.stringify(answer)).not.toContain(CHANNEL_KEY);
    return answer.data;
  };
}

/** Whether a request came just as the preview shows its head: method, address and all headers. */
export function expectShown(
  sent: {
    readonly method?: string | undefined;
    readonly path: string;
    readonly headers: NodeJS.Dict<unknown>;
  },
  preview: RewritePreview,
): void {
  const { pathname, search } = new URL(preview.url);
  expect([sent.method, sent.path]).toEqual([preview.method, pathname + search]);
  const shown = preview.headers.map(({ name, value }) => [
    name.toLowerCase(),
    value.replace("***", CHANNEL_KEY),
  ]);
  const came = Object.entries(sent.headers).filter(([name]) => !TRANSPORT.test(name));
  expect(Object.fromEntries(shown)).toEqual(Object.fromEntries(came));
}
