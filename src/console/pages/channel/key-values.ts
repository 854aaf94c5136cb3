// One key as its form holds it ⇄ as the contract wants it. Pure.
import type { z } from "zod";
import { changesOf } from "#console/base/changes.ts";
import type { ChannelKey, channelKeyApi } from "#contract/channel-key.ts";
import {
  type LimitValues,
  limitsOf,
  limitValues,
  type TimeValues,
  timesOf,
  timeValues,
} from "./limit-values.ts";

export interface KeyValues extends LimitValues, TimeValues {
  readonly name: string;
  readonly weight: number | null;
  readonly models: readonly string[];
  readonly proxy: string;
}

export function keyValues(row: ChannelKey): KeyValues {
  const { name, weight, models, proxy } = row;
  return { name, weight, models, proxy, ...limitValues(row.limits), ...timeValues(row) };
}

function fieldsOf({ name, weight, models, proxy, ...bounds }: KeyValues) {
  return {
    name: name.trim(),
    weight: weight ?? 0,
    models: [...models],
    proxy: proxy.trim(),
    ...timesOf(bounds),
  };
}

type KeyUpdate = Omit<z.output<typeof channelKeyApi.update.body>, "ids">;

/** Only what was edited: what another administrator saved since the row was read stays. undefined = nothing was. */
export function keyChange(row: ChannelKey, values: KeyValues): KeyUpdate | undefined {
  const before = keyValues(row);
  const limits = changesOf(limitsOf(before), limitsOf(values));
  const changes = {
    ...changesOf(fieldsOf(before), fieldsOf(values)),
    ...(Object.keys(limits).length > 0 && { limits }),
  };
  return Object.keys(changes).length === 0 ? undefined : changes;
}
