// Channel types of other servers of the family that no row of the catalogue serves: an imported channel of such a type is kept,
// disabled, and shown by its name.
import { providerOf } from "./providers.ts";

/** One API's numbers are the catalogue's own. Source: songquanpeng/one-api, relay/channeltype/define.go, v0.6.11. */
const ONE_API: Readonly<Record<number, string>> = { 38: "DeepL", 46: "Replicate" };

/** New API gave some of One API's numbers to other types: its own types are stored as this offset plus their number. */
const NEW_API_FROM = 10_000;

/** Source: QuantumNous/new-api, constant/channel.go, read 2026-11-24. */
const NEW_API: Readonly<Record<number, string>> = {
  2: "Midjourney",
  5: "Midjourney Plus",
  36: "Suno",
  44: "Moka AI",
  50: "可灵 Kling",
  51: "即梦 Jimeng",
  52: "Vidu",
  54: "豆包视频",
  55: "Sora",
  56: "Replicate",
  57: "Codex",
};

/** The number that a type of New API's is kept as when nothing here serves it. */
export function newApiType(type: number): number {
  return NEW_API_FROM + type;
}

/** The name of a channel type, served here or not. */
export function typeName(type: number): string {
  const provider = providerOf(type);
  if (provider !== undefined) return provider.label;
  const foreign = type >= NEW_API_FROM ? NEW_API[type - NEW_API_FROM] : ONE_API[type];
  const number = type >= NEW_API_FROM ? `New API 类型 ${type - NEW_API_FROM}` : `未知类型 ${type}`;
  return foreign ?? number;
}
