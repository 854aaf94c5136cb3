// A message of a client of Responses by WebSocket as the request that it means: what was said before on its socket goes in front of what it
// adds, so that any upstream understands it (vendors/responses-socket). Every other byte stays as the client sent it. Pure.
import { LocalError, localErrors } from "#server/relay/http/local-errors.ts";
import { hasTwins } from "#server/relay/text/incoming.ts";
import {
  editObject,
  findMember,
  type JsonObject,
  readMember,
  wholeObject,
} from "#server/upstream/json/object.ts";

/** A response that a client asks for. */
export interface Create {
  readonly bytes: Buffer;
  readonly object: JsonObject;
  /** "" = it goes on from none. */
  readonly previous: string;
  /** What it adds: items without brackets; undefined = it is neither a text nor a list. */
  readonly input: Buffer | undefined;
  /** Nothing is made: what it says is there for the next one. */
  readonly isWarmUp: boolean;
}

/** Codex tells that it has taken in a response. */
const UNANSWERED = "response.processed";

/** Reads a message; undefined = it needs no answer. Throws: LocalError. */
export function readMessage(bytes: Buffer): Create | undefined {
  const object = wholeObject(bytes);
  if (object === undefined) throw new LocalError(localErrors.bodyUnreadable());
  if (hasTwins(object)) throw new LocalError(localErrors.keysRepeated());
  const said = (name: string) => readMember(bytes, object, name) ?? undefined;
  const type = said("type");
  if (type === UNANSWERED) return undefined;
  if (type !== "response.create") throw new LocalError(localErrors.fieldInvalid("type"));
  const previous = said("previous_response_id") ?? "";
  const generate = said("generate") ?? true;
  if (typeof previous !== "string") throw new LocalError(localErrors.fieldInvalid("previous_response_id"));
  if (typeof generate !== "boolean") throw new LocalError(localErrors.fieldInvalid("generate"));
  // The answer comes on the socket, and one at a time.
  if ((said("background") ?? false) !== false) throw new LocalError(localErrors.fieldInvalid("background"));
  if (said("stream_id") !== undefined) throw new LocalError(localErrors.fieldInvalid("stream_id"));
  return { bytes, object, previous, input: itemsOf(bytes, object), isWarmUp: !generate };
}

const QUOTE = 0x22;
const OPEN_BRACKET = 0x5b;
export const NO_ITEMS = Buffer.alloc(0);

/** The input as items of a list, without its brackets. */
function itemsOf(bytes: Buffer, object: JsonObject): Buffer | undefined {
  const member = findMember(object, "input");
  if (member === undefined) return undefined;
  const { valueStart: start, valueEnd: end } = member;
  if (bytes[start] === QUOTE)
    return Buffer.concat([Buffer.from('{"role":"user","content":'), bytes.subarray(start, end), CLOSE]);
  if (bytes[start] !== OPEN_BRACKET) return undefined;
  const items = bytes.subarray(start + 1, end - 1);
  return items.every((byte) => byte <= 0x20) ? NO_ITEMS : items;
}

const CLOSE = Buffer.from("}");
const COMMA = Buffer.from(",");

/** Two lists of items as one. */
export function joinItems(first: Buffer, second: Buffer): Buffer {
  if (first.length === 0 || second.length === 0) return first.length === 0 ? second : first;
  return Buffer.concat([first, COMMA, second]);
}

const OF_MESSAGE = ["type", "generate", "background", "stream_id"] as const;

/** The body of the call. `before`: the items until the response that it goes on from; undefined = an upstream may know that response. */
export function bodyOf({ bytes, object, input, isWarmUp }: Create, before: Buffer | undefined): Buffer {
  const isWhole = before !== undefined;
  const drop = new Set<string>(isWhole ? [...OF_MESSAGE, "previous_response_id"] : OF_MESSAGE);
  const set = new Map([["stream", "true"]]);
  if (isWhole && before.length > 0 && input !== undefined)
    set.set("input", `[${joinItems(before, input).toString()}]`);
  if (isWarmUp && input === undefined) set.set("input", "[]");
  return editObject(bytes, object, { drop, set });
}
