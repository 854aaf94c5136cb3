// Names of JSON members that are known by their bytes: those under which files stand, and those that most bodies have, for which no
// text is made, and of which equal ones are one and the same string, which compares at once.

interface Name {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** By length, so that a name is told from most others by one look-up. */
type NameTable = readonly (readonly Name[] | undefined)[];

/** Images, sounds and files stand under them. Source: the parts of all formats' messages, vendors/openai-chat, vendors/claude-messages. */
const MEDIA = tableOf([
  ...["file", "image_url", "video_url", "input_audio", "source"],
  ...["inlineData", "inline_data", "fileData", "file_data", "file_url"],
]);

/** Files stand under them in base64. */
const FILES = tableOf(["data", "url", "image_url", "video_url", "file_data", "image"]);

/** The words of requests in all formats; a name that is missing here costs a text, nothing else. */
const USUAL = tableOf([
  ...["model", "messages", "stream", "stream_options", "include_usage", "n", "best_of", "user", "metadata"],
  ...["max_tokens", "max_completion_tokens", "max_output_tokens", "temperature", "top_p", "top_k", "seed"],
  ...["frequency_penalty", "presence_penalty", "logit_bias", "logprobs", "top_logprobs", "stop"],
  ...["tools", "tool_choice", "parallel_tool_calls", "response_format", "reasoning_effort", "reasoning"],
  ...["thinking", "verbosity", "store", "service_tier", "prompt_cache_key", "safety_identifier"],
  ...["system", "stop_sequences", "input", "instructions", "text", "include", "truncation", "prompt"],
  ...["contents", "generationConfig", "systemInstruction", "safetySettings", "toolConfig"],
  ...["encoding_format", "dimensions", "query", "documents", "top_n", "size", "quality"],
]);

function tableOf(names: readonly string[]): NameTable {
  const table: Name[][] = [];
  for (const name of names) {
    table[name.length] ??= [];
    table[name.length]?.push({ name, bytes: Buffer.from(name) });
  }
  return table;
}

/** Whether images, sounds and files stand under the name in this span, quotes included. */
export function isMediaName(bytes: Uint8Array, start: number, end: number): boolean {
  return nameIn(MEDIA, bytes, start, end) !== undefined;
}

/** Whether files stand in base64 under the name in this span, quotes included. */
export function isFileName(bytes: Uint8Array, start: number, end: number): boolean {
  return nameIn(FILES, bytes, start, end) !== undefined;
}

/** The text of a usual name in this span, quotes included; undefined = another name, or one with escapes. */
export function usualName(bytes: Uint8Array, start: number, end: number): string | undefined {
  return nameIn(USUAL, bytes, start, end)?.name;
}

function nameIn(table: NameTable, bytes: Uint8Array, start: number, end: number): Name | undefined {
  const candidates = table[end - start - 2];
  if (candidates === undefined) return undefined;
  for (const candidate of candidates) if (isAt(bytes, start + 1, candidate.bytes)) return candidate;
  return undefined;
}

/** Whether this text stands there. */
export function isAt(bytes: Uint8Array, start: number, text: Uint8Array): boolean {
  for (let index = 0; index < text.length; index += 1) if (bytes[start + index] !== text[index]) return false;
  return true;
}
