// Anthropic Messages, and the vendors with an endpoint that speaks it (vendors/claude, vendors/claude-messages). Encodes and decodes the
// wire; anthropic-model.ts knows what a model's generation accepts.

import {
  type Ability,
  type HubFormat,
  type HubRequest,
  hintsBeyond,
  ToolNames,
} from "#server/upstream/hub/request.ts";
import { asList, asObject, type JsonRecord } from "#server/upstream/json/values.ts";
import { splitSuffix, traitsOf } from "./anthropic-model.ts";
import { decodeMessage, errorIn, MessageDecoder } from "./anthropic-reply.ts";
import { type Settings, settingsOf } from "./anthropic-settings.ts";
import { toolsOf, turnsOf } from "./anthropic-turns.ts";
import type { Dialect, Encoded, NativeEdits } from "./dialect.ts";

export const BETA_HEADER = "anthropic-beta";
/** Source: vendors/claude. */
const VERSION = "2023-06-01";
/** Source: vendors/claude-messages; longer names are replaced for the call. */
const TOOL_NAME_LIMIT = 128;
const ABILITIES: ReadonlySet<Ability> = new Set([
  "top_k",
  "service_tier",
  "user",
  "parallel_tool_calls",
  "thoughts",
]);

export const anthropic: Dialect = {
  native: "messages",

  address(endpoint, wire, { baseUrl }) {
    const path = wire.paths[endpoint] ?? "";
    // A base URL that ends in its version already contains the path's first segment (requirements T1.2).
    return baseUrl + (/\/v\d+$/.test(baseUrl) ? path.replace(/^\/v\d+(?=\/)/, "") : path);
  },

  encode: (request) => bound(encodeMessages(request)),
  nativeEdits,
  decode: decodeMessage,
  decoder: () => new MessageDecoder(),
  readError: (status, body) => errorIn(body, status),
};

/** The request in Anthropic's format. Throws: Unmappable. */
function encodeMessages(request: HubRequest): Encoded {
  const hints = hintsBeyond(request, ABILITIES);
  const names = new ToolNames(TOOL_NAME_LIMIT);
  const nameOf = (name: string) => names.wireName(name);
  const settings = settingsOf(request);
  const format = formatOf(request.format, settings);
  const turns = turnsOf(request.messages, nameOf, {
    hint: format.hint,
    takesPrefill: settings.traits.takesPrefill,
    // Bound thoughts are sent only to a model that thinks (vendor docs, preserved thinking).
    takesThoughts: !settings.traits.bindsThoughts || !isOff(settings.thinking),
  });
  const stops = request.stop?.filter((stop) => stop.trim() !== "") ?? [];
  const areStopsLost = stops.length < (request.stop?.length ?? 0);
  const output = {
    ...(settings.effort !== undefined && { effort: settings.effort }),
    ...(format.schema !== undefined && { format: { type: "json_schema", schema: format.schema } }),
  };
  const tier = tierOf(request.serviceTier);
  const isTierLost =
    request.serviceTier !== undefined && request.serviceTier !== "auto" && tier === undefined;
  const body: JsonRecord = {
    model: settings.model,
    max_tokens: settings.maxTokens,
    ...settings.sampling,
    ...(stops.length > 0 && { stop_sequences: stops }),
    ...(turns.system !== undefined && { system: turns.system }),
    ...(request.user !== undefined && { metadata: { user_id: request.user } }),
    messages: turns.messages,
    ...toolsOf(request, nameOf, settings.traits.forcesTools),
    ...(settings.thinking !== undefined && { thinking: settings.thinking }),
    ...(Object.keys(output).length > 0 && { output_config: output }),
    ...(tier !== undefined && { service_tier: tier }),
    ...(request.isStream && { stream: true }),
  };
  return {
    body,
    headers: ["anthropic-version", VERSION],
    dropped: [
      ...settings.dropped,
      ...turns.dropped,
      ...hints,
      ...(areStopsLost ? ["stop"] : []),
      ...(isTierLost ? ["service_tier"] : []),
    ],
    toolNames: names.changed,
  };
}

/** Anthropic's page "Fix a thinking block bound to a different conversation" (2026-11). */
const BINDING_BETA = "thinking-binding-controls-2026-08-01";

/**
 * For a model that binds thoughts: if the content before a thought has changed, only the thought is lost, not the answer. System texts and
 * tools are collected for every call, so one that a client adds during a conversation comes before all thoughts.
 */
function bound(encoded: Encoded): Encoded {
  const { body, headers = [] } = encoded;
  const hasThoughts = asList(body["messages"]).some((message) =>
    asList(asObject(message)?.["content"]).some((block) => THOUGHT.test(String(asObject(block)?.["type"]))),
  );
  if (!hasThoughts || !traitsOf(String(body["model"])).bindsThoughts) return encoded;
  const thinking = {
    type: "adaptive",
    ...asObject(body["thinking"]),
    block_binding: { prefix_mismatch_behavior: "drop_block" },
  };
  return {
    ...encoded,
    body: { ...body, thinking },
    headers: [...headers, BETA_HEADER, BINDING_BETA],
  };
}

const THOUGHT = /thinking$/;

function isOff(thinking: JsonRecord | undefined): boolean {
  return thinking?.["type"] === "disabled" || thinking?.["type"] === "between_tools";
}

/** Members that implement a name's suffix, and which bound each other. */
const SUFFIX_NAMES = ["model", "max_tokens", "thinking", "output_config", "temperature", "top_p", "top_k"];

/** A suffix for thinking (vendors/claude-thinking) also applies to bodies that pass through. */
function nativeEdits(model: string, request: () => HubRequest): NativeEdits | undefined {
  if (splitSuffix(model).suffix === undefined) return undefined;
  const { body } = encodeMessages(request());
  const kept = SUFFIX_NAMES.filter((name) => body[name] !== undefined);
  const drop = SUFFIX_NAMES.filter((name) => body[name] === undefined);
  return { set: Object.fromEntries(kept.map((name) => [name, body[name]])), drop };
}

/** Schemas are enforced where the model can; others, and plain JSON, are requested in the prompt (vendors/claude-request). */
function formatOf(
  format: HubFormat | undefined,
  { traits }: Settings,
): { readonly schema?: JsonRecord; readonly hint?: string } {
  if (format === undefined || format.kind === "text") return {};
  if (format.kind !== "schema") return { hint: "Respond with one valid JSON object and nothing else." };
  if (traits.hasSchemas) return { schema: format.schema };
  const schema = JSON.stringify(format.schema);
  return { hint: `Respond with one JSON object that matches this JSON schema, and nothing else:\n${schema}` };
}

/** undefined = the wire has no such tier, or it is the default (`auto`). */
function tierOf(tier: string | undefined): string | undefined {
  return tier === "default" || tier === "standard_only" ? "standard_only" : undefined;
}
