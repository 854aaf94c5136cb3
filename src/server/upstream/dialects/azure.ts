// Azure OpenAI's dated API: OpenAI's bodies at an address with the deployment (vendors/azure). Its v1 API is plain OpenAI and has a row of
// its own in the catalogue.
import type { Wire } from "#contract/providers.ts";
import { chatBody } from "#server/upstream/hub/chat-body.ts";
import { ChatStream, chatChunks } from "#server/upstream/hub/chat-reply.ts";
import type { Dialect, Target } from "./dialect.ts";

/** The version if neither the client nor the channel sets one. Source: requirements B5, W20.17. */
const FALLBACK_VERSION = "2023-06-01-preview";
const CLOUDFLARE_GATEWAY = "gateway.ai.cloudflare.com";

export const azure: Dialect = {
  native: "chat",

  address(endpoint, wire, target) {
    const task = (wire.paths[endpoint] ?? "").replace(/^\/v1\//, "");
    const prefix = target.baseUrl.includes(CLOUDFLARE_GATEWAY) ? "" : "/openai/deployments";
    const deployment = encodeURIComponent(deploymentOf(wire, target.model));
    const version = encodeURIComponent(versionOf(target));
    if (endpoint === "realtime")
      return `${target.baseUrl}/openai/${task}?deployment=${deployment}&api-version=${version}`;
    return `${target.baseUrl}${prefix}/${deployment}/${task}?api-version=${version}`;
  },

  takesStreamOptions(wire, target) {
    const since = wire.quirks?.streamOptionsSince;
    if (wire.quirks?.noStreamOptions === true) return false;
    return since === undefined || isSince(versionOf(target), since);
  },

  encode: (request) => chatBody(request, { keepsThoughts: false }),
  decode: (body, { wire, seed }) => chatChunks(body, wire.quirks, seed),

  decoder({ wire, seed }) {
    const stream = new ChatStream(wire.quirks, seed);
    return { take: ({ data }) => stream.take(data) };
  },
};

function versionOf(target: Target): string {
  return target.apiVersion || target.other || FALLBACK_VERSION;
}

/** Versions are compared by date; `v1` and `preview` are newer than every date. */
function isSince(version: string, since: string): boolean {
  return !/^\d/.test(version) || version.slice(0, 10) >= since.slice(0, 10);
}

/** Deployment names cannot contain the dots of older model names. Source: vendors/azure. */
function deploymentOf(wire: Wire, model: string): string {
  const dropsDots = wire.quirks?.deploymentDropsDots?.some((prefix) => model.startsWith(prefix)) === true;
  return dropsDots ? model.replaceAll(".", "") : model;
}
