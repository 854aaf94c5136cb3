import type { EndpointName, GenerationEndpoint } from "#contract/providers.ts";

const GENERATIONS: ReadonlySet<string> = new Set<GenerationEndpoint>([
  "chat",
  "completions",
  "messages",
  "generate",
  "responses",
]);

/** Whether an endpoint is one of the text formats that can be translated for every wire. */
export function isGeneration(endpoint: EndpointName): endpoint is GenerationEndpoint {
  return GENERATIONS.has(endpoint);
}
