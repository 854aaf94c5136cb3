// Extras of an OpenAI body that Gemini supports; all others are reported as dropped. Google's own extension is under `extra_body.google`,
// as in its OpenAI-compatible service. Pure.

import {
  type Ability,
  type HubRequest,
  hintsBeyond,
  hintsWithin,
  Unmappable,
} from "#server/upstream/hub/request.ts";
import { asList, asObject, asText, type JsonRecord } from "#server/upstream/json/values.ts";

export interface GeminiExtras {
  readonly generationConfig: JsonRecord;
  /** Members of the body itself. */
  readonly body: JsonRecord;
}

/** Image models are recognized by name. */
const IMAGE_MODEL = /-image\b/;
const ABILITIES: ReadonlySet<Ability> = new Set([
  "n",
  "logprobs",
  "seed",
  "penalties",
  "top_k",
  "service_tier",
]);

/** Adds unsupported members to `dropped`. Throws: Unmappable. */
export function extrasOf(request: HubRequest, dropped: string[]): GeminiExtras {
  const { modalities, audio, image_config, extra_body, ...beyond } = request.extras ?? {};
  dropped.push(...hintsBeyond({ ...request, extras: beyond }, ABILITIES), ...hintsWithin(request));
  const google = asObject(asObject(extra_body)?.["google"]) ?? {};
  const cachedContent = asText(google["cached_content"]);
  const thinking = asObject(google["thinking_config"]);
  const picture = asObject(image_config) ?? asObject(google["image_config"]);
  return {
    generationConfig: {
      ...modalitiesOf(request.model, asList(modalities), asObject(audio) ?? {}),
      ...(picture !== undefined && { imageConfig: camelCased(picture) }),
      ...(thinking !== undefined && { thinkingConfig: camelCased(thinking) }),
    },
    body: {
      ...(cachedContent !== undefined && { cachedContent }),
      ...tierOf(request.serviceTier, dropped),
    },
  };
}

/** Gemini returns raw audio only: 16 bits, 24 kHz, which OpenAI calls pcm16. */
function modalitiesOf(model: string, asked: readonly unknown[], audio: JsonRecord): JsonRecord {
  if (asked.includes("audio")) {
    if (audio["format"] !== "pcm16")
      throw new Unmappable("audio.format", "该渠道只支持 pcm16 格式的音频输出");
    const voiceName = asText(audio["voice"]);
    const voiceConfig = voiceName !== undefined && { voiceConfig: { prebuiltVoiceConfig: { voiceName } } };
    return { responseModalities: ["AUDIO"], ...(voiceConfig && { speechConfig: voiceConfig }) };
  }
  if (asked.includes("image"))
    return { responseModalities: asked.includes("text") ? ["TEXT", "IMAGE"] : ["IMAGE"] };
  return IMAGE_MODEL.test(model) && asked.length === 0 ? { responseModalities: ["TEXT", "IMAGE"] } : {};
}

const TIERS: Readonly<Record<string, string>> = { flex: "flex", priority: "priority", default: "standard" };

function tierOf(tier: string | undefined, dropped: string[]): JsonRecord {
  if (tier === undefined || tier === "auto") return {};
  const serviceTier = TIERS[tier];
  if (serviceTier === undefined) dropped.push("service_tier");
  return serviceTier === undefined ? {} : { serviceTier };
}

/** Google's compatible service takes snake_case, its own API camelCase. */
function camelCased(object: JsonRecord): JsonRecord {
  return Object.fromEntries(
    Object.entries(object).map(([name, value]) => [
      name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  );
}
