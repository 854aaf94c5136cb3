// Which answers show channels, and are stale when one changes.
import { channelApi } from "#contract/channel.ts";
import { channelKeyApi } from "#contract/channel-key.ts";

export const LISTS = [channelApi.list, channelApi.search] as const;

export const OF_CHANNEL = [...LISTS, channelApi.get] as const;

/** A change of keys may end the channel or bring it back. */
export const OF_KEYS = [channelKeyApi.list, ...OF_CHANNEL] as const;
