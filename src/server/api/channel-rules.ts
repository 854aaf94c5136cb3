// What a channel must look like before it is stored, whoever sends it (spec §5). Pure but for the egress policy it asks.
import type { Provider } from "#contract/provider.ts";
import { providerOf } from "#contract/providers.ts";
import { isJson } from "#contract/wire.ts";
import type { Egress } from "#server/egress/dispatcher.ts";
import { hostOf, isLoopbackHost, portOf } from "#server/egress/policy.ts";
import { faults } from "#server/errors.ts";

export interface ChannelCheck {
  readonly type: number;
  /** undefined = the stored one stays. */
  readonly key?: string | undefined;
  readonly base_url: string;
  readonly other?: string | null | undefined;
  readonly config?: string | null | undefined;
}

function rowOf(type: number): Provider {
  const row = providerOf(type);
  if (!row) throw faults.refused("未知的渠道类型");
  return row;
}

/** One key per line makes one channel per line; blank lines do not count. Throws: when there is none. */
export function keyLines(text: string, type: number): string[] {
  const row = rowOf(type);
  const keys = text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
  if (keys.length > 0) return keys;
  if (row.keyOptional) return [""];
  throw faults.refused("请填写渠道名称和渠道密钥");
}

/** Throws: a refusal with the first rule that the channel breaks. */
export function checkChannel(egress: Egress, channel: ChannelCheck): void {
  const row = rowOf(channel.type);
  if (channel.key !== undefined) checkKey(row, channel.key);
  checkBaseUrl(egress, row, channel.base_url);
  if (row.other?.required && !channel.other) throw faults.refused(`请填写${row.other.label}`);
  if (channel.config && !isJson(channel.config)) throw faults.refused("配置必须是合法的 JSON 格式");
}

/** A key of several parts must have them all, unless the row knows another wire for keys of that form. */
function checkKey(row: Provider, key: string): void {
  const bars = key.split("|").length - 1;
  if (!row.keyParts || bars === row.keyParts.length - 1) return;
  if (row.alternates?.some(({ when }) => when.keyBars === bars)) return;
  throw faults.refused(`密钥格式应为 ${row.keyParts.join("|")}`);
}

function checkBaseUrl(egress: Egress, row: Provider, baseUrl: string): void {
  if (baseUrl === "") {
    if (row.baseUrl === "") throw faults.refused("请填写 Base URL");
    return;
  }
  const judged = egress.judge(baseUrl, loopbackPortOf(row));
  if ("refusal" in judged) throw faults.refused(judged.refusal);
}

/** The port of a provider whose own default address is this machine, such as a local model server. */
function loopbackPortOf(row: Provider): number | undefined {
  if (!URL.canParse(row.baseUrl)) return undefined;
  const url = new URL(row.baseUrl);
  return isLoopbackHost(hostOf(url)) ? portOf(url) : undefined;
}
