// The rules a channel must meet before it is stored, from any client (requirements B5). Pure but for the egress policy it asks.

import { typeName } from "#contract/foreign-types.ts";
import { type Provider, wireOf } from "#contract/provider.ts";
import { jsonObjectOf } from "#contract/provider-key.ts";
import { providerOf } from "#contract/providers.ts";
import { rulesIn } from "#contract/rewrite.ts";
import { isJson } from "#contract/wire.ts";
import type { Egress } from "#server/egress/dispatcher.ts";
import { loopbackPortOf } from "#server/egress/policy.ts";
import { faults } from "#server/errors.ts";
import { signers } from "#server/upstream/signers/index.ts";

export interface ChannelCheck {
  readonly type: number;
  readonly base_url: string;
  readonly other?: string | null | undefined;
  readonly config?: string | null | undefined;
  /** As it was typed. */
  readonly proxy?: string | null | undefined;
}

function rowOf(type: number): Provider {
  const row = providerOf(type);
  if (!row) throw faults.refused(`不支持渠道类型“${typeName(type)}”，请选择其他类型`);
  return row;
}

/**
 * One key per line makes one channel per line; blank lines do not count. A JSON key (a service account's file) may run over many
 * lines and is one key, stored as one line. Throws: when there is none.
 */
export function keyLines(text: string, type: number): string[] {
  const row = rowOf(type);
  const keys = jsonObjectOf(text) === undefined ? lines(text) : [oneLine(text)];
  if (keys.length > 0) return keys;
  if (row.keyOptional) return [""];
  throw faults.refused("请填写渠道名称和渠道密钥");
}

/** The key of an edit: "" = the stored one stays. Throws: when there are several. */
export function editedKey(text: string | undefined): string {
  const key = oneLine(text ?? "");
  if (key.includes("\n")) throw faults.refused("修改渠道时只能填写一个密钥");
  return key;
}

function lines(text: string): string[] {
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** A key in the form of JSON without the line ends of its file. */
function oneLine(text: string): string {
  const json = jsonObjectOf(text);
  return json === undefined ? text.trim() : JSON.stringify(json);
}

/** Throws: AppError with the first rule that a key breaks; of several keys it says which one. */
export function checkKeys(channel: Omit<ChannelCheck, "config">, keys: readonly string[]): void {
  const row = rowOf(channel.type);
  const { base_url: baseUrl, other } = channel;
  for (const [index, key] of keys.entries()) {
    const wire = wireOf(row, { key, baseUrl, other: other ?? "", model: "" });
    const problem = signers[wire.signer].check(key);
    if (problem !== undefined)
      throw faults.refused(keys.length > 1 ? `第 ${index + 1} 个密钥有误：${problem}` : problem);
  }
}

/** Throws: AppError with the first rule that the channel breaks. */
export function checkChannel(egress: Egress, channel: ChannelCheck): void {
  const row = rowOf(channel.type);
  checkBaseUrl(egress, row, channel.base_url);
  if (row.other?.required && !channel.other) throw faults.refused(`请填写${row.other.label}`);
  if (channel.config && !isJson(channel.config)) throw faults.refused("配置必须是合法的 JSON 格式");
  const rules = rulesIn(channel.config ?? "");
  if ("refusal" in rules) throw faults.refused(rules.refusal);
  const refusal = channel.proxy ? egress.refusalOfProxy(channel.proxy) : undefined;
  if (refusal !== undefined) throw faults.refused(refusal);
}

function checkBaseUrl(egress: Egress, row: Provider, baseUrl: string): void {
  if (baseUrl === "") {
    if (row.baseUrl === "") throw faults.refused("请填写 Base URL");
    return;
  }
  const judged = egress.judge(baseUrl, loopbackPortOf(row.baseUrl));
  if ("refusal" in judged) throw faults.refused(judged.refusal);
}
