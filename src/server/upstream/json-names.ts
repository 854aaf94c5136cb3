// The names that most JSON bodies have, known by their bytes: for them no text is made, and equal ones are one and the same
// string, which compares at once.

export interface KnownName {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** Images, sounds and files stand under it. Source: the parts of all formats' messages, providers 4.3, 17. */
  readonly isMedia: boolean;
  /** Files stand under it in base64. */
  readonly isFile: boolean;
}

const MEDIA_NAMES = [
  ...["file", "image_url", "video_url", "input_audio", "source"],
  ...["inlineData", "inline_data", "fileData", "file_data", "file_url"],
];
const FILE_NAMES = ["data", "url", "image_url", "video_url", "file_data", "image"];

/** The words of requests in all formats; a name that is missing here costs a text, nothing else. */
const USUAL_NAMES = [
  ...["model", "messages", "stream", "stream_options", "include_usage", "n", "best_of", "user", "metadata"],
  ...["max_tokens", "max_completion_tokens", "max_output_tokens", "temperature", "top_p", "top_k", "seed"],
  ...["frequency_penalty", "presence_penalty", "logit_bias", "logprobs", "top_logprobs", "stop"],
  ...["tools", "tool_choice", "parallel_tool_calls", "response_format", "reasoning_effort", "reasoning"],
  ...["thinking", "verbosity", "store", "service_tier", "prompt_cache_key", "safety_identifier"],
  ...["system", "stop_sequences", "input", "instructions", "text", "include", "truncation", "prompt"],
  ...["contents", "generationConfig", "systemInstruction", "safetySettings", "toolConfig"],
  ...["encoding_format", "dimensions", "query", "documents", "top_n", "size", "quality"],
];

/** By length, so that a name is told from most others by one look-up. */
const NAMES_BY_LENGTH: readonly (readonly KnownName[] | undefined)[] = table();

function table(): KnownName[][] {
  const byLength: KnownName[][] = [];
  for (const name of new Set([...MEDIA_NAMES, ...FILE_NAMES, ...USUAL_NAMES])) {
    byLength[name.length] ??= [];
    byLength[name.length]?.push({
      name,
      bytes: Buffer.from(name),
      isMedia: MEDIA_NAMES.includes(name),
      isFile: FILE_NAMES.includes(name),
    });
  }
  return byLength;
}

/** The name in a string literal's span, quotes included; undefined = none of ours, or written with escapes. */
export function knownName(bytes: Uint8Array, start: number, end: number): KnownName | undefined {
  const candidates = NAMES_BY_LENGTH[end - start - 2];
  if (candidates === undefined) return undefined;
  for (const candidate of candidates) if (isAt(bytes, start + 1, candidate.bytes)) return candidate;
  return undefined;
}

/** Whether this text stands there. */
export function isAt(bytes: Uint8Array, start: number, text: Uint8Array): boolean {
  for (let index = 0; index < text.length; index += 1) if (bytes[start + index] !== text[index]) return false;
  return true;
}
