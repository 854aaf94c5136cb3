// Channels: keys sealed, lists cleaned, types that we lack turned into custom ones or disabled (requirements W7.5, W15.1).
import { ChannelStatus } from "#contract/channel.ts";
import { MOST_KEYS } from "#contract/channel-key.ts";
import { typeName } from "#contract/foreign-types.ts";
import { providerOf } from "#contract/providers.ts";
import { isMapping } from "#contract/wire.ts";
import { sealProxy } from "#server/channels/proxies.ts";
import { readProxy } from "#server/egress/proxy/address.ts";
import { LAST_KEY, type NewKey } from "#server/store/channel-keys.ts";
import { batches } from "./batches.ts";
import { keysOf } from "./channel-keys.ts";
import { type ImportedRules, rulesOf } from "./channel-rewrites.ts";
import { type ChannelSettings, settingsOf } from "./channel-settings.ts";
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

/** What the source says of all channels. */
interface There {
  readonly family: Family;
  /** New API's switch for the bodies of all channels is on. */
  readonly passesAll: boolean;
}

/** Copies the channels in batches and tallies them. What was written before stays, so that an import can go on. Returns what they serve. */
export async function importChannels(source: Source, target: Target, there: There): Promise<Serving[]> {
  const { family } = there;
  const serving: Serving[] = [];
  if (!source.tables.has("channels")) return serving;
  const read = (rows: readonly SourceRow[]) =>
    rows.map((row) => {
      if (!channelKind(row, family).isUnknown) serving.push(servingOf(row));
      return channelOf(row, target, there);
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

/** Words for administrators; they change no request. */
const LABELS = ["tag", "remark", "test_model"];

function channelOf(row: SourceRow, target: Target, { family, passesAll }: There): ImportedRow<"channels"> {
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
  const { key, keys, left, mode } = keysOf(row, secrets, nowSec);
  if (keys.length > 1) tally.remark("channels with several keys keep them", name);
  if (left > 0)
    tally.remarkAll(
      `keys beyond ${MOST_KEYS} of a channel were left out, disabled ones first`,
      `${name} (${left})`,
    );
  const settings = settingsOf(row, passesAll);
  tellSettings(settings, row, name, target);
  const rules = rulesOf(row, settings);
  tellRules(rules, name, target);
  const off = kind.isUnknown ? `不支持该渠道类型（${typeName(kind.type)}）` : unsaidReason(rules);
  return {
    row: {
      id,
      type: kind.type,
      key_hash: secrets.hash(key),
      key_sealed: secrets.seal(key, "channels.key"),
      ...(off === ""
        ? stateOf(statusOf(row), keys, nowSec)
        : { status: ChannelStatus.disabled, status_reason: `导入时停用：${off}`, status_time: nowSec }),
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
      model_mapping: mappingOf(row, { name, type: kind.type, ...settings }, target),
      config: configOf(row, rules),
      proxy_sealed: sealProxy(secrets, proxyOf(row, name, target)),
      keys_version: keys.length > 0 ? 1 : 0,
      key_mode: mode,
    },
    keys,
    openings: [{ scope: "channel", id, userId: 0, usedQuota }],
  };
}

function tellSettings(settings: ChannelSettings, row: SourceRow, name: string, { tally }: Target): void {
  const { left, passesBody, takenOut, takesStoreOut } = settings;
  for (const member of left)
    tally.remarkAll("settings of channels that have no place here were left out", `${name} (${member})`);
  tally.tellLeftOut("labels of channels have no place here", row, name, LABELS);
  if (takenOut.length > 0)
    tally.remark(`channels go on taking out of requests: ${takenOut.join(", ")}`, name);
  if (takesStoreOut)
    tally.remarkAll(
      "channels with disable_store take it out of Chat; what is kept of Responses is decided here",
      name,
    );
  if (passesBody)
    tally.remarkAll(
      "bodies pass as they are where client and channel speak the same format, but for the usage of a stream, which is asked for; others are translated",
      `${name} (pass_through_body_enabled)`,
    );
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

/**
 * New API's `setting.proxy`, one-hub's column: their `socks5` has the proxy resolve names, which is `socks5h` here; one-hub's `%s` tells keys
 * apart. One that cannot be read stays an error.
 */
function proxyOf(row: SourceRow, name: string, { tally }: Target): string {
  const { proxy } = objectOf(row, "setting");
  const written = typeof proxy === "string" && proxy.trim() !== "" ? proxy.trim() : textOf(row, "proxy");
  if (written === "") return "";
  const text = written.replace(/^socks5:\/\//i, "socks5h://").replaceAll("%s", "{key_hash}");
  if (readProxy(text).kind === "unreadable")
    tally.remark("channels whose proxy cannot be read here fail until it is set again", name);
  return text;
}

/** A channel none of whose keys is enabled is off until one comes back, unless it was off by hand. */
function stateOf(status: number, keys: readonly NewKey[], nowSec: number) {
  const isKeyless = keys.length > 0 && keys.every((key) => key.status !== ChannelStatus.enabled);
  if (!isKeyless || status === ChannelStatus.disabled) return { status, status_reason: "", status_time: 0 };
  return { status: ChannelStatus.autoDisabled, status_reason: LAST_KEY, status_time: nowSec };
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

interface Mapped extends Pick<ChannelSettings, "passesBody"> {
  readonly name: string;
  /** As it is here. */
  readonly type: number;
}

function mappingOf(row: SourceRow, { name, type, passesBody }: Mapped, { tally }: Target): string {
  const text = textOf(row, "model_mapping");
  if (text === "" || text === "{}") return "";
  // Where the body names the model, it went out with the client's name; elsewhere the address names it.
  if (passesBody && /^(?:openai|anthropic)$/.test(providerOf(type)?.dialect ?? "")) {
    tally.remarkAll("model mappings that did nothing, since bodies passed as they were, were left out", name);
    return "";
  }
  if (isMapping(text)) return text;
  tally.remark("model mappings that are no JSON object of names were left out", name);
  return "";
}
