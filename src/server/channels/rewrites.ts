// Compiles the rules of channels that have some, and only those that have changed.
import { rulesIn } from "#contract/rewrite.ts";
import type { Secrets } from "#server/secrets.ts";
import type { SealedChannel } from "#server/store/channels.ts";
import type { Rewriter } from "#server/upstream/call/call.ts";
import { CompiledRules } from "#server/upstream/call/rewrite.ts";
import type { LiveChannel } from "./live-channel.ts";

/** The rules of a channel's config; undefined = it has none. Throws: Error when they cannot be read: without them it must not be called. */
export function rulesOf(secrets: Secrets, id: number, config: string): CompiledRules | undefined {
  const found = rulesIn(config, { isStored: true });
  if ("refusal" in found) throw new Error(`the rules of channel ${id}: ${found.refusal}`);
  const { rewrite, statusMap } = found;
  if (rewrite === undefined && statusMap === undefined) return undefined;
  return new CompiledRules({ channelId: id, rewrite, statusMap, hash: secrets.hash });
}

/** By channel id. `before` = what was served so far. */
export function rewritesFor(
  secrets: Secrets,
  rows: readonly SealedChannel[],
  before: ReadonlyMap<number, LiveChannel>,
): ReadonlyMap<number, Rewriter | Error> {
  const found = new Map<number, Rewriter | Error>();
  for (const { id, config } of rows) {
    const known = before.get(id);
    try {
      const rules = known?.config === config ? known.rewrite : rulesOf(secrets, id, config);
      if (rules !== undefined) found.set(id, rules);
    } catch (error) {
      found.set(id, error instanceof Error ? error : new Error("unreadable rules"));
    }
  }
  return found;
}
