// AWS Bedrock's Converse, one wire for every family of models there (vendors/bedrock): Nova, Llama, Mistral, DeepSeek and what comes;
// Claude has its own. Requests and replies stand in converse-*.ts.
import { ConverseDecoder, decodeWhole } from "./converse-reply.ts";
import { encodeRequest } from "./converse-request.ts";
import type { Dialect } from "./dialect.ts";

export const converse: Dialect = {
  native: undefined,
  frames: "aws",
  // It opens no addresses but those of Amazon's own store.
  inlinesMedia: true,

  address(endpoint, wire, { baseUrl, model, isStream }) {
    const url = baseUrl + (wire.paths[endpoint] ?? "").replace("{model}", encodeURIComponent(model));
    return isStream ? `${url}-stream` : url;
  },

  encode: encodeRequest,
  decode: decodeWhole,
  decoder: () => new ConverseDecoder(),
};
