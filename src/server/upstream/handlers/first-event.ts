// The first event of a stream decides whether there is an answer. If it is no part of one it is an error: it is read like the body of an
// error status, redacted, and failover to another channel is possible. Pure.
import type { GenerationEndpoint } from "#contract/provider.ts";
import type { StreamFormat } from "#server/upstream/clients/client.ts";
import type { UpstreamError } from "#server/upstream/errors/fault.ts";
import { toldStatus } from "#server/upstream/errors/status-from-error.ts";
import { fieldOf, type SseEvent } from "#server/upstream/hub/sse.ts";
import { asObject, type JsonRecord } from "#server/upstream/json/values.ts";
import { errorIn } from "./classify.ts";

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

/** The error in the first event of a stream in this format; undefined = it is part of an answer. */
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
