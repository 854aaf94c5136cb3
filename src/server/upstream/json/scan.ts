// Walks JSON in its bytes: where a value ends, whether it is well formed, and what texts and media it has. Accepts what JSON.parse accepts
// (RFC 8259), up to a limit of depth; it does not check that the bytes are UTF-8.

/** Optional statistics of a scan over all values. */
export interface Tally {
  /** Bytes of text values at any depth, an escape counted about as the character it encodes; files in base64 are excluded. */
  textBytes: number;
  /** How many bytes escapes are longer than the characters they encode, estimated. */
  escapeBytes: number;
  /** Members named like images, audio and files: their tokens cannot be derived from their bytes. */
  media: number;
  /** Numbers at any depth; a prompt may be a list of token ids. */
  numbers: number;
  /** Objects and lists at any depth. */
  nests: number;
  /** The next value belongs to a name of files. */
  isFile: boolean;
  /** A lone surrogate: JSON allows it, valid text does not. */
  hasLoneSurrogate: boolean;
}

export function newTally(): Tally {
  return {
    textBytes: 0,
    escapeBytes: 0,
    media: 0,
    numbers: 0,
    nests: 0,
    isFile: false,
    hasLoneSurrogate: false,
  };
}

export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const LOWER_U = 0x75;

/** No real request is deeper, or has more of them: such bodies are treated as malformed (requirements R05). */
const DEPTH_LIMIT = 512;
/** A parsed empty list takes twenty times its two bytes. */
const NEST_LIMIT = 200_000;

/** Escapes of one letter: `" \\ / b f n r t`. */
const SHORT_ESCAPES = new Set([...'"\\/bfnrt'].map((letter) => letter.charCodeAt(0)));
const LITERALS = ["true", "false", "null"].map((word) => Buffer.from(word));

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

export function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

export function skipBlanks(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && isBlank(bytes[at])) at += 1;
  return at;
}

/** Bytes that a string cannot contain unescaped: quote, backslash and control characters. */
const SPECIAL = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < 0x20 || byte === QUOTE || byte === BACKSLASH ? 1 : 0,
);

/** The offset after the closing quote of the string that opens at `from`; -1 = malformed or truncated. */
export function skipString(bytes: Uint8Array, from: number, tally: Tally | undefined): number {
  const end = bytes.length;
  let at = from + 1;
  while (at < end) {
    const byte = bytes[at] as number; // Within bounds.
    if (SPECIAL[byte] === 0) {
      at += 1;
      continue;
    }
    if (byte === QUOTE) return at + 1;
    at = byte === BACKSLASH ? skipEscape(bytes, at, tally) : -1;
    if (at < 0) return -1;
  }
  return -1;
}

/** How much longer an escape is than the UTF-8 of most characters it can encode, by its letter. Unit: bytes. */
export function escapeExcess(letter: number): number {
  return letter === LOWER_U ? 3 : 1;
}

/** The offset after the escape at `at`, both halves of a surrogate pair; -1 = no JSON escape. */
function skipEscape(bytes: Uint8Array, at: number, tally: Tally | undefined): number {
  const letter = bytes[at + 1] ?? 0;
  if (tally !== undefined) tally.escapeBytes += escapeExcess(letter);
  if (letter !== LOWER_U) return SHORT_ESCAPES.has(letter) ? at + 2 : -1;
  const unit = hexAt(bytes, at + 2);
  if (unit < 0) return -1;
  if (unit < 0xd800 || unit > 0xdfff) return at + 6;
  const isPair = unit < 0xdc00 && bytes[at + 6] === BACKSLASH && bytes[at + 7] === LOWER_U;
  const second = isPair ? hexAt(bytes, at + 8) : -1;
  if (second >= 0xdc00 && second <= 0xdfff) return at + 12;
  if (tally !== undefined) tally.hasLoneSurrogate = true;
  return at + 6;
}

/** The number of four hexadecimal digits; -1 = they are missing. */
function hexAt(bytes: Uint8Array, from: number): number {
  let value = 0;
  for (let at = from; at < from + 4; at += 1) {
    const byte = bytes[at] ?? 0;
    const lower = byte | 0x20;
    if (isDigit(byte)) value = value * 16 + byte - 0x30;
    else if (lower >= 0x61 && lower <= 0x66) value = value * 16 + lower - 0x57;
    else return -1;
  }
  return value;
}

/** The offset after the digits at `from`; -1 = there are none. */
function skipDigits(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && isDigit(bytes[at])) at += 1;
  return at === from ? -1 : at;
}

/** The offset after the number at `from`; -1 = none. */
function skipNumber(bytes: Uint8Array, from: number): number {
  let at = bytes[from] === 0x2d ? from + 1 : from;
  // No digit may follow a leading zero.
  at = bytes[at] === 0x30 ? at + 1 : skipDigits(bytes, at);
  if (at >= 0 && bytes[at] === 0x2e) at = skipDigits(bytes, at + 1);
  if (at < 0 || ((bytes[at] ?? 0) | 0x20) !== 0x65) return at;
  const sign = bytes[at + 1];
  return skipDigits(bytes, sign === 0x2b || sign === 0x2d ? at + 2 : at + 1);
}

/** The offset after true, false or null; -1 = none of them. */
function skipLiteral(bytes: Uint8Array, from: number): number {
  for (const word of LITERALS) {
    let index = 0;
    while (index < word.length && bytes[from + index] === word[index]) index += 1;
    if (index === word.length) return from + index;
  }
  return -1;
}

/** The offset after the value that begins at `from`; -1 = malformed, truncated or too deep. */
export function skipValue(bytes: Uint8Array, from: number, tally: Tally | undefined, depth: number): number {
  const byte = bytes[from];
  if (byte === QUOTE) return skipText(bytes, from, tally);
  if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
    return depth >= DEPTH_LIMIT || isOneTooMany(tally) ? -1 : skipNested(bytes, from, tally, depth);
  }
  if (byte !== 0x2d && !isDigit(byte)) return skipLiteral(bytes, from);
  if (tally !== undefined) tally.numbers += 1;
  return skipNumber(bytes, from);
}

function isOneTooMany(tally: Tally | undefined): boolean {
  if (tally === undefined) return false;
  tally.nests += 1;
  return tally.nests > NEST_LIMIT;
}

/** A string that is a value. */
function skipText(bytes: Uint8Array, from: number, tally: Tally | undefined): number {
  const excess = tally?.escapeBytes ?? 0;
  const end = skipString(bytes, from, tally);
  if (tally === undefined || end < 0) return end;
  if (!(tally.isFile && isBase64(bytes, from + 1, end - 1)))
    tally.textBytes += end - from - 2 - (tally.escapeBytes - excess);
  return end;
}

const DATA_BEGIN = Buffer.from("data:");
/** The media type and parameters of a data URL are shorter than this. */
const DATA_HEAD = 200;
/** A shorter text is no file. */
const FILE_BYTES = 64;

/** Whether a text is a file: entirely base64, or a base64 data URL. A text that only begins like one is text. */
function isBase64(bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start < FILE_BYTES) return false;
  let at = start;
  if (isAt(bytes, start, DATA_BEGIN)) {
    at = bytes.subarray(start, Math.min(end, start + DATA_HEAD)).indexOf(COMMA) + start + 1;
    if (at === start) return false;
  }
  while (at < end && BASE64[bytes[at] as number] === 1) at += 1; // Within bounds.
  return at === end;
}

/** Characters of both base64 alphabets, padding, and the backslash before an escaped slash. */
const BASE64 = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[\w+/=\\-]/.test(String.fromCharCode(byte)) ? 1 : 0,
);

/** The offset after the object or array that opens at `from`; -1 = malformed, truncated or too deep. */
function skipNested(bytes: Uint8Array, from: number, tally: Tally | undefined, depth: number): number {
  const isObject = bytes[from] === OPEN_BRACE;
  const close = isObject ? CLOSE_BRACE : CLOSE_BRACKET;
  let at = skipBlanks(bytes, from + 1);
  if (bytes[at] === close) return at + 1;
  for (;;) {
    if (isObject) at = skipKey(bytes, at, tally);
    else if (tally !== undefined) tally.isFile = false;
    if (at >= 0) at = skipValue(bytes, at, tally, depth + 1);
    if (at < 0) return -1;
    at = skipBlanks(bytes, at);
    if (bytes[at] === close) return at + 1;
    if (bytes[at] !== COMMA) return -1;
    at = skipBlanks(bytes, at + 1);
  }
}

/** The offset of the value of the key at `at`; -1 = there is no key, or no colon. */
function skipKey(bytes: Uint8Array, at: number, tally: Tally | undefined): number {
  if (bytes[at] !== QUOTE) return -1;
  const end = skipString(bytes, at, tally);
  if (end < 0) return -1;
  if (tally !== undefined) {
    if (isMediaName(bytes, at, end)) tally.media += 1;
    tally.isFile = isFileName(bytes, at, end);
  }
  const colon = skipBlanks(bytes, end);
  return bytes[colon] === COLON ? skipBlanks(bytes, colon + 1) : -1;
}

// Names that are recognized by their bytes: those of members that hold files, and those that most bodies have. The latter are interned: no
// string is decoded for them, and equal names are the same string.

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
function isMediaName(bytes: Uint8Array, start: number, end: number): boolean {
  return nameIn(MEDIA, bytes, start, end) !== undefined;
}

/** Whether the name in this span, quotes included, is one of files in base64. */
function isFileName(bytes: Uint8Array, start: number, end: number): boolean {
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
function isAt(bytes: Uint8Array, start: number, text: Uint8Array): boolean {
  for (let index = 0; index < text.length; index += 1) if (bytes[start + index] !== text[index]) return false;
  return true;
}
