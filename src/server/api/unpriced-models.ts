// Which models of channels the bank has no price for, so that an administrator sees it before a caller does. Changes nothing.
import { ChannelStatus, type UnpricedModel } from "#contract/channel.ts";
import { unpricedBy } from "#contract/unpriced.ts";
import type { Context } from "#server/context.ts";

/** Models that calls are refused for, with their channels; those that are switched off by hand do not count. Order: by name. */
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
