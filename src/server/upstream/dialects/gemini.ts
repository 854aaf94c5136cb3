// Google Gemini's generateContent (vendors/gemini): addresses, errors, embeddings, images; requests and replies are in gemini-*.ts.
import type { EndpointName } from "#contract/providers.ts";
import { Unmappable } from "#server/upstream/hub/request.ts";
import { asList, asObject, asText, type JsonRecord } from "#server/upstream/json/values.ts";
import type {
  DecodeContext,
  Dialect,
  Drawn,
  Embedded,
  EmbeddingWire,
  ImageRequest,
  ImageWire,
  Target,
  WireError,
} from "./dialect.ts";
import { isOpenedByGemini } from "./gemini-contents.ts";
import { GeminiDecoder, usageOf } from "./gemini-reply.ts";
import { encodeRequest } from "./gemini-request.ts";

/** v1 knows neither tools nor `systemInstruction`. */
const DEFAULT_VERSION = "v1beta";

const embeddings: EmbeddingWire = {
  hints: ["taskType", "title"],

  encode({ model, inputs, dimensions, user, hints }) {
    const { taskType, title } = hints ?? {};
    const requests = inputs.map((text) => ({
      model: resourceOf(model),
      content: { parts: [{ text }] },
      ...(taskType !== undefined && { taskType }),
      ...(title !== undefined && { title }),
      ...(dimensions !== undefined && { outputDimensionality: dimensions }),
    }));
    return { body: { requests }, dropped: user === undefined ? [] : ["user"] };
  },

  decode(body): Embedded | WireError {
    const one = asObject(body["embedding"]);
    const found = one === undefined ? asList(body["embeddings"]) : [one];
    const metadata = asObject(body["usageMetadata"]);
    return {
      kind: "embedded",
      vectors: found.map((item) =>
        asList(asObject(item)?.["values"]).filter((value) => typeof value === "number"),
      ),
      usage: metadata && usageOf(metadata),
    };
  },
};

const geminiImages: ImageWire = {
  encode(request) {
    const { model, prompt, n } = request;
    if (!isImagen(model)) {
      if (n > 1) throw new Unmappable("n", "该模型每次只生成一张图片");
      const aspectRatio = ratioOf(request)?.ratio;
      const generationConfig = {
        responseModalities: ["TEXT", "IMAGE"],
        ...(aspectRatio !== undefined && { imageConfig: { aspectRatio } }),
      };
      return { body: { contents: [{ role: "user", parts: [{ text: prompt }] }], generationConfig } };
    }
    if (n > MOST_OF_IMAGEN) throw new Unmappable("n", `该模型每次最多生成 ${MOST_OF_IMAGEN} 张图片`);
    const known = ratioOf(request);
    const aspectRatio = known?.imagen ?? known?.ratio;
    const parameters = { sampleCount: n, ...(aspectRatio !== undefined && { aspectRatio }) };
    return { body: { instances: [{ prompt }], parameters } };
  },

  decode: (body, context) =>
    body["predictions"] === undefined ? drawnIn(body, context) : predictedIn(asList(body["predictions"])),
};

export const gemini: Dialect = {
  native: "generate",
  inlinesMedia: true,
  opens: isOpenedByGemini,
  embeddings,
  images: geminiImages,

  address(endpoint, wire, target) {
    // Gemini's image models return images in an ordinary answer.
    const isPlain = endpoint === "images" && !isImagen(target.model);
    const path = (isPlain ? undefined : wire.paths[endpoint]) ?? wire.paths.chat ?? "";
    const filled = path
      .replace("{other}", encodeURIComponent(target.other || DEFAULT_VERSION))
      .replace("models/{model}", pathOf(target.model));
    // A version in the base URL is removed.
    return target.baseUrl.replace(/\/v1(beta|alpha)?$/, "") + streaming(endpoint, filled, target);
  },

  encode: encodeRequest,

  decode: (body, context) => new GeminiDecoder(context).read(body),

  decoder: (context) => new GeminiDecoder(context),

  readError(status, body) {
    const error = asObject(body["error"]);
    if (error === undefined) return undefined;
    const message = asText(error["message"]) ?? "";
    const code = asText(error["status"]) ?? null;
    const found = { kind: "error", message, code, type: "gemini_error" } as const;
    // Neither is an error of the request: another channel may serve it. Source: vendors/gemini-errors.
    if (status === 400 && isBadKey(error, message)) return { ...found, status: 401 };
    if (status === 400 && /user location is not supported/i.test(message)) return { ...found, status: 403 };
    // An account without credit has the status and the code of any limit. Source: github.com/dyad-sh/dyad/issues/3626.
    if (status === 429 && /^your prepayment credits are depleted/i.test(message))
      return { ...found, status: 402 };
    const retryAfterMs = retryDelayOf(error);
    return retryAfterMs === undefined ? undefined : { ...found, status, retryAfterMs };
  },
};

const LONGEST_DELAY_SEC = 3_600;

/** Google's `RetryInfo`: `"retryDelay": "17s"`. Unit: ms; at most an hour. */
function retryDelayOf(error: JsonRecord): number | undefined {
  for (const detail of asList(error["details"])) {
    const seconds = /^(\d+(?:\.\d+)?)s$/.exec(asText(asObject(detail)?.["retryDelay"]) ?? "")?.[1];
    if (seconds !== undefined) return Math.min(Number(seconds), LONGEST_DELAY_SEC) * 1000;
  }
  return undefined;
}

function isBadKey(error: JsonRecord, message: string): boolean {
  const reasons = asList(error["details"]).map((detail) => asObject(detail)?.["reason"]);
  return reasons.includes("API_KEY_INVALID") || /api key (not valid|expired)/i.test(message);
}

function streaming(endpoint: EndpointName, path: string, { isStream }: Target): string {
  const isGeneration = endpoint === "chat" || endpoint === "generate";
  return isStream && isGeneration
    ? path.replace(/:generateContent$/, ":streamGenerateContent?alt=sse")
    : path;
}

/** Names may include their collection: models/x, tunedModels/x. */
function resourceOf(model: string): string {
  return /^(models|tunedModels)\//.test(model) ? model : `models/${model}`;
}

function pathOf(model: string): string {
  return resourceOf(model).split("/").map(encodeURIComponent).join("/");
}

// Images from Google's models (vendors/gemini-images): Imagen has a wire of its own, Gemini's image models return them in an ordinary
// answer. Pure.

const MOST_OF_IMAGEN = 4;

/** OpenAI's sizes as ratios; Imagen has no 3:2 and gets the nearest ratio. Source: vendors/gemini-images. */
const RATIOS: Readonly<Record<string, { readonly ratio: string; readonly imagen?: string }>> = {
  "256x256": { ratio: "1:1" },
  "512x512": { ratio: "1:1" },
  "1024x1024": { ratio: "1:1" },
  "1536x1024": { ratio: "3:2", imagen: "4:3" },
  "1024x1536": { ratio: "2:3", imagen: "3:4" },
  "1792x1024": { ratio: "16:9" },
  "1024x1792": { ratio: "9:16" },
};

/** Whether a model generates images by `:predict`. */
function isImagen(model: string): boolean {
  return /^(models\/)?imagen/.test(model);
}

function ratioOf({ size }: ImageRequest): { ratio: string; imagen?: string } | undefined {
  if (size === undefined) return undefined;
  const known = Object.hasOwn(RATIOS, size) ? RATIOS[size] : undefined;
  if (known === undefined) throw new Unmappable("size", "该渠道不支持此图片尺寸");
  return known;
}

function predictedIn(predictions: readonly unknown[]): Drawn | WireError {
  const told = predictions.map((item) => asObject(item));
  const images = told
    .map((item) => asText(item?.["bytesBase64Encoded"]))
    .filter((data) => data !== undefined);
  const reason = told.map((item) => asText(item?.["raiFilteredReason"])).find((text) => text !== undefined);
  if (images.length === 0 && reason !== undefined) return refusal(reason);
  return { kind: "drawn", images, usage: undefined };
}

/** The images of an ordinary answer; without any, its text is the reason. */
function drawnIn(body: JsonRecord, context: DecodeContext): Drawn | WireError {
  const found = new GeminiDecoder(context).read(body);
  if ("kind" in found) return found;
  const images = found.flatMap((chunk) => (chunk.kind === "image" ? [chunk.base64] : []));
  const words = found.map((chunk) => (chunk.kind === "text" ? chunk.text : "")).join("");
  if (images.length === 0) return refusal(words);
  const usage = found.findLast((chunk) => chunk.kind === "usage")?.usage;
  return { kind: "drawn", images, usage };
}

function refusal(words: string): WireError {
  const message = words === "" ? "上游没有生成图片" : words;
  return { kind: "error", status: 400, message, code: "content_policy_violation", type: "gemini_error" };
}
