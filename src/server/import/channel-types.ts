// What becomes of a foreign channel type. One API's numbers are ours; New API's differ from 26 on (requirements W15.1, T2), and
// vendors we have no row for become custom channels with their address when they speak OpenAI's wire. Data only.
import { newApiType } from "#contract/foreign-types.ts";
import { providerOf } from "#contract/providers.ts";
import { withoutEndSlashes } from "#contract/wire.ts";
import type { Family } from "./source.ts";

interface Moved {
  readonly type: number;
  /** Default address of the foreign type; undefined = that of ours. */
  readonly baseUrl?: string;
}

const CUSTOM = 8;

function custom(baseUrl: string): Moved {
  return { type: CUSTOM, baseUrl };
}

/** New API gave numbers of One API's to others (requirements T2.2). "none" = we have that number, but for another vendor. */
const NEW_API: Readonly<Record<number, Moved | "none">> = {
  2: "none",
  4: { type: 30 },
  5: "none",
  26: { type: 16 },
  27: custom("https://api.perplexity.ai/chat/completions"),
  28: "none",
  29: "none",
  30: "none",
  32: "none",
  34: { type: 35 },
  35: { type: 27 },
  36: "none",
  37: { type: 101 },
  38: custom("https://api.jina.ai"),
  39: { type: 37 },
  40: { type: 44 },
  41: { type: 42 },
  42: { type: 28 },
  43: { type: 36 },
  44: "none",
  45: { type: 40 },
  46: { type: 47 },
  47: { type: 50 },
  48: { type: 45 },
  49: { type: 34 },
  50: "none",
  51: "none",
  53: custom("https://llm.submodel.ai"),
};

export interface ChannelKind {
  readonly type: number;
  readonly baseUrl: string;
  /** No type of ours speaks its wire: the channel is kept, disabled. */
  readonly isUnknown: boolean;
  /** It became a custom channel. */
  readonly isMoved: boolean;
}

/** Our type and address for a foreign type and the address stored with it. */
export function kindOf(family: Family, type: number, storedUrl: string): ChannelKind {
  const baseUrl = withoutEndSlashes(storedUrl);
  const moved = family.isNewApi ? (NEW_API[type] ?? { type }) : { type };
  const row = moved === "none" ? undefined : providerOf(moved.type);
  if (moved === "none" || row === undefined) {
    const kept = family.isNewApi ? newApiType(type) : type;
    return { type: kept, baseUrl, isUnknown: true, isMoved: false };
  }
  const address = baseUrl || (moved.baseUrl ?? "");
  const isMoved = moved.type === CUSTOM && type !== CUSTOM;
  return { type: moved.type, baseUrl: address, isUnknown: isMoved && address === "", isMoved };
}
