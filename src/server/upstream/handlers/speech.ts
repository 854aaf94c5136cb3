// Speech on wires that return it inside JSON: a text in, audio out (vendors/speech). The client speaks OpenAI.

import type { SpeechRequest, Spoken, WireError } from "#server/upstream/dialects/dialect.ts";
import { type RelayFault, unreadableFault, wireFault } from "#server/upstream/errors/fault.ts";
import { Unmappable } from "#server/upstream/hub/request.ts";
import { asNumber, asText, type JsonRecord } from "#server/upstream/json/values.ts";
import { parseObject } from "./classify.ts";
import type { ResponseHandler, StreamObserver, StreamOfWhole } from "./handler.ts";
import { WholeHandler, type WholeOptions } from "./whole.ts";

const READ: ReadonlySet<string> = new Set([
  "model",
  "input",
  "voice",
  "response_format",
  "speed",
  "stream_format",
]);
/** Media types of the audio formats. */
const TYPES: Readonly<Record<string, string>> = {
  mp3: "audio/mpeg",
  wav: "audio/wav",
  flac: "audio/flac",
  aac: "audio/aac",
  opus: "audio/ogg",
  pcm: "audio/pcm",
};

/** Reads an OpenAI speech body. Throws: Unmappable for speech as events. */
export function speechRequest(
  body: JsonRecord,
  model: string,
): { readonly request: SpeechRequest; readonly dropped: readonly string[] } {
  if (body["stream_format"] === "sse") throw new Unmappable("stream_format", "该渠道不支持流式语音事件");
  const request = {
    model,
    text: asText(body["input"]) ?? "",
    voice: asText(body["voice"]) ?? "",
    format: asText(body["response_format"]) ?? "mp3",
    speed: asNumber(body["speed"]),
  };
  return { request, dropped: Object.keys(body).filter((name) => !READ.has(name)) };
}

interface SpeechOptions extends Omit<WholeOptions, "read"> {
  readonly format: string;
  read(reply: JsonRecord): Spoken | WireError;
}

/** The relay treats every speech reply as a stream, since most upstreams stream it. */
export class SpeechHandler extends WholeHandler implements ResponseHandler {
  readonly #options: SpeechOptions;

  constructor(options: SpeechOptions) {
    super({ ...options, read: () => undefined });
    this.#options = options;
  }

  override wholeAsStream(body: Buffer): StreamOfWhole | RelayFault {
    const { read, secrets, format } = this.#options;
    const reply = parseObject(body);
    if (reply === undefined) return unreadableFault("no JSON object", 200);
    const found = read(reply);
    if (found.kind === "error") return wireFault(found, secrets);
    if (found.audio.length === 0) return unreadableFault("no sound", 200);
    return {
      observer: soundObserver(),
      bytes: found.audio,
      contentType: TYPES[format] ?? "application/octet-stream",
    };
  }
}

/** The observer of audio that is already complete. */
function soundObserver(): StreamObserver {
  return {
    output: { textBytes: 0, textChars: 0, textPieces: 0, text: () => "" },
    usage: undefined,
    isFinished: true,
    events: 1,
    take: () => "pass",
    tail: () => new Uint8Array(0),
  };
}
