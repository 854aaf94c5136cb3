// Several nodes of one PostgreSQL, each with a port of its own: what tests of calls over several nodes share.
import { expect, vi } from "vitest";
import type { OptionKey } from "#contract/option.ts";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { asRoot } from "./app.ts";
import { createNodes, type Nodes, PATIENCE } from "./nodes.ts";

export interface SeveralNodes extends Nodes {
  /** Adds a channel for a model, and waits until all nodes have it. */
  addChannel(model: string, draft: { readonly base_url: string; readonly type?: number }): Promise<void>;
  /** Sets an option, and waits until all nodes have it. */
  set(option: OptionKey, text: string): Promise<void>;
  /** A user with plenty of quota, and the key of a token of his. */
  newcomer(name: string): Promise<{ readonly userId: number; readonly key: string }>;
}

/** Opens the nodes before the first test of the file, and closes them after the last. */
export function severalNodes(count: number): SeveralNodes {
  const nodes = createNodes("postgres", { count });
  const { apps, node } = nodes;
  return {
    ...nodes,
    async addChannel(model, draft) {
      const found = () => apps.map(({ ctx }) => ctx.candidates.find("default", model).length);
      const wanted = found().map((total) => total + 1);
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
      await vi.waitFor(() => expect(read()).toEqual(apps.map(() => wanted)), PATIENCE);
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
