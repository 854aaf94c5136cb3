// Image generation on wires that are not OpenAI's: a text in, images out. The client always speaks OpenAI (vendors/openai-images).
import type { Drawn, ImageRequest, PictureFormat } from "#server/upstream/dialects/dialect.ts";
import { Unmappable } from "#server/upstream/hub/request.ts";
import { asNumber, asText, type JsonRecord } from "#server/upstream/json/values.ts";

/** Members that a wire takes, or that are handled here. */
const READ: ReadonlySet<string> = new Set(["model", "prompt", "n", "size", "response_format", "stream"]);

export interface ImageAsked {
  readonly request: ImageRequest;
  /** Hints that only OpenAI's wire takes. */
  readonly dropped: readonly string[];
}

/** Reads an OpenAI images body for a wire that offers these formats. Throws: Unmappable for other formats and for streams. */
export function imageRequest(
  body: JsonRecord,
  model: string,
  formats: readonly PictureFormat[] = ["b64_json"],
): ImageAsked {
  const asked = body["response_format"];
  const format = formats.find((known) => asked === undefined || asked === null || known === asked);
  if (format === undefined)
    throw new Unmappable("response_format", `该渠道只支持 ${formats.join("、")} 格式的图片`);
  if (body["stream"] === true) throw new Unmappable("stream", "该渠道不支持流式返回图片");
  const size = asText(body["size"]) ?? "";
  return {
    request: {
      model,
      prompt: asText(body["prompt"]) ?? "",
      n: asNumber(body["n"]) ?? 1,
      size: size === "" || size === "auto" ? undefined : size,
      format,
    },
    dropped: Object.keys(body).filter((name) => !READ.has(name) && body[name] !== null),
  };
}

/** Images as OpenAI lists them. `created` in seconds since 1970. */
export function imageList({ images, usage }: Drawn, created: number): JsonRecord {
  return {
    created,
    data: images.map((image) => (typeof image === "string" ? { b64_json: image } : { url: image.url })),
    ...(usage !== undefined && { usage: tokensOf(usage) }),
  };
}

/** The usage of images has other field names than that of chat (vendors/openai-images). */
function tokensOf(usage: JsonRecord): JsonRecord {
  const { prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details } = usage;
  return {
    input_tokens: prompt_tokens,
    output_tokens: completion_tokens,
    total_tokens,
    ...(prompt_tokens_details !== undefined && { input_tokens_details: prompt_tokens_details }),
  };
}
