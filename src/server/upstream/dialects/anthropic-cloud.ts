// Claude at a cloud's own address: Anthropic's wire, but the model stands in the path, the version in the body, and Bedrock frames its
// streams in its own way. Source: providers 23.1, 23.2.
import { readJson } from "#server/upstream/hub.ts";
import { anthropic } from "./anthropic.ts";
import { MessageDecoder } from "./anthropic-reply.ts";
import type { Dialect, Encoded, StreamDecoder, WireError, WireEvent } from "./dialect.ts";

const BEDROCK_VERSION = "bedrock-2023-05-31";
const VERTEX_VERSION = "vertex-2023-10-16";

/** Exceptions within a stream, by the status they stand for. */
const EXCEPTION_STATUS: Readonly<Record<string, number>> = {
  validationException: 400,
  throttlingException: 429,
  modelTimeoutException: 504,
  serviceUnavailableException: 503,
};

/** AWS Bedrock's `invoke`. Anything but Claude has bodies of its own, which this wire does not speak. */
export const bedrock: Dialect = {
  native: undefined,
  frames: "aws",
  inlinesMedia: true,

  address(endpoint, wire, { baseUrl, model, isStream }) {
    const path = (wire.paths[endpoint] ?? "").replace("{model}", encodeURIComponent(model));
    return baseUrl + (isStream ? path.replace(/\/invoke$/, "/invoke-with-response-stream") : path);
  },

  encode(request, context) {
    const { stream: _, ...body } = cloudBody(anthropic.encode(request, context), BEDROCK_VERSION);
    return body.rest(body.fields);
  },

  decode: anthropic.decode,
  decoder: () => new BedrockDecoder(),
};
