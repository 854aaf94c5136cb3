// When what was disabled by itself is asked again, channels (requirements C64) and keys of channels (C27). Pure: neither a clock nor the
// database.
import { ChannelStatus } from "#contract/channel.ts";
import type { OptionKey, OptionValue } from "#contract/option.ts";
import { DAY_SEC } from "#server/clock.ts";
import { LAST_KEY } from "#server/store/channel-keys.ts";
import type { ChannelRow } from "#server/store/channels.ts";

/** Each pause is so many times the one before. */
const LONGER = 6;
/** Vendors' days and months begin at midnight of UTC; a few minutes later their counters are empty. */
const NEW_DAY_SEC = 300;
const SPENT = /quota|402|balance|arrear|欠费|余额/i;

type Probed = Pick<ChannelRow, "status" | "status_reason" | "status_time" | "probe_time" | "probes">;

interface ProbeOptions {
  readonly options: { get<K extends OptionKey>(key: K): OptionValue<K> };
}

/** The first pause, and the longest. */
interface Schedule {
  readonly minutes: number;
  readonly maxHours: number;
}

/** What was asked in vain. */
interface Asked {
  /** Seconds. */
  readonly since: number;
  /** How often since it was disabled. */
  readonly probes: number;
  /** Why it was disabled. */
  readonly reason: string;
}

/** When it is asked again: later each time, and what is out of quota also when a day begins. Unit: seconds. */
function nextAfter({ since, probes, reason }: Asked, { minutes, maxHours }: Schedule): number {
  const firstSec = minutes * 60;
  const mostSec = Math.max(firstSec, maxHours * 3_600);
  const later = since + Math.min(firstSec * LONGER ** probes, mostSec);
  if (!SPENT.test(reason)) return later;
  const newDay = since - (since % DAY_SEC) + NEW_DAY_SEC;
  return Math.min(later, newDay > since ? newDay : newDay + DAY_SEC);
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
  const asked = { since, probes: hasBeenAsked ? row.probes : 0, reason: row.status_reason };
  const minutes = options.get("ChannelProbeMinutes");
  return nextAfter(asked, { minutes, maxHours: options.get("ChannelProbeMaxHours") });
}

/** Whether keys are asked again at all. */
export function areKeysProbed({ options }: ProbeOptions): boolean {
  return options.get("ChannelKeyProbeMinutes") > 0;
}

/** When a key is asked again, seconds. While keys are not asked at all it is their time when they are again. */
export function nextKeyProbe(asked: Asked, { options }: ProbeOptions): number {
  const minutes = options.get("ChannelKeyProbeMinutes");
  return nextAfter(asked, { minutes, maxHours: options.get("ChannelKeyProbeMaxHours") });
}
