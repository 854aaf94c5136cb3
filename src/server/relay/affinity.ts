// Which conversation a request belongs to, as far as its beginning tells: calls of one conversation go to one channel, where the
// upstream has its prompt in the cache. A guess from a few samples of the bytes; nothing is parsed and nothing remembered. Pure.
import type { ClientBody } from "#server/upstream/body.ts";
import { findMember, type JsonObject, type Member } from "#server/upstream/json.ts";
import type { Caller } from "./admit.ts";
import type { Incoming, TextEndpoint } from "./incoming.ts";

/** Shorter prompts are in no cache (the least is 1,024 tokens), so they are better spread evenly. */
const LEAST_TEXT_BYTES = 4_096;
/** Looked at of a text's end, of a message's begin, and of all messages in search of the first question. */
const SAMPLE_BYTES = 128;
const QUESTION_BYTES = 512;
const SEARCHED_BYTES = 262_144;

/** Where each format keeps its messages, and what stands before them. */
const PLACES: Readonly<Partial<Record<TextEndpoint, readonly [messages: string, system?: string]>>> = {
  chat: ["messages"],
  completions: ["prompt"],
  messages: ["messages", "system"],
  generate: ["contents", "systemInstruction"],
  responses: ["input", "instructions"],
};

const USER = Buffer.from('"user"');
const CACHE_MARK = Buffer.from('"cache_control"');
const USER_ID = Buffer.from('"user_id"');
const CLOSE_BRACE = 0x7d;
const COMMA = 0x2c;
const BLANK = 0x20;

/**
 * A number that all requests of a conversation share: of the same user, group and model, and of the same key if the client names
 * one (`prompt_cache_key`, Anthropic's `metadata.user_id`, a session header), else of the same begin up to the first question.
 * undefined = too short to be in a cache. 32 bits.
 */
export function conversationOf(incoming: Incoming, { userId, group }: Caller): number | undefined {
  const { endpoint, body, model, session, tally } = incoming;
  const places = PLACES[endpoint];
  if (places === undefined || tally.textBytes < LEAST_TEXT_BYTES) return undefined;
  const owner = mixText(mixText(mix(0, userId), group), model);
  if (session !== "") return finish(mixText(owner, session));
  const key = keyMember(endpoint, body);
  if (key === undefined) return finish(mixBegin(owner, body, places));
  return finish(mixBytes(owner, body.bytes, key.valueStart, key.valueEnd));
}

/** The member by which a client itself names the conversation. */
function keyMember(endpoint: TextEndpoint, { bytes, object }: ClientBody): Member | undefined {
  if (endpoint === "chat" || endpoint === "responses") return findMember(object, "prompt_cache_key");
  if (endpoint !== "messages") return undefined;
  const member = findMember(object, "metadata");
  if (member === undefined) return undefined;
  return bytes.subarray(member.valueStart, member.valueEnd).includes(USER_ID) ? member : undefined;
}

/** Only what every later request of the conversation has in the same place: never a length, an end, or a cache mark. */
function mixBegin(
  seed: number,
  { bytes, object }: ClientBody,
  [messages, system]: readonly [string, string?],
): number {
  let hash = seed;
  const before = system === undefined ? undefined : findMember(object, system);
  // The end: the begin may hold a line of the client's that changes with each call (providers 17.1.1).
  if (before !== undefined) {
    const { valueStart, valueEnd } = before;
    hash = mixBytes(hash, bytes, Math.max(valueStart, valueEnd - SAMPLE_BYTES), valueEnd);
  }
  const span = spanOf(object, messages);
  if (span === undefined) return hash;
  const [start, end] = span;
  hash = mixBytes(hash, bytes, start, stableEnd(bytes, start, Math.min(end, start + QUESTION_BYTES)));
  const found = bytes.subarray(start, Math.min(end, start + SEARCHED_BYTES)).indexOf(USER);
  if (found < 0) return hash;
  const role = start + found;
  hash = mixBytes(mix(hash, found), bytes, Math.max(start, role - SAMPLE_BYTES), role);
  return mixBytes(hash, bytes, role, stableEnd(bytes, role, Math.min(end, role + QUESTION_BYTES)));
}

function spanOf(object: JsonObject, name: string): readonly [start: number, end: number] | undefined {
  const member = findMember(object, name);
  return member && [member.valueStart, member.valueEnd];
}

/** Where the object that is being read ends, or a mark that moves on from message to message. */
function stableEnd(bytes: Buffer, from: number, to: number): number {
  const view = bytes.subarray(from, to);
  const brace = view.indexOf(CLOSE_BRACE);
  const mark = view.indexOf(CACHE_MARK);
  let end = Math.min(brace < 0 ? view.length : brace, mark < 0 ? view.length : mark);
  while (end > 0 && (view[end - 1] === COMMA || view[end - 1] === BLANK)) end -= 1;
  return from + end;
}

/** One step of MurmurHash3 (32 bits). */
function mix(hash: number, value: number): number {
  let word = Math.imul(value, 0xcc9e2d51);
  word = Math.imul((word << 15) | (word >>> 17), 0x1b873593);
  const mixed = hash ^ word;
  return (Math.imul((mixed << 13) | (mixed >>> 19), 5) + 0xe6546b64) | 0;
}

/** Its end: every bit of the input has touched every bit of the result. */
function finish(hash: number): number {
  let mixed = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

function mixText(hash: number, text: string): number {
  let mixed = mix(hash, text.length);
  for (let at = 0; at < text.length; at += 1) mixed = mix(mixed, text.charCodeAt(at));
  return mixed;
}

/** Four bytes at a time. */
function mixBytes(hash: number, bytes: Uint8Array, from: number, to: number): number {
  let mixed = hash;
  let at = from;
  for (; at + 4 <= to; at += 4) {
    // Within bounds.
    const low = (bytes[at] as number) | ((bytes[at + 1] as number) << 8);
    mixed = mix(mixed, low | ((bytes[at + 2] as number) << 16) | ((bytes[at + 3] as number) << 24));
  }
  for (; at < to; at += 1) mixed = mix(mixed, bytes[at] as number); // Within bounds.
  return mixed;
}
