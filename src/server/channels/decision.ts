// Why a call went to its channel, as one short text that the log keeps with each call: what became of every candidate when the last of them
// was chosen, group by group (requirements C47). `vip/w/3t.7c.9p` = in group vip, by weight, 3 had failed, 7 was chosen, 9 has a lower
// priority.
import { ChannelStatus } from "#contract/channel.ts";
import type { RouteVerdict } from "#contract/route.ts";
import type { ChannelStrategy } from "#contract/strategy.ts";
import { type Choice, choose, withoutResting } from "./choice.ts";
import type { LiveChannel } from "./live-channel.ts";

/** So many candidates are named; the others are counted. */
const MOST_TOLD = 32;
/** A token has eight groups at the most. */
const MOST_CHARACTERS = 2_000;

const LETTERS = {
  chosen: "c",
  left: "l",
  tried: "t",
  limited: "f",
  resting: "r",
  priority_lower: "p",
  weight_zero: "z",
  format_other: "o",
  dearer: "d",
  slower: "s",
  keys_none: "k",
  disabled: "x",
  auto_disabled: "a",
  group: "g",
  rule: "u",
} as const satisfies Partial<Record<RouteVerdict, string>>;

/** What can become of a channel in a decision that is kept. */
export type KeptVerdict = keyof typeof LETTERS;

const VERDICTS = new Map<string, KeptVerdict>(
  // The keys of the table.
  (Object.keys(LETTERS) as KeptVerdict[]).map((verdict) => [LETTERS[verdict], verdict]),
);

const STRATEGIES = { weight: "w", latency: "l", cost: "c" } as const satisfies Record<
  ChannelStrategy,
  string
>;

/** One candidate. */
export function keptCandidate(id: number, verdict: KeptVerdict): string {
  return `${id}${LETTERS[verdict]}`;
}

/** How a choice was made. */
export interface Manner {
  readonly group: string;
  /** undefined = by weight alone. */
  readonly strategy: ChannelStrategy | undefined;
  readonly isNativeFirst: boolean;
  /** A conversation keeps its channel. */
  readonly isSticky: boolean;
}

/** The decision in one group; `candidates` as `keptCandidate` makes them, one behind the other. */
function keptDecision(
  { group, strategy = "weight", isNativeFirst, isSticky }: Manner,
  candidates: string,
  more: number,
): string {
  const marks = `${STRATEGIES[strategy]}${isNativeFirst ? "n" : ""}${isSticky ? "s" : ""}`;
  const name = /^[\w-]+$/.test(group) ? group : encodeURIComponent(group.toWellFormed());
  return `${name}/${marks}/${candidates}${more > 0 ? `+${more}` : ""}`;
}

/** Chooses, and keeps what became of the candidates when that was last done. */
export class KeptChoice {
  #told: string;
  #rest = "";
  #untold = 0;

  /** `only` = the one candidate where there is no choice; 0 = there is one. */
  constructor(only = 0) {
    this.#told = only === 0 ? "" : keptCandidate(only, "chosen");
  }

  /** The candidates without those that rest. */
  left(candidates: readonly LiveChannel[], isOpen: (id: number) => boolean): readonly LiveChannel[] {
    this.#rest = "";
    const left = withoutResting(candidates, isOpen);
    if (left === candidates) return candidates;
    this.#rest = candidates
      .filter((candidate) => !left.includes(candidate))
      .slice(0, MOST_TOLD)
      .map(({ id }) => keptCandidate(id, "resting"))
      .join("");
    return left;
  }

  /** Only one candidate is there; undefined = that is all there is to tell. */
  alone(id: number): this | undefined {
    this.#told = keptCandidate(id, "chosen");
    this.#untold = 0;
    return this.#rest === "" ? undefined : this;
  }

  choose(candidates: readonly LiveChannel[], choice: Choice<LiveChannel>): LiveChannel | undefined {
    let told = "";
    const chosen = choose(candidates, choice, {
      most: MOST_TOLD,
      tell(candidate, verdict) {
        told += keptCandidate(candidate.id, verdict);
      },
    });
    this.#told = told;
    this.#untold = Math.max(0, candidates.length - MOST_TOLD);
    return chosen;
  }

  text(manner: Manner): string {
    return keptDecision(manner, this.#told + this.#rest, this.#untold);
  }
}

/** Why a channel is no candidate. */
export function outsideOf(
  { status, groups, keys, models, mapping }: LiveChannel,
  group: string,
  model: string,
): "model" | "group" | "auto_disabled" | "keys_none" | "disabled" | "rule" {
  if (!models.has(model) && !mapping.has(model)) return "model";
  if (!groups.has(group)) return "group";
  if (status === ChannelStatus.autoDisabled) return "auto_disabled";
  if (status !== ChannelStatus.enabled) return "disabled";
  // All that is left to bar it is a rule.
  return keys?.enabled === 0 ? "keys_none" : "rule";
}

/** Why a group has no channel for a model: what bars the channels that have it. */
export function keptAbsence(channels: readonly LiveChannel[], group: string, model: string): string {
  let told = "";
  let count = 0;
  for (const channel of channels) {
    const verdict = outsideOf(channel, group, model);
    if (verdict === "model") continue;
    count += 1;
    if (count <= MOST_TOLD) told += keptCandidate(channel.id, verdict);
  }
  const manner = { group, strategy: undefined, isNativeFirst: false, isSticky: false };
  return keptDecision(manner, told, Math.max(0, count - MOST_TOLD));
}

/** Several groups in their order. */
export function keptGroups(earlier: string, last: string): string {
  return (earlier === "" ? last : `${earlier};${last}`).slice(0, MOST_CHARACTERS);
}

/** A decision as it was kept. */
export interface Decision extends Manner {
  readonly strategy: ChannelStrategy;
  readonly candidates: readonly { readonly id: number; readonly verdict: KeptVerdict }[];
  /** Candidates that are not named. */
  readonly more: number;
}

/** Reads what was kept; a part that was cut is left out. Order: as the groups were tried. */
export function readDecision(kept: string): readonly Decision[] {
  if (kept === "") return [];
  return kept.split(";").flatMap((part): Decision[] => {
    const [group = "", marks = "", list = ""] = part.split("/");
    const strategy = (["weight", "latency", "cost"] as const).find((name) => STRATEGIES[name] === marks[0]);
    if (strategy === undefined) return [];
    const candidates = [...list.matchAll(/(\d+)([a-z])/g)].flatMap(([, id, letter = ""]) => {
      const verdict = VERDICTS.get(letter);
      return verdict === undefined ? [] : [{ id: Number(id), verdict }];
    });
    const more = Number(/\+(\d+)$/.exec(list)?.[1] ?? 0);
    const manner = { isNativeFirst: marks.includes("n"), isSticky: marks.includes("s") };
    return [{ group: decoded(group), strategy, ...manner, candidates, more }];
  });
}

/** A name that was cut in its middle stays as it is. */
function decoded(group: string): string {
  try {
    return decodeURIComponent(group);
  } catch {
    return group;
  }
}
