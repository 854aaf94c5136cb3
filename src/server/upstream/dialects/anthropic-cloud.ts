// Claude at a cloud's own endpoint: Anthropic's wire, but the model is in the path, the version in the body, and Bedrock has its own
// framing of streams. Source: vendors/bedrock, vendors/vertex.
import type { EndpointName, Wire } from "#contract/providers.ts";
import { awsException } from "#server/upstream/hub/aws.ts";
import type { HubChunk } from "#server/upstream/hub/reply.ts";
import { asText, readJson } from "#server/upstream/json/values.ts";
import { anthropic, BETA_HEADER } from "./anthropic.ts";
import { MessageDecoder } from "./anthropic-reply.ts";
import type {
  Dialect,
  EncodeContext,
  Encoded,
  StreamDecoder,
  Target,
  WireError,
  WireEvent,
} from "./dialect.ts";

const BEDROCK_VERSION = "bedrock-2023-05-31";
const VERTEX_VERSION = "vertex-2023-10-16";

/** Betas that clouds support too and that need no member of the body; clouds answer 400 to unknown betas. */
const BETAS =
  /^(interleaved-thinking|context-1m|fine-grained-tool-streaming|token-efficient-tools|output-128k)-[\d-]+$/;

/** AWS Bedrock's `invoke`, for Claude only; other models use converse.ts. */
export const bedrock: Dialect = {
  native: undefined,
  frames: "aws",
  inlinesMedia: true,

  address(endpoint, wire, target) {
    const url = placed(endpoint, wire, target);
    return target.isStream ? url.replace(/\/invoke$/, "/invoke-with-response-stream") : url;
  },

  encode(request, context) {
    const encoded = anthropic.encode(request, context);
    const { body, ...rest } = inCloud(encoded, BEDROCK_VERSION);
    const { stream: _, ...message } = body;
    const { known, dropped } = betasOf(context, encoded);
    return {
      ...rest,
      body: { ...message, ...(known.length > 0 && { anthropic_beta: known }) },
      dropped: [...(rest.dropped ?? []), ...dropped],
    };
  },

  decode: anthropic.decode,
  decoder: () => new BedrockDecoder(),
};

/** Vertex AI's `rawPredict`. */
export const vertexClaude: Dialect = {
  native: undefined,
  inlinesMedia: true,

  address(endpoint, wire, target) {
    const url = placed(endpoint, wire, target);
    return target.isStream ? url.replace(/:rawPredict$/, ":streamRawPredict") : url;
  },

  encode(request, context) {
    const encoded = anthropic.encode(request, context);
    const { known, dropped } = betasOf(context, encoded);
    return {
      ...inCloud(encoded, VERTEX_VERSION),
      ...(known.length > 0 && { headers: [BETA_HEADER, known.join(",")] }),
      dropped: [...(encoded.dropped ?? []), ...dropped],
    };
  },

  decode: anthropic.decode,
  decoder: anthropic.decoder,
};

function placed(endpoint: EndpointName, wire: Wire, { baseUrl, model }: Target): string {
  return baseUrl + (wire.paths[endpoint] ?? "").replace("{model}", encodeURIComponent(model));
}

function inCloud({ headers: _, ...encoded }: Encoded, version: string): Encoded {
  const { model: _model, ...message } = encoded.body;
  return { ...encoded, body: { anthropic_version: version, ...message } };
}

/** Our own betas, and those of a client's header as far as the cloud knows them; if others are dropped, the header is reported. */
function betasOf(
  { passHeaders = [] }: EncodeContext,
  { headers = [] }: Encoded,
): { readonly known: string[]; readonly dropped: string[] } {
  const asked = betasIn(passHeaders);
  const known = asked.filter((beta) => BETAS.test(beta));
  return {
    known: [...known, ...betasIn(headers)],
    dropped: known.length < asked.length ? [BETA_HEADER] : [],
  };
}

function betasIn(headers: readonly string[]): string[] {
  const at = headers.indexOf(BETA_HEADER);
  return at < 0 ? [] : (headers[at + 1] ?? "").split(",").map((beta) => beta.trim());
}

/** Each event wraps one of Claude's in base64. */
class BedrockDecoder implements StreamDecoder {
  readonly #inner = new MessageDecoder();

  take(event: WireEvent): readonly HubChunk[] | WireError {
    const exception = event.field("exception");
    if (exception !== "") return awsException(exception, event.data);
    const bytes = asText(readJson(event.data)?.["bytes"]);
    // Servers compatible with Bedrock may omit the wrapping.
    const data = bytes === undefined ? event.data : Buffer.from(bytes, "base64").toString();
    return this.#inner.take({ data, field: () => "" });
  }
}
