// Images from Google's models (vendors/gemini-images): Imagen has a wire of its own, Gemini's image models return them in an ordinary
// answer. Pure.

import { Unmappable } from "#server/upstream/hub/request.ts";
import { asList, asObject, asText, type JsonRecord } from "#server/upstream/json/values.ts";
import type { DecodeContext, Drawn, ImageRequest, ImageWire, WireError } from "./dialect.ts";
import { GeminiDecoder } from "./gemini-reply.ts";

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
export function isImagen(model: string): boolean {
  return /^(models\/)?imagen/.test(model);
}

export const geminiImages: ImageWire = {
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
