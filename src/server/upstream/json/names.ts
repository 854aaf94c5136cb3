// Names of JSON members that are recognized by their bytes: names of members that hold files, and names that most bodies have. The latter
// are interned: no string is decoded for them, and equal names are the same string.

interface Name {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** By length, so that most names are ruled out by one look-up. */
type NameTable = readonly (readonly Name[] | undefined)[];

/** Members with images, audio or files. Source: the parts of all formats' messages, vendors/openai-chat, vendors/claude-messages. */
const MEDIA = tableOf([
  ...["file", "image_url", "video_url", "input_audio", "source"],
  ...["inlineData", "inline_data", "fileData", "file_data", "file_url"],
]);

/** Members with files in base64. */
const FILES = tableOf(["data", "url", "image_url", "video_url", "file_data", "image"]);

/** The member names of requests in all formats; a name that is missing here only costs a decoded string. */
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

/** Whether the name in this span, quotes included, is one of images, audio or files. */
export function isMediaName(bytes: Uint8Array, start: number, end: number): boolean {
  return nameIn(MEDIA, bytes, start, end) !== undefined;
}

/** Whether the name in this span, quotes included, is one of files in base64. */
export function isFileName(bytes: Uint8Array, start: number, end: number): boolean {
  return nameIn(FILES, bytes, start, end) !== undefined;
}

/** The interned string of the name in this span, quotes included; undefined = another name, or one with escapes. */
export function usualName(bytes: Uint8Array, start: number, end: number): string | undefined {
  return nameIn(USUAL, bytes, start, end)?.name;
}

function nameIn(table: NameTable, bytes: Uint8Array, start: number, end: number): Name | undefined {
  const candidates = table[end - start - 2];
  if (candidates === undefined) return undefined;
  for (const candidate of candidates) if (isAt(bytes, start + 1, candidate.bytes)) return candidate;
  return undefined;
}

/** Whether the bytes at this offset are this text. */
export function isAt(bytes: Uint8Array, start: number, text: Uint8Array): boolean {
  for (let index = 0; index < text.length; index += 1) if (bytes[start + index] !== text[index]) return false;
  return true;
}
