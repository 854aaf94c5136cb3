// How a call goes through the wire of its channel: unchanged, in the channel's own format, translated, or by an encoding of its own. Pure.
import type { EndpointName, Wire } from "#contract/provider.ts";
import { isGeneration, type Way } from "#server/upstream/call/call.ts";
import type { Dialect } from "#server/upstream/dialects/dialect.ts";
import { isTask } from "#server/upstream/handlers/media.ts";
import { mediaWay } from "./media.ts";
import { nativeWay } from "./native.ts";
import { passWay } from "./pass.ts";
import { translateWay } from "./translate.ts";
import { embeddingsWay, imagesWay, rerankWay, speechWay } from "./whole.ts";

interface Wanted {
  readonly endpoint: EndpointName;
  readonly isCompact?: boolean | undefined;
  /** The channel was found to lack the endpoint. */
  readonly isAbsent: boolean;
}

/** undefined = this upstream cannot serve such calls. */
export function wayFor(
  { endpoint, isCompact, isAbsent }: Wanted,
  wire: Wire,
  dialect: Dialect,
  isForeign: boolean,
): Way | undefined {
  const usual = wayOf(endpoint, wire, dialect);
  if (isCompact === true) return usual === nativeWay ? usual : undefined;
  return usual === nativeWay && isForeign && isAbsent ? translateWay : usual;
}

/** undefined = this upstream cannot serve the endpoint. */
function wayOf(endpoint: EndpointName, wire: Wire, dialect: Dialect): Way | undefined {
  const isOpenAi = dialect.native === "chat";
  if (!isGeneration(endpoint)) return taskWay(endpoint, wire, dialect);
  if (wire.paths.chat === undefined) return undefined;
  if (endpoint === dialect.native) return isOpenAi ? passWay : nativeWay;
  const hasOwnPath = endpoint !== "chat" && wire.paths[endpoint] !== undefined;
  if (!hasOwnPath) return translateWay;
  if (endpoint !== "completions") return nativeWay;
  return isOpenAi ? passWay : translateWay;
}

/** The way of an endpoint that generates no text: bodies are OpenAI's, except token counts, which belong to their format. */
function taskWay(endpoint: EndpointName, wire: Wire, dialect: Dialect): Way | undefined {
  if (wire.paths[endpoint] === undefined) return undefined;
  // A list of models passes unchanged on every wire.
  if (endpoint === "models") return passWay;
  if (endpoint === "count-tokens") return nativeWay;
  const own = OWN_WAYS[endpoint];
  if (own !== undefined && dialect[own.name] !== undefined) return own.way;
  if (dialect.native !== "chat") return undefined;
  return isTask(endpoint) ? mediaWay : passWay;
}

type OwnWire = "embeddings" | "images" | "rerank" | "speech";

/** Endpoints for which a dialect may have an encoding of its own. */
const OWN_WAYS: Readonly<Partial<Record<EndpointName, { readonly name: OwnWire; readonly way: Way }>>> = {
  embeddings: { name: "embeddings", way: embeddingsWay },
  images: { name: "images", way: imagesWay },
  rerank: { name: "rerank", way: rerankWay },
  speech: { name: "speech", way: speechWay },
};
