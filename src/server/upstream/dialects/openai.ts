// OpenAI's own wire and everything compatible with it (vendors/openai, requirements T1.2): bytes of chat clients pass, other formats are
// encoded as chat bodies.
import { chatBody } from "#server/upstream/hub/chat-body.ts";
import { ChatStream, chatChunks } from "#server/upstream/hub/chat-reply.ts";
import type { Dialect } from "./dialect.ts";

/** A base URL that ends in a version segment, or in a gateway's provider segment, already contains the path's first one. */
const VERSIONED_BASE = /\/v\d+\w*(\/openai)?$/;
const CLOUDFLARE_GATEWAY = "gateway.ai.cloudflare.com";

export const openai: Dialect = {
  native: "chat",

  address(endpoint, wire, target) {
    const query = endpoint === "realtime" ? `?model=${encodeURIComponent(target.model)}` : "";
    const path = (wire.paths[endpoint] ?? "") + query;
    const base = target.baseUrl.replaceAll("{model}", encodeURIComponent(target.model));
    // A custom base URL may be the complete address already. Source: requirements T1.2.
    if (base !== target.baseUrl || base.endsWith(taskOf(path))) return base;
    const isVersioned = VERSIONED_BASE.test(base) || base.includes(CLOUDFLARE_GATEWAY);
    return base + (isVersioned ? taskOf(path) : path);
  },

  takesStreamOptions: (wire) => wire.quirks?.noStreamOptions !== true,
  encode: (request, { wire }) => chatBody(request, { keepsThoughts: wire.quirks?.keepsThoughts === true }),
  decode: (body, { wire, seed }) => chatChunks(body, wire.quirks, seed),

  decoder({ wire, seed }) {
    const stream = new ChatStream(wire.quirks, seed);
    return { take: ({ data }) => stream.take(data) };
  },
};

/** `/v1/chat/completions` → `/chat/completions`. */
function taskOf(path: string): string {
  return path.replace(/^.*?\/v\d+(?=\/)/, "");
}
