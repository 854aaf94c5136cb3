// Which conversation a request belongs to, as far as its beginning tells: calls of one conversation go to one channel, where the
// upstream has its prompt in the cache. A guess from a few samples of the bytes; nothing is parsed and nothing remembered. Pure.

import type { Caller } from "#server/relay/admission/admit.ts";
import type { IncomingRequest } from "#server/relay/text/incoming.ts";
import type { ClientBody } from "#server/upstream/call/body.ts";
import { findMember, type Member } from "#server/upstream/json/object.ts";

/** Shorter prompts are not cached (the least is 1,024 tokens), so they are better spread evenly. */
const LEAST_TEXT_BYTES = 4_096;
/** Sampled of a text's begin or end, of the first question, and of all messages in search of it. */
const SAMPLE_BYTES = 64;
const QUESTION_BYTES = 320;
const SEARCHED_BYTES = 262_144;
const KEY_BYTES = 1_024;

/** Where each format has its messages, and the members before them. */
const PLACES: Readonly<
  Partial<Record<IncomingRequest["endpoint"], readonly [messages: string, system?: string]>>
> = {
  chat: ["messages"],
  completions: ["prompt"],
  messages: ["messages", "system"],
  generate: ["contents", "systemInstruction"],
  responses: ["input", "instructions"],
};

const USER = Buffer.from('"user"');
const CACHE_MARK = '"cache_control"';
const USER_ID = Buffer.from('"user_id"');
const COMMA = 0x2c;
const BLANK = 0x20;

/**
 * A number that all requests of a conversation share: of the same user, group and model, and of the same key if the client names
 * one (`prompt_cache_key`, Anthropic's `metadata.user_id`, a session header), else of the same begin up to the first question.
 * undefined = too short to be in a cache. 32 bits.
 */
export function conversationOf(incoming: IncomingRequest, { userId, group }: Caller): number | undefined {
  const { endpoint, body, model, session, tally } = incoming;
  const places = PLACES[endpoint];
  if (places === undefined || tally.textBytes < LEAST_TEXT_BYTES) return undefined;
  const owner = mixText(mixText(mix(0, userId), group), model);
  if (session !== "") return finish(mixText(owner, session));
  const key = keyMember(endpoint, body);
  if (key === undefined) return finish(mixBegin(owner, body, places));
  return finish(
    mixText(owner, sample(body.bytes, key.valueStart, Math.min(key.valueEnd, key.valueStart + KEY_BYTES))),
  );
}

/** The member by which a client itself names the conversation. */
function keyMember(endpoint: IncomingRequest["endpoint"], { bytes, object }: ClientBody): Member | undefined {
  if (endpoint === "chat" || endpoint === "responses") return findMember(object, "prompt_cache_key");
  if (endpoint !== "messages") return undefined;
  const member = findMember(object, "metadata");
  if (member === undefined) return undefined;
  return bytes.subarray(member.valueStart, member.valueEnd).includes(USER_ID) ? member : undefined;
}

/** Only what every later request of the conversation has in the same place: never a length, an end, or a cache marker. */
function mixBegin(
  seed: number,
  { bytes, object }: ClientBody,
  [messages, system]: readonly [string, string?],
): number {
  let hash = seed;
  const before = system === undefined ? undefined : findMember(object, system);
  // The end: the begin may have a line that the client changes with each call (vendors/claude-code).
  if (before !== undefined) {
    const { valueStart, valueEnd } = before;
    hash = mixText(hash, sample(bytes, Math.max(valueStart, valueEnd - SAMPLE_BYTES), valueEnd));
  }
  const member = findMember(object, messages);
  if (member === undefined) return hash;
  const { valueStart: start, valueEnd: end } = member;
  const head = sample(bytes, start, Math.min(end, start + SAMPLE_BYTES + CACHE_MARK.length));
  hash = mixText(hash, head, 0, stableEnd(head, 0, SAMPLE_BYTES));
  const role = questionAt(bytes, start, end);
  if (role < 0) return hash;
  const from = Math.max(start, role - SAMPLE_BYTES);
  const around = sample(bytes, from, Math.min(end, role + QUESTION_BYTES + CACHE_MARK.length));
  hash = mixText(mix(hash, role - start), around, 0, role - from);
  return mixText(hash, around, role - from, stableEnd(around, role - from, QUESTION_BYTES));
}

/** Bytes as a text of as many characters: one native call, and all further work is fast. */
function sample(bytes: Buffer, from: number, to: number): string {
  return bytes.toString("latin1", from, to);
}

/** Where the role of the first question stands; -1 = nowhere near. */
function questionAt(bytes: Buffer, start: number, end: number): number {
  if (bytes.length - start > SEARCHED_BYTES) {
    const at = bytes.subarray(start, start + SEARCHED_BYTES).indexOf(USER);
    return at < 0 || start + at >= end ? -1 : start + at;
  }
  const at = bytes.indexOf(USER, start);
  return at < end ? at : -1;
}

/**
 * Where the object that is being read ends, or a cache marker begins, which moves from message to message; at most so many characters
 * on. The text is longer by a marker, so that none is cut in two.
 */
function stableEnd(text: string, from: number, most: number): number {
  const brace = text.indexOf("}", from);
  const mark = text.indexOf(CACHE_MARK, from);
  const last = Math.min(from + most, text.length);
  let end = Math.min(last, brace < 0 ? last : brace, mark < 0 ? last : mark);
  while (end > from && (text.charCodeAt(end - 1) === COMMA || text.charCodeAt(end - 1) === BLANK)) end -= 1;
  return end;
}

/** One step of MurmurHash3 (32 bits). */
function mix(hash: number, value: number): number {
  let word = Math.imul(value, 0xcc9e2d51);
  word = Math.imul((word << 15) | (word >>> 17), 0x1b873593);
  const mixed = hash ^ word;
  return (Math.imul((mixed << 13) | (mixed >>> 19), 5) + 0xe6546b64) | 0;
}

/** Its finish: every bit of the input affects every bit of the result. */
function finish(hash: number): number {
  let mixed = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/** Four characters at a time; what lies above the first byte of a character overlaps its neighbour, which does no harm. */
function mixText(hash: number, text: string, from = 0, to = text.length): number {
  let mixed = mix(hash, to - from);
  let at = from;
  for (; at + 4 <= to; at += 4) {
    const low = text.charCodeAt(at) | (text.charCodeAt(at + 1) << 8);
    mixed = mix(mixed, low | (text.charCodeAt(at + 2) << 16) | (text.charCodeAt(at + 3) << 24));
  }
  for (; at < to; at += 1) mixed = mix(mixed, text.charCodeAt(at));
  return mixed;
}
