// Reads the events of a realtime conversation that have a price (vendors/realtime), and changes the two kinds that cannot pass unchanged:
// errors with the upstream's secrets, and settings that name a model. Pure.

import { type RelayFault, statusFault } from "#server/upstream/errors/fault.ts";
import { redactObject } from "#server/upstream/errors/redact.ts";
import { toldStatus } from "#server/upstream/errors/status-from-error.ts";
import { asObject, asText, type JsonRecord, readJson } from "#server/upstream/json/values.ts";

/** The effect of an event on billing. */
export type RealtimeNews =
  | { readonly kind: "begun"; readonly response: string }
  | { readonly kind: "output"; readonly response: string; readonly tokens: number; readonly isAudio: boolean }
  | {
      readonly kind: "done";
      readonly response: string;
      readonly usage: JsonRecord | undefined;
      readonly hasFailed: boolean;
    }
  /** The client's audio was transcribed by a separate model. */
  | { readonly kind: "transcribed"; readonly usage: JsonRecord | undefined }
  | { readonly kind: "session"; readonly transcriber: string | undefined; readonly isNarrow: boolean };

/** LLM tokens in a second of input audio, and of output audio (vendors/realtime). */
const HEARD_PER_SECOND = 10;
const MADE_PER_SECOND = 20;
/** PCM of 24 kHz and 16 bits; G.711 has 8 kHz and 8 bits. */
const PCM_BYTES_PER_SECOND = 48_000;
const NARROW_BYTES_PER_SECOND = 8_000;
/** Most text has about four bytes per token, and most events have one token. */
const BYTES_PER_TOKEN = 4;
const DONE = "response.done";
const TRANSCRIBED = "conversation.item.input_audio_transcription.completed";
const AUDIO_DELTA = /^response\.(output_)?audio\.delta$/;
const DELTA = /^response\.[\w.]+\.delta$/;
const APPEND = Buffer.from("input_audio_buffer.append");
const UPDATE = Buffer.from("session.update");
/** A longer event may have its type after this; audio in base64 cannot contain one. */
const ESCAPE = Buffer.from("\\u");
/** The type is near the beginning of every event of a client. */
const HEAD_BYTES = 256;

/** Reads an event of the server; undefined = it has no price. `isNarrow`: audio is G.711. */
export function readEvent(event: JsonRecord, isNarrow: boolean): RealtimeNews | undefined {
  const type = asText(event["type"]) ?? "";
  if (type === "session.created" || type === "session.updated") return sessionNews(event["session"]);
  if (type === TRANSCRIBED) return { kind: "transcribed", usage: asObject(event["usage"]) };
  const response = asObject(event["response"]);
  const id = asText(response?.["id"]) ?? asText(event["response_id"]) ?? "";
  if (type === "response.created") return { kind: "begun", response: id };
  if (type === DONE) {
    const hasFailed = response?.["status"] === "failed";
    return { kind: "done", response: id, usage: asObject(response?.["usage"]), hasFailed };
  }
  const delta = DELTA.test(type) ? asText(event["delta"]) : undefined;
  if (delta === undefined) return undefined;
  const isAudio = AUDIO_DELTA.test(type);
  const tokens = isAudio
    ? soundTokens(delta.length, MADE_PER_SECOND, isNarrow)
    : Math.max(1, Math.round(Buffer.byteLength(delta) / BYTES_PER_TOKEN));
  return { kind: "output", response: id, tokens, isAudio };
}

/** Estimates what a message of the client adds to the conversation. Unit: LLM tokens. */
export function heardTokens(
  data: Buffer,
  isBinary: boolean,
  isNarrow: boolean,
): { readonly tokens: number; readonly isAudio: boolean } {
  const isAudio = isBinary || data.subarray(0, HEAD_BYTES).includes(APPEND);
  const tokens = isAudio
    ? soundTokens(data.length, HEARD_PER_SECOND, isNarrow)
    : Math.ceil(data.length / BYTES_PER_TOKEN);
  return { tokens, isAudio };
}

/** Whether a message of the client sets the session. */
export function isSettings(data: Buffer): boolean {
  return mayBeSettings(data) && readJson(data.toString())?.["type"] === "session.update";
}

function mayBeSettings(data: Buffer): boolean {
  return data.includes(UPDATE) || data.includes(ESCAPE);
}

/**
 * The model was selected and priced at the start: a model name in the client's settings is replaced by the upstream name. undefined = the
 * message passes unchanged.
 */
export function withModel(data: Buffer, model: string): Buffer | undefined {
  if (!mayBeSettings(data)) return undefined;
  const event = readJson(data.toString());
  const session = event?.["type"] === "session.update" ? asObject(event["session"]) : undefined;
  const named = session?.["model"];
  if (named === undefined || named === model) return undefined;
  return Buffer.from(JSON.stringify({ ...event, session: { ...session, model } }));
}

/** The failure in an event, of the session, a response or a transcription; undefined = none. */
export function faultIn(event: JsonRecord, secrets: readonly string[]): RelayFault | undefined {
  const error = asObject(event["error"]) ?? asObject(detailsIn(event)?.["error"]) ?? flatError(event);
  if (error === undefined) return undefined;
  const { code, type } = error;
  const [told, kind] = [code, type].map((word) => asText(word)?.replace(/^invalid_request_error\./, ""));
  const status = toldStatus(told, kind) ?? ([told, kind].includes("server_error") ? 500 : 400);
  const body = { error: { message: "", ...error } };
  return statusFault({ status, body, text: "", retryAfterMs: 0, secrets });
}

/** An error event without an error object, as some compatible servers send it. */
function flatError({ type, code, message, error }: JsonRecord): JsonRecord | undefined {
  return type === "error" ? { code, message: asText(message) ?? asText(error) ?? "" } : undefined;
}

/**
 * The event of a failure, without the upstream's accounts and addresses (requirements R18, R19). Of a failure of the operator's own account
 * clients get only `fault`, as in an HTTP answer.
 */
export function withFault(event: JsonRecord, fault: RelayFault, secrets: readonly string[]): Buffer {
  const clean = redactObject(event, secrets);
  const isOperators = fault.blame !== "none" && fault.upstreamStatus < 500;
  return Buffer.from(JSON.stringify(isOperators ? retold(clean, fault) : clean));
}

function retold(event: JsonRecord, { publicMessage: message, type, code, param }: RelayFault): JsonRecord {
  const error = { type, code, message, param };
  const own = asObject(event["error"]);
  if (own !== undefined) {
    const { event_id } = own;
    return { ...event, error: event_id === undefined ? error : { ...error, event_id } };
  }
  const { type: kind, event_id } = event;
  if (kind === "error") return { type: kind, event_id, error };
  const status_details = { ...detailsIn(event), error };
  return { ...event, response: { ...asObject(event["response"]), status_details } };
}

function detailsIn(event: JsonRecord): JsonRecord | undefined {
  return asObject(asObject(event["response"])?.["status_details"]);
}

/** Audio is in base64: four characters for three bytes. */
function soundTokens(letters: number, perSecond: number, isNarrow: boolean): number {
  const bytes = (letters * 3) / 4;
  return Math.ceil((bytes / (isNarrow ? NARROW_BYTES_PER_SECOND : PCM_BYTES_PER_SECOND)) * perSecond);
}

/** The older API has these members at the top, the newer one under `audio`. */
function sessionNews(value: unknown): RealtimeNews {
  const session = asObject(value);
  const input = asObject(asObject(session?.["audio"])?.["input"]);
  const output = asObject(asObject(session?.["audio"])?.["output"]);
  const transcription =
    asObject(input?.["transcription"]) ?? asObject(session?.["input_audio_transcription"]);
  const formats = [session?.["output_audio_format"], output?.["format"], input?.["format"]];
  const isNarrow = formats.some((format) => {
    const name = asText(format) ?? asText(asObject(format)?.["type"]) ?? "";
    return /g711|pcm[ua]$/.test(name);
  });
  return { kind: "session", transcriber: asText(transcription?.["model"]), isNarrow };
}
