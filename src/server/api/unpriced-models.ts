// The models of channels that have no price, so that an administrator sees them before a caller does. Changes nothing.
import { ChannelStatus, type UnpricedModel } from "#contract/channel.ts";
import { unpricedBy } from "#contract/unpriced.ts";
import type { Context } from "#server/context.ts";

/** Models that calls are refused for, with their channels; channels that are disabled by hand do not count. Order: by name. */
export function unpricedModels({ candidates, options }: Context): UnpricedModel[] {
  const unpricedOf = unpricedBy(options.list());
  const found = new Map<string, Set<string>>();
  for (const channel of candidates.all()) {
    if (channel.status === ChannelStatus.disabled) continue;
    for (const model of unpricedOf(channel))
      found.set(model, (found.get(model) ?? new Set()).add(channel.name));
  }
  return [...found]
    .map(([model, channels]) => ({ model, channels: [...channels] }))
    .toSorted((one, other) => one.model.localeCompare(other.model));
}
