// What a client asks of a video: the model, what is to be seen, and what multiplies the price, which is bounded here before anything is set
// aside (requirements C55). Pure.
import { MOST_VIDEO_SECONDS, type VideoSize, videoResolution, videoSize } from "#contract/video.ts";
import { asObject, type JsonRecord } from "#server/upstream/json/values.ts";
import { VIDEO_HINTS } from "./wire.ts";

/** What a client asks for. */
export interface VideoOrder {
  readonly model: string;
  readonly prompt: string;
  /** undefined = as the vendor usually does. */
  readonly seconds: number | undefined;
  readonly size: VideoSize | undefined;
  /** As the client wrote it; "" = it did not. */
  readonly sizeText: string;
  /** "" = it named none. */
  readonly resolution: string;
  readonly image: string | undefined;
  readonly hints: JsonRecord;
}

/** Source: vendors/video-openai for the first two, as other gateways write it for the rest. */
const MOST_PROMPT = 32_000;
const WHOLE = /^[1-9]\d{0,1}$/;

/** Why it is no order. */
export type OrderProblem =
  | { readonly kind: "missing" | "invalid"; readonly field: string }
  | { readonly kind: "no-prompt" }
  | { readonly kind: "long-prompt"; readonly most: number };

/** An order that cannot be taken. */
export class BadOrder extends Error {
  override readonly name = "BadOrder";
  readonly problem: OrderProblem;

  constructor(problem: OrderProblem) {
    super(problem.kind);
    this.problem = problem;
  }
}

function invalid(field: string): BadOrder {
  return new BadOrder({ kind: "invalid", field });
}

/** Reads the fields of a request. Throws: BadOrder. */
export function videoOrder(values: JsonRecord): VideoOrder {
  const model = text(values, "model");
  if (model === "") throw new BadOrder({ kind: "missing", field: "model" });
  const prompt = text(values, "prompt");
  if (prompt === "") throw new BadOrder({ kind: "no-prompt" });
  if (prompt.length > MOST_PROMPT) throw new BadOrder({ kind: "long-prompt", most: MOST_PROMPT });
  if (!isOne(values["n"])) throw invalid("n");
  const { size, sizeText, resolution } = sizeOf(values);
  return {
    model,
    prompt,
    seconds: secondsOf(values),
    size,
    sizeText,
    resolution,
    image: imageOf(values),
    hints: hintsOf(values["metadata"]),
  };
}

/** One request is one video. */
function isOne(value: unknown): boolean {
  return value === undefined || value === null || value === 1 || value === "1";
}

function text(values: JsonRecord, name: string): string {
  const value = values[name] ?? "";
  if (typeof value !== "string") throw invalid(name);
  return value;
}

/** `seconds`, or as other gateways call it `duration`. */
function secondsOf(values: JsonRecord): number | undefined {
  const named = ["seconds", "duration"].filter((name) => (values[name] ?? "") !== "");
  const read = named.map((name) => {
    const value = values[name];
    const seconds = typeof value === "string" && WHOLE.test(value) ? Number(value) : value;
    const isGood = typeof seconds === "number" && Number.isInteger(seconds) && seconds >= 1;
    if (!isGood || seconds > MOST_VIDEO_SECONDS) throw invalid(name);
    return seconds;
  });
  if (new Set(read).size > 1) throw invalid("duration");
  return read[0];
}

/** `size`, which may be a resolution, and `resolution`. */
function sizeOf(values: JsonRecord): Pick<VideoOrder, "size" | "sizeText" | "resolution"> {
  const sizeText = text(values, "size");
  const size = videoSize(sizeText);
  const named = sizeText === "" ? "" : (size?.resolution ?? videoResolution(sizeText));
  if (named === undefined) throw invalid("size");
  const wished = text(values, "resolution");
  const resolution = wished === "" ? "" : videoResolution(wished);
  if (resolution === undefined || (named !== "" && resolution !== "" && named !== resolution))
    throw invalid("resolution");
  return { size, sizeText: sizeText || wished, resolution: resolution || named };
}

/** The first picture, by any of its names. */
function imageOf(values: JsonRecord): string | undefined {
  const reference = values["input_reference"] ?? undefined;
  const images = values["images"] ?? undefined;
  if (images !== undefined && (!Array.isArray(images) || images.length > 1)) throw invalid("images");
  const candidates: readonly unknown[] = [
    asObject(reference)?.["image_url"] ?? reference,
    values["image"] ?? undefined,
    Array.isArray(images) ? images[0] : undefined,
  ].filter((value) => value !== undefined && value !== "");
  const [image, ...more] = candidates;
  if (image === undefined) return undefined;
  const isImage = typeof image === "string" && /^(https?:\/\/|data:image\/[\w.+-]+;base64,)/.test(image);
  if (!isImage || more.length > 0) throw invalid("input_reference");
  return image;
}

/** A field of a vendor may change the price: only those that do not are sent on. */
function hintsOf(metadata: unknown): JsonRecord {
  if (metadata === undefined || metadata === null) return {};
  const hints = asObject(metadata);
  if (hints === undefined) throw invalid("metadata");
  for (const [name, value] of Object.entries(hints)) {
    const isPlain = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
    if (!VIDEO_HINTS.some((known) => known === name) || !isPlain) throw invalid(`metadata.${name}`);
  }
  return hints;
}
