// What a Claude model accepts, told from its name: how it thinks, which sampling it takes, how much it may write. Names that are not
// Claude's belong to vendors with an Anthropic-compatible address; they get the middle of the road.

/** How a generation is told to think: not at all, by a number of tokens, or by a word. */
export type ThinkingKind = "none" | "budget" | "either" | "word";

export interface ModelTraits {
  readonly thinking: ThinkingKind;
  /** The words of `output_config.effort`, weakest first. */
  readonly efforts: readonly string[];
  /** `none`: temperature, top_p and top_k are refused; `one`: temperature and top_p not together. */
  readonly sampling: "any" | "one" | "none";
  /** Takes `output_config.format`. */
  readonly hasSchemas: boolean;
  /** Unit: tokens. */
  readonly maxOutput: number;
  /** What stands when the client names no limit; the wire demands one. Unit: tokens. */
  readonly defaultOutput: number;
  /** The same for an answer that is streamed. Unit: tokens. */
  readonly defaultStream: number;
}

/** The model without a suffix that means an effort, and the word for it. */
export interface ModelName {
  readonly model: string;
  readonly suffix: string | undefined;
}

const WORDS = ["low", "medium", "high"] as const;
const ALL_WORDS = [...WORDS, "xhigh", "max"] as const;
/** Source: providers 6.1, "model's max output (table 26) capped to 8192". */
const DEFAULT_OUTPUT_LIMIT = 8192;
/** What Claude Code asks for (providers 17.1.1): room for an agent's longest edits. Why not more, and not for all: decision 031. */
const DEFAULT_STREAM_LIMIT = 32_000;

const FOREIGN: ModelTraits = {
  thinking: "budget",
  efforts: [],
  sampling: "any",
  hasSchemas: false,
  maxOutput: Number.MAX_SAFE_INTEGER,
  defaultOutput: DEFAULT_OUTPUT_LIMIT,
  defaultStream: DEFAULT_OUTPUT_LIMIT,
};

/** Bedrock's, Vertex's and OpenRouter's spellings count too. Source of the generations: providers 6.1, 6.4, 26.2. */
export function traitsOf(model: string): ModelTraits {
  const version = versionOf(model);
  if (version === undefined) return FOREIGN;
  const maxOutput = maxOutputOf(model, version);
  // Older ones refuse a prompt that does not leave room for all of the limit (decision 031).
  const streamLimit = version >= 405 ? DEFAULT_STREAM_LIMIT : DEFAULT_OUTPUT_LIMIT;
  return {
    thinking: thinkingOf(version),
    efforts: effortsOf(model, version),
    sampling: version >= 407 ? "none" : version >= 401 ? "one" : "any",
    hasSchemas: version >= 405,
    maxOutput,
    defaultOutput: Math.min(maxOutput, DEFAULT_OUTPUT_LIMIT),
    defaultStream: Math.min(maxOutput, streamLimit),
  };
}

/** Takes the suffixes `-thinking`, `-low` … `-max` off a Claude model's name. Source: providers 6.4. */
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

function effortsOf(model: string, version: number): readonly string[] {
  if (version < 406) return [];
  if (version >= 407) return ALL_WORDS;
  return model.includes("opus") ? [...WORDS, "max"] : WORDS;
}

function maxOutputOf(model: string, version: number): number {
  if (version < 305) return 4096;
  if (version < 307) return 8192;
  if (model.includes("opus") && version < 405) return 32_000;
  return version >= 407 || (version === 406 && model.includes("opus")) ? 128_000 : 64_000;
}
