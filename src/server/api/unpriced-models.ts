// Which models of channels the bank has no price for, so that an administrator sees it before a caller does. Changes nothing.
import { ChannelStatus, type UnpricedModel } from "#contract/channel.ts";
import type { Context } from "#server/context.ts";

/**
 * Models that a channel has, by its list or its mapping, and that cost nothing we know under either name (contract 9.4, 10.8). Channels that
 * are switched off by hand do not count. Order: by name.
 */
export function unpricedModels({ candidates, options, prices }: Context): UnpricedModel[] {
  if (options.get("FallbackModelRatio") !== null) return [];
  const book = prices();
  const found = new Map<string, Set<string>>();
  for (const { name, status, models, mapping } of candidates.all()) {
    if (status === ChannelStatus.disabled) continue;
    for (const model of new Set([...models, ...mapping.keys()])) {
      // Every group has the same tables, only times another factor.
      if (book.find(model, mapping.get(model) ?? model, "default") !== undefined) continue;
      found.set(model, (found.get(model) ?? new Set()).add(name));
    }
  }
  return [...found]
    .map(([model, channels]) => ({ model, channels: [...channels] }))
    .toSorted((one, other) => one.model.localeCompare(other.model));
}
