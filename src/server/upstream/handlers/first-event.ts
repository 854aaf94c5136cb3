// The first event of a stream decides whether there is an answer. Where it is no piece of one it is what the upstream says in its place,
// and is read and told as the same words with an error's status would be: redacted, and another channel may be tried. Pure.
import type { GenerationEndpoint } from "#contract/provider.ts";
import type { StreamFormat } from "#server/upstream/clients/client.ts";
import type { UpstreamError } from "#server/upstream/errors/fault.ts";
import { toldStatus } from "#server/upstream/errors/status-from-error.ts";
import { fieldOf, type SseEvent } from "#server/upstream/hub/sse.ts";
import { asObject, type JsonRecord } from "#server/upstream/json/values.ts";
import { errorIn } from "./classify.ts";

type Recognise = (event: JsonRecord) => boolean;

/** Chunks bring choices, usage, or at least say what they are: content filters and usage may come without the rest. */
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

/** Events of pictures and sound: OpenAI's have two names in one, others bring what they are about. */
const isTaskEvent: Recognise = (event) => {
  const { type } = event;
  const isNamed = typeof type === "string" && type.includes(".") && !type.endsWith(".failed");
  return isNamed || ["data", "text", "delta", "choices", "usage", "audio"].some((name) => name in event);
};

/** Answers and errors in chunks come without a name, or under these; others tell of the work behind an answer (FastGPT). */
const NAMES_OF_CHUNKS: ReadonlySet<string> = new Set(["", "message", "error"]);

/** What the first event of a stream in this format says in place of an answer; undefined = it is a piece of one. */
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

/** The status that the words would have had: such errors often repeat it as their code. */
function statusIn(body: JsonRecord): number {
  const { code, type, status } = body;
  const told = toldStatus(code, type);
  if (told !== undefined) return told;
  const number = [code, status].map(Number).find((one) => Number.isInteger(one) && one >= 400 && one <= 599);
  return number ?? 502;
}
