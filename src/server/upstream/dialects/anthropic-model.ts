// What a Claude model accepts, derived from its name: thinking, sampling, output limit. Names that are not Claude's belong to vendors with
// an Anthropic-compatible address; they get moderate defaults.

/** How thinking is requested from a generation: not at all, by a number of tokens, or by an effort. */
export type ThinkingKind = "none" | "budget" | "either" | "word";

/** The `thinking` type that switches thinking off; `never` = the model always thinks. */
export type ThinkingOff = "disabled" | "between_tools" | "never";

export interface ModelTraits {
  readonly thinking: ThinkingKind;
  readonly off: ThinkingOff;
  /** Thinks by default. */
  readonly thinksUnasked: boolean;
  /** Sends empty thoughts unless `display` is set. */
  readonly hidesThoughts: boolean;
  /** Accepts a `tool_choice` that forces a call. */
  readonly forcesTools: boolean;
  /** Refuses thoughts of earlier turns when anything before them has changed. */
  readonly bindsThoughts: boolean;
  /** Accepts a prefill: it continues an answer that the last message begins. */
  readonly takesPrefill: boolean;
  /** The values of `output_config.effort`, weakest first. */
  readonly efforts: readonly string[];
  /** `none`: temperature, top_p and top_k are refused; `one`: temperature and top_p not together. */
  readonly sampling: "any" | "one" | "none";
  /** Takes `output_config.format`. */
  readonly hasSchemas: boolean;
  /** Unit: tokens. */
  readonly maxOutput: number;
  /** The default limit; the wire requires one. Unit: tokens. */
  readonly defaultOutput: number;
  /** The same for a streamed answer. Unit: tokens. */
  readonly defaultStream: number;
}

/** The model without an effort suffix, and the effort. */
export interface ModelName {
  readonly model: string;
  readonly suffix: string | undefined;
}

const ALL_WORDS = ["low", "medium", "high", "xhigh", "max"] as const;
/** From which version families always think, and from which they refuse a forced call; Haiku does neither. */
const ALWAYS_THINK: Readonly<Record<string, number>> = { fable: 500, mythos: 500, opus: 505 };
const NO_DEMANDS: Readonly<Record<string, number>> = { fable: 501, mythos: 501, opus: 505, sonnet: 505 };
const BIND_THOUGHTS: Readonly<Record<string, number>> = { ...NO_DEMANDS, haiku: 505 };
/** Source: vendors/claude-request, "model's max output (table 26) capped to 8192". */
const DEFAULT_OUTPUT_LIMIT = 8192;
/** The limit that Claude Code requests (vendors/claude-code), enough for an agent's longest edits. Its reasons: decision 031. */
const DEFAULT_STREAM_LIMIT = 32_000;

const FOREIGN: ModelTraits = {
  thinking: "budget",
  off: "disabled",
  thinksUnasked: false,
  hidesThoughts: false,
  forcesTools: true,
  bindsThoughts: false,
  takesPrefill: true,
  efforts: [],
  sampling: "any",
  hasSchemas: false,
  maxOutput: Number.MAX_SAFE_INTEGER,
  defaultOutput: DEFAULT_OUTPUT_LIMIT,
  defaultStream: DEFAULT_OUTPUT_LIMIT,
};

/**
 * Accepts Bedrock's, Vertex's and OpenRouter's spellings too; an unknown version is treated as the newest of its family. Source of the
 * generations: vendors/claude-request, vendors/claude-thinking, vendors/prices; from 5 on platform.claude.com/docs (pages of the models,
 * thinking, effort; 2026-11).
 */
export function traitsOf(model: string): ModelTraits {
  const version = versionOf(model);
  if (version === undefined) return FOREIGN;
  const maxOutput = maxOutputOf(model, version);
  // Older models refuse a prompt that does not leave space for the whole limit (decision 031).
  const streamLimit = version >= 405 ? DEFAULT_STREAM_LIMIT : DEFAULT_OUTPUT_LIMIT;
  return {
    thinking: thinkingOf(version),
    off: offOf(model, version),
    thinksUnasked: version >= 500,
    hidesThoughts: version >= 407,
    forcesTools: !isSince(NO_DEMANDS, model, version),
    bindsThoughts: isSince(BIND_THOUGHTS, model, version),
    takesPrefill: version < 406,
    efforts: effortsOf(version),
    sampling: version >= 407 ? "none" : version >= 401 ? "one" : "any",
    hasSchemas: version >= 405,
    maxOutput,
    defaultOutput: Math.min(maxOutput, DEFAULT_OUTPUT_LIMIT),
    defaultStream: Math.min(maxOutput, streamLimit),
  };
}

/** Takes the suffixes `-thinking`, `-low` … `-max` off a Claude model's name. Source: vendors/claude-thinking. */
export function splitSuffix(model: string): ModelName {
  const match = /^(.*claude.*)-(thinking|low|medium|high|xhigh|max)$/.exec(model);
  return { model: match?.[1] ?? model, suffix: match?.[2] };
}

/** 407 for claude-opus-4-7; undefined = no Claude. A date is no minor version. */
function versionOf(model: string): number | undefined {
  const match = /claude-(?:[a-z]+-)?(\d{1,2})(?!\d)(?:[.-](\d{1,2})(?!\d))?/.exec(model);
  return match === null ? undefined : Number(match[1]) * 100 + Number(match[2] ?? 0);
}

function thinkingOf(version: number): ThinkingKind {
  if (version < 307) return "none";
  if (version < 406) return "budget";
  return version < 407 ? "either" : "word";
}

function offOf(model: string, version: number): ThinkingOff {
  if (isSince(ALWAYS_THINK, model, version)) return "never";
  return model.includes("sonnet") && version >= 505 ? "between_tools" : "disabled";
}

function isSince(families: Readonly<Record<string, number>>, model: string, version: number): boolean {
  return Object.entries(families).some(([family, since]) => model.includes(family) && version >= since);
}

function effortsOf(version: number): readonly string[] {
  if (version < 406) return [];
  return version >= 407 ? ALL_WORDS : ALL_WORDS.filter((word) => word !== "xhigh");
}

function maxOutputOf(model: string, version: number): number {
  if (version < 305) return 4096;
  if (version < 307) return 8192;
  if (model.includes("opus") && version < 405) return 32_000;
  return version >= 406 ? 128_000 : 64_000;
}
