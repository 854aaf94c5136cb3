// Channels: keys sealed, lists cleaned, types that we lack turned into custom ones or disabled (requirements W7.5, W15.1).
import { ChannelStatus } from "#contract/channel.ts";
import { typeName } from "#contract/foreign-types.ts";
import { isMapping } from "#contract/wire.ts";
import { sealProxy } from "#server/channels/proxies.ts";
import { readProxy } from "#server/egress/proxy/address.ts";
import { batches } from "./batches.ts";
import { keysOf } from "./channel-keys.ts";
import { type ImportedRules, rulesOf } from "./channel-rewrites.ts";
import { kindOf } from "./channel-types.ts";
import { intOf, listOf, objectOf, realOf, type SourceRow, secondsOf, textOf } from "./row.ts";
import type { Family, Source } from "./source.ts";
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

const LEFT_OUT_HERE = "settings of channels that have no place here were left out";

/** What later releases and New API do to a channel's requests and answers. */
const LEFT_OUT = ["openai_organization", "settings"];
/** Members of `setting` that are taken. */
const TAKEN = new Set(["proxy", "system_prompt", "system_prompt_override"]);

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
  const { key, keys, mode } = keysOf(row, secrets, nowSec);
  if (keys.length > 0) tally.remark("channels with several keys keep them", name);
  tally.tellLeftOut(LEFT_OUT_HERE, row, name, LEFT_OUT);
  if (Object.entries(objectOf(row, "setting")).some(([setting, value]) => !TAKEN.has(setting) && isOn(value)))
    tally.remark(LEFT_OUT_HERE, `${name} (setting)`);
  const rules = rulesOf(row);
  tellRules(rules, name, target);
  const off = kind.isUnknown ? `不支持该渠道类型（${typeName(kind.type)}）` : unsaidReason(rules);
  return {
    row: {
      id,
      type: kind.type,
      key_hash: secrets.hash(key),
      key_sealed: secrets.seal(key, "channels.key"),
      status: off === "" ? statusOf(row) : ChannelStatus.disabled,
      status_reason: off === "" ? "" : `导入时停用：${off}`,
      status_time: off === "" ? 0 : nowSec,
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
      config: configOf(row, rules),
      proxy_sealed: sealProxy(secrets, proxyOf(row, name, target)),
      keys_version: keys.length > 0 ? 1 : 0,
      key_mode: mode,
    },
    keys,
    openings: [{ scope: "channel", id, userId: 0, usedQuota }],
  };
}

/** Settings that are off change nothing. */
function isOn(value: unknown): boolean {
  return value !== false && value !== "" && value !== null && value !== 0;
}

/** The channel's own settings with what became rules; without any, as they stood. */
function configOf(row: SourceRow, { rewrite, statusMap }: ImportedRules): string {
  const config = objectOf(row, "config");
  if (rewrite === undefined && statusMap === undefined)
    return Object.keys(config).length > 0 ? textOf(row, "config") : "";
  return JSON.stringify({
    ...config,
    ...(rewrite !== undefined && { rewrite }),
    ...(statusMap !== undefined && { status_map: statusMap }),
  });
}

/** What has no words here may have kept a cost out: its channel serves again when an administrator has looked at it. */
function unsaidReason({ unsaid }: ImportedRules): string {
  return unsaid.length === 0 ? "" : "有请求改写无法转换，原文见导入报告";
}

function tellRules({ unsaid, ignored, rewrite }: ImportedRules, name: string, { tally }: Target): void {
  if (rewrite !== undefined) tally.remark("channels that rewrite requests keep their rules", name);
  for (const part of unsaid)
    tally.remarkAll(
      "channels were disabled since a part of what they rewrite has no words here",
      `${name}: ${part}`,
    );
  for (const part of ignored)
    tally.remarkAll("tables of statuses that cannot be read were left out", `${name}: ${part}`);
}

/** New API's `setting.proxy`: its `socks5` has the proxy resolve names, which is `socks5h` here. One that cannot be read stays an error. */
function proxyOf(row: SourceRow, name: string, { tally }: Target): string {
  const { proxy } = objectOf(row, "setting");
  if (typeof proxy !== "string" || proxy.trim() === "") return "";
  const text = proxy.trim().replace(/^socks5:\/\//i, "socks5h://");
  if (readProxy(text).kind === "unreadable")
    tally.remark("channels whose proxy cannot be read here fail until it is set again", name);
  return text;
}

function statusOf(row: SourceRow): number {
  const status = intOf(row, "status", ChannelStatus.enabled);
  return status === ChannelStatus.enabled || status === ChannelStatus.autoDisabled
    ? status
    : ChannelStatus.disabled;
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
