// Google Gemini's generateContent (vendors/gemini): addresses, errors, embeddings; requests and replies are in gemini-*.ts.
import type { EndpointName } from "#contract/providers.ts";
import { asList, asObject, asText, type JsonRecord } from "#server/upstream/json/values.ts";
import type { Dialect, Embedded, EmbeddingWire, Target, WireError } from "./dialect.ts";
import { isOpenedByGemini } from "./gemini-contents.ts";
import { geminiImages, isImagen } from "./gemini-images.ts";
import { GeminiDecoder } from "./gemini-reply.ts";
import { encodeRequest } from "./gemini-request.ts";
import { usageOf } from "./gemini-usage.ts";

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
