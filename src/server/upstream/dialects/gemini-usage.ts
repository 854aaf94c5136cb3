// Gemini's `usageMetadata` in OpenAI's shape (vendors/gemini-reply). Pure; usage.ts judges the numbers.
import { asList, asNumber, asObject, type JsonRecord } from "#server/upstream/json/values.ts";

/** Unit: tokens. Thoughts are completion, tool results are prompt; missing counts are omitted. */
export function usageOf(metadata: JsonRecord): JsonRecord | undefined {
  const count = (name: string) => asNumber(metadata[name]);
  const told = count("promptTokenCount");
  const total = count("totalTokenCount");
  if (told === undefined && total === undefined) return undefined;
  const prompt = (told ?? 0) + (count("toolUsePromptTokenCount") ?? 0);
  const thoughts = count("thoughtsTokenCount") ?? 0;
  const candidates = count("candidatesTokenCount");
  // The first events of a stream have no candidate count yet; some models never send it.
  const completion =
    candidates === undefined ? Math.max((total ?? prompt) - prompt, thoughts) : candidates + thoughts;
  const cached = count("cachedContentTokenCount");
  const cachedKinds = kindsIn(metadata["cacheTokensDetails"]);
  const given = {
    ...(cached !== undefined && { cached_tokens: cached }),
    ...kindsIn(metadata["promptTokensDetails"]),
    ...(isFilled(cachedKinds) && { cached_tokens_details: cachedKinds }),
  };
  const made = {
    ...(thoughts > 0 && { reasoning_tokens: thoughts }),
    ...kindsIn(metadata["candidatesTokensDetails"]),
  };
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    ...(isFilled(given) && { prompt_tokens_details: given }),
    ...(isFilled(made) && { completion_tokens_details: made }),
  };
}

function isFilled(object: JsonRecord): boolean {
  return Object.keys(object).length > 0;
}

const KINDS: Readonly<Record<string, string>> = { AUDIO: "audio_tokens", IMAGE: "image_tokens" };

/** The audio and image tokens; text, video and documents are priced as text. */
function kindsIn(details: unknown): JsonRecord {
  const kinds: Record<string, number> = {};
  for (const item of asList(details)) {
    const detail = asObject(item);
    const name = KINDS[String(detail?.["modality"])];
    const tokens = asNumber(detail?.["tokenCount"]);
    if (name !== undefined && tokens !== undefined) kinds[name] = (kinds[name] ?? 0) + tokens;
  }
  return kinds;
}
