// AWS Bedrock's Converse, one wire for every model family there (vendors/bedrock): Nova, Llama, Mistral, DeepSeek and others; Claude has
// its own wire. Requests and replies are in converse-*.ts.
import { ConverseDecoder, decodeWhole } from "./converse-reply.ts";
import { encodeRequest } from "./converse-request.ts";
import type { Dialect } from "./dialect.ts";

export const converse: Dialect = {
  native: undefined,
  frames: "aws",
  // It opens only addresses of Amazon S3.
  inlinesMedia: true,

  address(endpoint, wire, { baseUrl, model, isStream }) {
    const url = baseUrl + (wire.paths[endpoint] ?? "").replace("{model}", encodeURIComponent(model));
    return isStream ? `${url}-stream` : url;
  },

  encode: encodeRequest,
  decode: decodeWhole,
  decoder: () => new ConverseDecoder(),
};
