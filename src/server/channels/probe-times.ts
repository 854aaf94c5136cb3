// When a channel that was disabled by itself is asked again (requirements C64). Pure: neither a clock nor the database.
import { ChannelStatus } from "#contract/channel.ts";
import type { OptionKey, OptionValue } from "#contract/option.ts";
import { LAST_KEY } from "#server/store/channel-keys.ts";
import type { ChannelRow } from "#server/store/channels.ts";

/** Each pause is so many times the one before. */
const LONGER = 6;
const DAY_SEC = 86_400;
/** Vendors' days and months begin at midnight of UTC; a few minutes later their counters are empty. */
const NEW_DAY_SEC = 300;
const SPENT = /quota|402|balance|arrear|欠费|余额/i;

type Probed = Pick<ChannelRow, "status" | "status_reason" | "status_time" | "probe_time" | "probes">;

interface ProbeOptions {
  readonly options: { get<K extends OptionKey>(key: K): OptionValue<K> };
}

/** Whether channels are asked again at all. */
export function areProbed({ options }: ProbeOptions): boolean {
  return (
    options.get("AutomaticEnableChannelEnabled") &&
    options.get("ChannelProbeMinutes") > 0 &&
    options.get("ChannelProbesPerRound") > 0
  );
}

/**
 * When it is asked again, seconds; 0 = it is not: it was not disabled by itself, or its keys bring it back. Probes before it was disabled
 * for the last time do not count.
 */
export function nextProbeOf(row: Probed, { options }: ProbeOptions): number {
  if (row.status !== ChannelStatus.autoDisabled || row.status_reason === LAST_KEY) return 0;
  const hasBeenAsked = row.probe_time > row.status_time;
  const since = hasBeenAsked ? row.probe_time : row.status_time;
  const firstSec = options.get("ChannelProbeMinutes") * 60;
  const mostSec = Math.max(firstSec, options.get("ChannelProbeMaxHours") * 3_600);
  const later = since + Math.min(firstSec * LONGER ** (hasBeenAsked ? row.probes : 0), mostSec);
  if (!SPENT.test(row.status_reason)) return later;
  const newDay = since - (since % DAY_SEC) + NEW_DAY_SEC;
  return Math.min(later, newDay > since ? newDay : newDay + DAY_SEC);
}
