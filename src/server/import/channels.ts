// Channels: keys sealed, lists cleaned, types that we lack turned into custom ones or disabled (requirements W7.5, 15.1).

import { ChannelStatus } from "#contract/channel.ts";
import { typeName } from "#contract/foreign-types.ts";
import { isMapping } from "#contract/wire.ts";
import { batches } from "./batches.ts";
import { kindOf } from "./channel-types.ts";
import type { Family } from "./family.ts";
import { intOf, listOf, objectOf, realOf, type SourceRow, secondsOf, textOf } from "./row.ts";
import type { Source } from "./source.ts";
import { type ImportedRow, type Target, writeRows } from "./target.ts";

/** What a channel that can be used here serves. */
export interface Serving {
  /** As the source numbers them. */
  readonly channelType: number;
  readonly models: readonly string[];
  /** Model → what it is called upstream. */
  readonly mapping: Readonly<Record<string, unknown>>;
}

/** Copies the channels in batches and tallies them. What was written before stays, so that an import can go on. Returns what they serve. */
export async function importChannels(source: Source, target: Target, family: Family): Promise<Serving[]> {
  const serving: Serving[] = [];
  if (!source.tables.has("channels")) return serving;
  const read = (rows: readonly SourceRow[]) =>
    rows.map((row) => {
      if (!channelKind(row, family).isUnknown) serving.push(servingOf(row));
      return channelOf(row, target, family);
    });
  for await (const incoming of batches(source, "channels", target.tally, read))
    await writeRows(target, "channels", incoming);
  return serving;
}

function channelKind(row: SourceRow, family: Family) {
  return kindOf(family, intOf(row, "type"), textOf(row, "base_url"));
}

function servingOf(row: SourceRow): Serving {
  const mapping = isMapping(textOf(row, "model_mapping")) ? objectOf(row, "model_mapping") : {};
  return { channelType: intOf(row, "type"), models: listOf(row, "models"), mapping };
}

/** What later releases and New API do to a channel's requests and answers. */
const LEFT_OUT = [
  "openai_organization",
  "param_override",
  "header_override",
  "status_code_mapping",
  "setting",
  "settings",
  "system_prompt",
];

function channelOf(row: SourceRow, target: Target, family: Family): ImportedRow<"channels"> {
  const { secrets, tally, nowSec } = target;
  const id = intOf(row, "id");
  const name = textOf(row, "name");
  const usedQuota = intOf(row, "used_quota");
  tally.of("channels").found += 1;
  tally.add("channel used_quota", usedQuota);
  const kind = channelKind(row, family);
  if (kind.isUnknown)
    tally.remark(
      "channels of a type that is not served here were disabled",
      `${name} (${typeName(kind.type)})`,
    );
  if (kind.isMoved) tally.remark("channels of later types became custom channels", name);
  const key = keyOf(row, name, target);
  tally.tellLeftOut("settings of channels that have no place here were left out", row, name, LEFT_OUT);
  const status = kind.isUnknown ? ChannelStatus.disabled : statusOf(row);
  return {
    row: {
      id,
      type: kind.type,
      key_hash: secrets.hash(key),
      key_sealed: secrets.seal(key, "channels.key"),
      status,
      status_reason: kind.isUnknown ? `导入时停用：不支持该渠道类型（${typeName(kind.type)}）` : "",
      status_time: kind.isUnknown ? nowSec : 0,
      name,
      weight: Math.max(0, intOf(row, "weight")),
      priority: intOf(row, "priority"),
      created_time: secondsOf(row, "created_time"),
      test_time: secondsOf(row, "test_time"),
      response_time: Math.max(0, intOf(row, "response_time")),
      base_url: kind.baseUrl,
      other: otherOf(row),
      balance: realOf(row, "balance"),
      balance_updated_time: secondsOf(row, "balance_updated_time"),
      models: listOf(row, "models").join(","),
      group: listOf(row, "group").join(",") || "default",
      used_quota: usedQuota,
      model_mapping: mappingOf(row, name, target),
      config: Object.keys(objectOf(row, "config")).length > 0 ? textOf(row, "config") : "",
    },
    openings: [{ scope: "channel", id, userId: 0, usedQuota }],
  };
}

function statusOf(row: SourceRow): number {
  const status = intOf(row, "status", ChannelStatus.enabled);
  return status === ChannelStatus.enabled || status === ChannelStatus.autoDisabled
    ? status
    : ChannelStatus.disabled;
}

/** One key per channel; New API keeps several in one, of which it may have disabled some: the first that is enabled stays. */
function keyOf(row: SourceRow, name: string, { tally }: Target): string {
  const text = textOf(row, "key");
  const info = objectOf(row, "channel_info");
  const keys = info["is_multi_key"] === true ? keysOf(text) : [];
  if (keys.length < 2) return keys[0] ?? text;
  tally.remark("channels with several keys keep one", name);
  // Index → status of the keys that were ever disabled.
  const statuses = new Map(Object.entries(info["multi_key_status_list"] ?? {}));
  const isEnabled = (index: number) =>
    (statuses.get(String(index)) ?? ChannelStatus.enabled) === ChannelStatus.enabled;
  return keys.find((_, index) => isEnabled(index)) ?? keys[0] ?? "";
}

/** A line each, or a list in JSON, as for Vertex AI. */
function keysOf(text: string): string[] {
  try {
    const list: unknown = JSON.parse(text);
    if (Array.isArray(list)) return list.map((key) => (typeof key === "string" ? key : JSON.stringify(key)));
  } catch {
    // Lines.
  }
  return text.split(/\r?\n/).map((line) => line.trim());
}

/** Version, library, plugin or account: in `other`, or since 2024 in `config` (requirements W13.1, T2.7). */
function otherOf(row: SourceRow): string {
  const other = textOf(row, "other");
  if (other !== "") return other;
  const config = objectOf(row, "config");
  const value = config["api_version"] ?? config["library_id"] ?? config["plugin"] ?? config["user_id"];
  return typeof value === "string" ? value.trim() : "";
}

function mappingOf(row: SourceRow, name: string, { tally }: Target): string {
  const text = textOf(row, "model_mapping");
  if (text === "" || text === "{}") return "";
  if (isMapping(text)) return text;
  tally.remark("model mappings that are no JSON object of names were left out", name);
  return "";
}
