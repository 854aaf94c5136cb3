// The keys of New API's channels that have several: a line each or a JSON list, with states by their index in that text (requirements C30).
import { ChannelStatus } from "#contract/channel.ts";
import { MOST_KEYS } from "#contract/channel-key.ts";
import type { Secrets } from "#server/secrets.ts";
import { type NewKey, newKey } from "#server/store/channel-keys.ts";
import { intOf, objectOf, type SourceRow, textOf } from "./row.ts";

export interface ImportedKeys {
  /** The first that is enabled, or the first. */
  readonly key: string;
  /** Empty = the channel has one, which is enabled. */
  readonly keys: readonly NewKey[];
  /** How many a channel may not have besides. */
  readonly left: number;
  readonly mode: string;
}

const LONGEST_REASON = 200;

/** Reads a channel's keys. Blanks and repeats count for the index, and are left out only then. */
export function keysOf(row: SourceRow, secrets: Secrets, nowSec: number): ImportedKeys {
  const text = textOf(row, "key");
  const info = objectOf(row, "channel_info");
  const mode = info["multi_key_mode"] === "polling" ? "round_robin" : "random";
  if (info["is_multi_key"] !== true) return { key: text, keys: [], left: 0, mode: "random" };
  const statuses = entriesOf(info["multi_key_status_list"]);
  const reasons = entriesOf(info["multi_key_disabled_reason"]);
  const times = entriesOf(info["multi_key_disabled_time"]);
  const found = new Map<string, NewKey>();
  for (const [index, key] of textsIn(text).entries()) {
    const status = statusOf(statuses.get(String(index)));
    const known = found.get(key);
    // Listed twice, it serves if either is enabled.
    if (key === "" || (known !== undefined && status !== ChannelStatus.enabled)) continue;
    const said = { reason: reasons.get(String(index)), time: times.get(String(index)) };
    found.set(key, {
      ...newKey(nowSec),
      key_hash: secrets.hash(key),
      key_sealed: secrets.seal(key, "channels.key"),
      ...stateOf(status, said, nowSec),
      created_time: intOf(row, "created_time"),
    });
  }
  const texts = [...found.keys()];
  const first = texts.find((key) => found.get(key)?.status === ChannelStatus.enabled) ?? texts[0] ?? "";
  const all = [...found.values()];
  // One alone that is off needs a row too: the channel's own key has no state.
  const isPlain = all.length < 2 && all.every(isOn);
  return { key: first, keys: isPlain ? [] : kept(all), left: Math.max(0, all.length - MOST_KEYS), mode };
}

function isOn({ status }: NewKey): boolean {
  return status === ChannelStatus.enabled;
}

/** As many as a channel may have, in their order; those that are off go first. */
function kept(all: readonly NewKey[]): NewKey[] {
  if (all.length <= MOST_KEYS) return [...all];
  const on = all.filter(isOn);
  const off = all.filter((key) => !isOn(key)).slice(0, Math.max(0, MOST_KEYS - on.length));
  const chosen = new Set([...on.slice(0, MOST_KEYS), ...off]);
  return all.filter((key) => chosen.has(key));
}

function stateOf(status: number, said: { readonly reason: unknown; readonly time: unknown }, nowSec: number) {
  if (status === ChannelStatus.enabled) return {};
  const reason = typeof said.reason === "string" ? said.reason.slice(0, LONGEST_REASON) : "";
  const time = Number(said.time ?? 0);
  return {
    status,
    status_reason: reason,
    status_time: Number.isSafeInteger(time) && time > 0 ? time : 0,
    // The source does not say when it was asked last: that is done as soon as the server runs.
    probe_time: status === ChannelStatus.autoDisabled ? nowSec : 0,
  };
}

function entriesOf(list: unknown): ReadonlyMap<string, unknown> {
  return new Map(typeof list === "object" && list !== null ? Object.entries(list) : []);
}

function statusOf(value: unknown): number {
  if (value === undefined || Number(value) === ChannelStatus.enabled) return ChannelStatus.enabled;
  return Number(value) === ChannelStatus.autoDisabled ? ChannelStatus.autoDisabled : ChannelStatus.disabled;
}

function textsIn(text: string): string[] {
  if (text.trimStart().startsWith("[")) {
    try {
      const list: unknown = JSON.parse(text);
      if (Array.isArray(list))
        return list.map((key) => (typeof key === "string" ? key.trim() : JSON.stringify(key)));
    } catch {
      // Lines.
    }
  }
  return text
    .replace(/^\n+|\n+$/g, "")
    .split("\n")
    .map((line) => line.trim());
}
