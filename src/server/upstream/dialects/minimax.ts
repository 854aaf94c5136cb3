// MiniMax (vendors/minimax): OpenAI's wire for chat; images and speech have formats of their own, and errors come with status 200.

import { chatBody } from "#server/upstream/hub/chat-body.ts";
import { ChatStream, chatChunks } from "#server/upstream/hub/chat-reply.ts";
import { within } from "#server/upstream/hub/plain.ts";
import { Unmappable } from "#server/upstream/hub/request.ts";
import { asList, asNumber, asObject, asText, type JsonRecord } from "#server/upstream/json/values.ts";
import type { DecodeContext, Dialect, ImageWire, SpeechWire, WireError } from "./dialect.ts";

/** Models that separate their thoughts on request. */
const THINKING = /^MiniMax-M/;
/** OpenAI's sizes as ratios. */
const RATIOS: Readonly<Record<string, string>> = {
  "256x256": "1:1",
  "512x512": "1:1",
  "1024x1024": "1:1",
  "1536x1024": "3:2",
  "1024x1536": "2:3",
  "1792x1024": "16:9",
  "1024x1792": "9:16",
};
const SOUNDS: ReadonlySet<string> = new Set(["mp3", "pcm", "flac", "wav"]);

const images: ImageWire = {
  formats: ["url", "b64_json"],

  encode({ model, prompt, n, size, format }) {
    const aspect_ratio = size === undefined || !Object.hasOwn(RATIOS, size) ? undefined : RATIOS[size];
    if (size !== undefined && aspect_ratio === undefined)
      throw new Unmappable("size", "该渠道不支持此图片尺寸");
    const response_format = format === "url" ? "url" : "base64";
    return { body: { model, prompt, aspect_ratio, n, response_format } };
  },

  decode(body, context) {
    const error = refusalIn(body, context);
    if (error !== undefined) return error;
    const data = asObject(body["data"]);
    const urls = textsIn(data?.["image_urls"]).map((url) => ({ url }));
    return { kind: "drawn", images: [...urls, ...textsIn(data?.["image_base64"])], usage: undefined };
  },
};

const speech: SpeechWire = {
  encode({ model, text, voice, format, speed }) {
    if (!SOUNDS.has(format)) throw new Unmappable("response_format", "该渠道支持 mp3、pcm、flac、wav");
    const voice_setting = { voice_id: voice, speed: within(speed, 0.5, 2) };
    return {
      body: { model, text, stream: false, voice_setting, audio_setting: { format }, output_format: "hex" },
    };
  },

  decode(body, context) {
    const error = refusalIn(body, context);
    if (error !== undefined) return error;
    return { kind: "spoken", audio: Buffer.from(asText(asObject(body["data"])?.["audio"]) ?? "", "hex") };
  },
};

export const minimax: Dialect = {
  native: "chat",
  images,
  speech,

  address(endpoint, wire, { baseUrl }) {
    const path = wire.paths[endpoint] ?? "";
    // The base URL may contain the version.
    return baseUrl.replace(/\/v1$/, "") + path;
  },

  takesStreamOptions: () => true,

  encode(request, { wire }) {
    const written = chatBody(request, { keepsThoughts: wire.quirks?.keepsThoughts === true });
    // Otherwise thoughts are inside the text.
    const isThinking = THINKING.test(request.model);
    return isThinking ? { ...written, body: { ...written.body, reasoning_split: true } } : written;
  },

  decode: (body, { wire, seed }) => chatChunks(body, wire.quirks, seed),

  decoder({ wire, seed }) {
    const stream = new ChatStream(wire.quirks, seed);
    return { take: ({ data }) => stream.take(data) };
  },
};

function textsIn(value: unknown): readonly string[] {
  return asList(value).filter((item) => typeof item === "string");
}

function refusalIn(body: JsonRecord, { wire }: DecodeContext): WireError | undefined {
  const base = asObject(body["base_resp"]);
  const code = asNumber(base?.["status_code"]) ?? 0;
  if (code === 0) return undefined;
  const status = wire.quirks?.faultStatus?.[String(code)] ?? 500;
  return { kind: "error", status, message: asText(base?.["status_msg"]) ?? "", code, type: "minimax_error" };
}
