// iFlytek Spark's WebSocket service (vendors/spark-socket): one request message, frames as the answer, the last one has status 2. It only
// streams.

import { madeCallId } from "#server/upstream/hub/call-ids.ts";
import { usageIn } from "#server/upstream/hub/plain.ts";
import type { HubChunk } from "#server/upstream/hub/reply.ts";
import {
  asList,
  asNumber,
  asObject,
  asText,
  type JsonRecord,
  readJson,
} from "#server/upstream/json/values.ts";
import type { DecodeContext, Dialect, StreamDecoder, WireError, WireEvent } from "./dialect.ts";
import { encodeRequest, versionOf } from "./xunfei-request.ts";

const NOTHING: readonly HubChunk[] = [];
/** The status of the last frame. */
const LAST = 2;

export const xunfei: Dialect = {
  native: undefined,
  frames: "lines",
  onlyStreams: true,
  address: (_, __, target) => target.baseUrl + versionOf(target).path,
  encode: (request, { target }) => encodeRequest(request, target),
  // Whole bodies are errors of the handshake: answers come as frames.
  decode: (body, context) => errorIn(body, context) ?? NOTHING,
  decoder: (context) => new XunfeiDecoder(context),
};

class XunfeiDecoder implements StreamDecoder {
  readonly #context: DecodeContext;
  #hasHead = false;
  #hasCall = false;

  constructor(context: DecodeContext) {
    this.#context = context;
  }

  take({ data }: WireEvent): readonly HubChunk[] | WireError {
    const frame = readJson(data);
    if (frame === undefined) return NOTHING;
    return errorIn(frame, this.#context) ?? this.#read(frame);
  }

  #read(frame: JsonRecord): readonly HubChunk[] {
    const header = asObject(frame["header"]);
    const payload = asObject(frame["payload"]);
    const choices = asObject(payload?.["choices"]);
    const chunks: HubChunk[] = [];
    if (!this.#hasHead) {
      this.#hasHead = true;
      chunks.push({ kind: "head", id: asText(header?.["sid"]) });
    }
    for (const item of asList(choices?.["text"])) this.#say(asObject(item), chunks);
    const usage = usageIn(asObject(asObject(payload?.["usage"])?.["text"]));
    if (usage !== undefined) chunks.push(usage);
    if ((choices?.["status"] ?? header?.["status"]) === LAST) {
      const reason = this.#hasCall ? "tool_calls" : "stop";
      chunks.push({ kind: "finish", index: 0, reason }, { kind: "end" });
    }
    return chunks;
  }

  #say(piece: JsonRecord | undefined, chunks: HubChunk[]): void {
    const thought = asText(piece?.["reasoning_content"]) ?? "";
    if (thought !== "") chunks.push({ kind: "thought", index: 0, text: thought });
    const text = asText(piece?.["content"]) ?? "";
    if (text !== "") chunks.push({ kind: "text", index: 0, text });
    const call = asObject(piece?.["function_call"]);
    const name = asText(call?.["name"]) ?? "";
    if (name === "" || this.#hasCall) return;
    this.#hasCall = true;
    const id = madeCallId(this.#context.seed, 0);
    chunks.push({
      kind: "tool",
      index: 0,
      at: 0,
      id,
      name,
      arguments: asText(call?.["arguments"]) ?? "",
    });
  }
}

function errorIn({ header }: JsonRecord, { wire }: Pick<DecodeContext, "wire">): WireError | undefined {
  const code = asNumber(asObject(header)?.["code"]);
  if (code === undefined || code === 0) return undefined;
  const status = wire.quirks?.faultStatus?.[String(code)] ?? 500;
  const message = asText(asObject(header)?.["message"]) ?? "";
  return { kind: "error", status, message, code, type: "xunfei_error" };
}
