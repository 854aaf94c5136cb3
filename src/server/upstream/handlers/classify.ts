// Decides whether a body with status 200, or the first event of a stream, is a reply, an error, or neither (requirements R11, R12,
// T21.2). Pure.

import type { GenerationEndpoint } from "#contract/provider.ts";
import type { EndpointName, Quirks } from "#contract/providers.ts";
import type { ReplyHeaders } from "#server/egress/send.ts";
import type { StreamFormat } from "#server/upstream/clients/client.ts";
import {
  type RelayFault,
  statusFault,
  type UpstreamError,
  unreadableFault,
  wireFault,
} from "#server/upstream/errors/fault.ts";
import { toldStatus } from "#server/upstream/errors/status-from-error.ts";
import { failedFinish } from "#server/upstream/hub/chat-reply.ts";
import { fieldOf, type SseEvent } from "#server/upstream/hub/sse.ts";
import { wholeObject } from "#server/upstream/json/object.ts";
import { asObject, type JsonRecord } from "#server/upstream/json/values.ts";
import type { EventAction, ResponseHandler, StreamObserver } from "./handler.ts";

/** Bodies up to this size are parsed whole, which is fast; of larger ones (embeddings) only the members that are read. */
const PARSE_LIMIT_BYTES = 64 * 1024;
const LOOKED_AT = new Set(["error", "usage", "object", "x_groq", "base_resp", "code", "statusText"]);
const OPEN_BRACKET = 0x5b;

/**
 * The JSON object of a body. For a large body it has only the members that are ever read, and lists (`choices`, `data`) are empty.
 * undefined = no JSON object.
 */
export function readReply(body: Uint8Array): JsonRecord | undefined {
  if (body.length <= PARSE_LIMIT_BYTES) return parseObject(body);
  const object = wholeObject(body);
  if (object === undefined) return undefined;
  const values: Record<string, unknown> = {};
  for (const { name, valueStart, valueEnd } of object.members) {
    if (LOOKED_AT.has(name)) values[name] = parse(body.subarray(valueStart, valueEnd));
    else if (body[valueStart] === OPEN_BRACKET) values[name] = [];
  }
  return values;
}

/** The JSON object of a text in bytes; undefined = it is none. */
export function parseObject(bytes: Uint8Array): JsonRecord | undefined {
  return asObject(parse(bytes));
}

function parse(bytes: Uint8Array): unknown {
  const buffer = Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    return JSON.parse(buffer.toString());
  } catch {
    return undefined;
  }
}

/** The bare media type of a reply, lower case; "" = none given. */
export function mediaTypeOf(headers: ReplyHeaders): string {
  const value = headers["content-type"];
  const text = typeof value === "string" ? value : "";
  const end = text.indexOf(";");
  return (end < 0 ? text : text.slice(0, end)).trim().toLowerCase();
}

/** An encoded body would have to be decoded; the gateway never asks for one, so it is refused (requirements R20). */
export function isCoded(headers: ReplyHeaders): boolean {
  const coding = headers["content-encoding"];
  return coding !== undefined && coding !== "" && coding !== "identity";
}

/** The member that holds each endpoint's result: an object without it is no reply. */
const SUBSTANCE: Readonly<Partial<Record<EndpointName, string>>> = {
  chat: "choices",
  completions: "choices",
  edits: "choices",
  embeddings: "data",
};

export interface ReplyContext {
  readonly endpoint: EndpointName;
  readonly quirks: Quirks | undefined;
  readonly secrets: readonly string[];
}

/** Judges a whole 200 body. undefined = it is a reply. */
export function judgeReply(reply: JsonRecord | undefined, context: ReplyContext): RelayFault | undefined {
  if (reply === undefined) return unreadableFault("no JSON object", 200);
  const refusal = errorIn200(reply, context);
  if (refusal !== undefined) return refusal;
  const substance = SUBSTANCE[context.endpoint];
  if (substance !== undefined && !Array.isArray(reply[substance]))
    return unreadableFault(`no ${substance}`, 200);
  return undefined;
}

/** Every known keep-alive event is shorter. */
const PING_BYTES = 200;
const PINGS: ReadonlySet<unknown> = new Set(["ping", "keepalive"]);

/** Counts the events of an answer. Keep-alives before the first do not count: failover is still possible (requirements R08). */
export function countEvent(before: number, event: SseEvent): number {
  return before === 0 && isPing(event) ? 0 : before + 1;
}

function isPing({ data, dataStart, dataEnd }: SseEvent): boolean {
  if (dataEnd - dataStart > PING_BYTES) return false;
  return PINGS.has(parseObject(data.subarray(dataStart, dataEnd))?.["type"]);
}

/** An error that came with status 200, whole or as one stream event; undefined = none. */
export function errorIn200(reply: JsonRecord, { quirks, secrets }: ReplyContext): RelayFault | undefined {
  const code = refusalCode(reply, quirks?.errorIn200);
  const word = code === undefined && quirks?.ownWords === true ? failedFinish(reply) : undefined;
  if (word !== undefined)
    return wireFault({ status: 502, message: "上游生成中断", code: word, type: "upstream_error" }, secrets);
  if (code === undefined) return undefined;
  const told = toldStatus(code, asObject(reply["error"])?.["type"]);
  const status = quirks?.faultStatus?.[code] ?? told ?? Number(code);
  const isHttp = Number.isInteger(status) && status >= 400 && status <= 599;
  const fallback = quirks?.errorIn200 === undefined ? 502 : 500;
  return statusFault({ status: isHttp ? status : fallback, body: reply, text: "", retryAfterMs: 0, secrets });
}

/** The code of a refusal, "" when it has none; undefined = the reply is no refusal. */
function refusalCode(reply: JsonRecord, kind: Quirks["errorIn200"]): string | undefined {
  const { error } = reply;
  if (error !== undefined && error !== null && error !== false && error !== "") {
    const code = asObject(error)?.["code"];
    return typeof code === "string" || typeof code === "number" ? String(code) : "";
  }
  return kind === undefined ? undefined : REFUSALS[kind](reply);
}

const REFUSALS: Readonly<
  Record<NonNullable<Quirks["errorIn200"]>, (reply: JsonRecord) => string | undefined>
> = {
  "base-resp": (reply) => {
    const code = asObject(reply["base_resp"])?.["status_code"];
    return typeof code === "number" && code !== 0 ? String(code) : undefined;
  },
  "status-text": (reply) => {
    if (reply["statusText"] === undefined || reply["choices"] !== undefined) return undefined;
    return typeof reply["code"] === "number" && reply["code"] !== 200 ? String(reply["code"]) : "";
  },
  code: (reply) => {
    const { code } = reply;
    const isRefusal =
      reply["choices"] === undefined && (typeof code === "number" || typeof code === "string");
    return isRefusal && Number(code) !== 0 ? String(code) : undefined;
  },
};

/** How much of an error's text is kept when it is no JSON. */
const TEXT_LENGTH = 4_096;

/** Reads the body of an error. Google's OpenAI surface wraps its error in a list of one. */
export function errorIn(body: Buffer): Pick<UpstreamError, "body" | "text"> {
  const json = parse(body);
  return { body: Array.isArray(json) ? json[0] : json, text: body.toString().slice(0, TEXT_LENGTH) };
}

type Recognise = (event: JsonRecord) => boolean;

/** A chunk has choices, usage, or at least its object type: content filter results and usage may come without the rest. */
const isChunk: Recognise = ({ choices, usage, object }) =>
  Array.isArray(choices) ||
  asObject(usage) !== undefined ||
  (typeof object === "string" && /^(chat\.completion|text_completion)/.test(object));

const PIECES: Readonly<Record<GenerationEndpoint, Recognise>> = {
  chat: isChunk,
  completions: isChunk,
  messages: ({ type }) => typeof type === "string" && /^(message|content_block)_/.test(type),
  responses: ({ type }) =>
    typeof type === "string" && type.startsWith("response.") && type !== "response.failed",
  generate: (event) =>
    ["candidates", "promptFeedback", "usageMetadata", "responseId"].some((name) => name in event),
};

/** Events of images and audio: OpenAI's types contain a dot, other vendors' events have a payload member. */
const isTaskEvent: Recognise = (event) => {
  const { type } = event;
  const isNamed = typeof type === "string" && type.includes(".") && !type.endsWith(".failed");
  return isNamed || ["data", "text", "delta", "choices", "usage", "audio"].some((name) => name in event);
};

/** Event names of chunks and errors; other names report the workflow behind an answer (FastGPT). */
const NAMES_OF_CHUNKS: ReadonlySet<string> = new Set(["", "message", "error"]);

/**
 * The error in the first event of a stream in this format; undefined = it is part of an answer. An error is read like the body of an
 * error status: redacted, and failover to another channel is possible.
 */
export function errorAtFirst(
  event: SseEvent,
  format: StreamFormat,
): Omit<UpstreamError, "secrets"> | undefined {
  const { data, dataStart, dataEnd } = event;
  const isPiece = format === "task" ? isTaskEvent : PIECES[format];
  if (isPiece === isChunk && !NAMES_OF_CHUNKS.has(fieldOf(event, "event"))) return undefined;
  const told = errorIn(Buffer.from(data.subarray(dataStart, dataEnd)));
  const body = asObject(told.body);
  if (body !== undefined && isPiece(body)) return undefined;
  return { status: statusIn(body ?? {}), ...told, retryAfterMs: 0 };
}

/** The status that the error would have had: such errors often repeat it as their code. */
function statusIn(body: JsonRecord): number {
  const { code, type, status } = body;
  const told = toldStatus(code, type);
  if (told !== undefined) return told;
  const number = [code, status].map(Number).find((one) => Number.isInteger(one) && one >= 400 && one <= 599);
  return number ?? 502;
}

/** The action for an event: its observer decides, except that the first one may be an error in a form the observer does not know. */
export function judgedEvent(
  handler: ResponseHandler,
  observer: StreamObserver,
  event: SseEvent,
): EventAction {
  const isBegun = observer.events > 0;
  const action = observer.take(event);
  if (isBegun || observer.events === 0 || isFault(action)) return action;
  return handler.first?.(event) ?? action;
}

function isFault(action: EventAction): action is RelayFault {
  return typeof action === "object" && "kind" in action;
}
