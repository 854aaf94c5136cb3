// A foreign format that client and upstream share: the bytes pass, except the model's name and fields that the upstream would refuse.

import { valuesOf } from "#server/upstream/call/body.ts";
import { inputWithoutThoughts } from "#server/upstream/call/body-messages.ts";
import {
  type Addressed,
  type Call,
  isGeneration,
  NOTHING,
  type Plan,
  type Prepared,
  type PrepareTools,
  type Way,
} from "#server/upstream/call/call.ts";
import type { NativeFormat } from "#server/upstream/clients/client.ts";
import { generateCount } from "#server/upstream/clients/generate.ts";
import { natives } from "#server/upstream/clients/index.ts";
import { messagesCount } from "#server/upstream/clients/messages.ts";
import { isUnreadable } from "#server/upstream/clients/responses.ts";
import type { Target } from "#server/upstream/dialects/dialect.ts";
import { dialects } from "#server/upstream/dialects/index.ts";
import { localFault, type RelayFault } from "#server/upstream/errors/fault.ts";
import { NativeHandler } from "#server/upstream/handlers/native.ts";
import { editObject, type ObjectEdits } from "#server/upstream/json/object.ts";
import { asObject } from "#server/upstream/json/values.ts";
import { handlerOf, parsed } from "./translate.ts";

export const nativeWay: Way = { name: "native", address: addressOf, prepare: nativelyPassed };

function addressOf({ endpoint, wire, dialect, target }: Addressed): string {
  if (endpoint === dialect.native) return dialect.address("chat", wire, target);
  // Gemini counts tokens at a path with the model in it.
  const isCount = endpoint === "count-tokens" && dialect.native === "generate";
  const foreign = isCount ? undefined : wire.paths[endpoint];
  return foreign === undefined ? dialect.address(endpoint, wire, target) : foreignAddress(foreign, target);
}

/** The address of an additional format: on the same host, whatever version the base URL ends in (vendors/claude-elsewhere). */
function foreignAddress(path: string, { baseUrl, model, isStream, apiVersion, other }: Target): string {
  const action = isStream ? "streamGenerateContent?alt=sse" : "generateContent";
  const filled = path
    .replace("{model}", encodeURIComponent(model))
    .replace("{action}", action)
    .replace("{version}", encodeURIComponent(apiVersion || other));
  return URL.canParse(filled) ? filled : baseUrl.replace(/\/v\d+\w*$/, "") + filled;
}

/** Source: vendors/claude. */
const ANTHROPIC_VERSION = "2023-06-01";

function nativelyPassed(tools: PrepareTools, call: Call, plan: Plan): Prepared | RelayFault {
  const { endpoint, body, passHeaders } = call;
  const format =
    endpoint === "count-tokens" ? countFormat(plan) : isGeneration(endpoint) && natives[endpoint];
  const dialect = Object.values(dialects).find(({ native }) => native === endpoint) ?? plan.dialect;
  if (!format) return localFault(400, "unsupported_relay_mode", "该渠道不支持此接口");
  const edits = nativeEdits(call, plan, format);
  const bytes = edits === undefined ? body.bytes : editObject(body.bytes, body.object, edits);
  const isMessages = endpoint === "messages" || format === messagesCount;
  const hasVersion = !isMessages || passHeaders.includes("anthropic-version");
  return {
    kind: "prepared",
    bytes,
    headers: hasVersion ? passHeaders : [...passHeaders, "anthropic-version", ANTHROPIC_VERSION],
    dropped: NOTHING,
    handler: new NativeHandler({
      format,
      quirks: plan.quirks,
      secrets: plan.secrets,
      isArray: call.isArray,
      readError: dialect.readError?.bind(dialect),
      translated: () =>
        handlerOf(tools, call, { ...plan, dialect }, { request: parsed(call), toolNames: undefined }),
    }),
  };
}

/** undefined = the bytes pass as they are. */
function nativeEdits(call: Call, { dialect, effort }: Plan, format: NativeFormat): ObjectEdits | undefined {
  const { endpoint, body, model } = call;
  const set = new Map<string, string>();
  // Gemini has the model in the path.
  if (endpoint !== "generate" && format !== generateCount && body.model !== model)
    set.set("model", JSON.stringify(model));
  if (endpoint === "responses") editResponses(call, effort, set);
  const more = endpoint === dialect.native ? dialect.nativeEdits?.(model, () => parsed(call)) : undefined;
  for (const [name, value] of Object.entries(more?.set ?? {})) set.set(name, JSON.stringify(value));
  if (more !== undefined) return { set, drop: new Set(more.drop) };
  return set.size === 0 ? undefined : { set };
}

function editResponses(call: Call, effort: Plan["effort"], set: Map<string, string>): void {
  const { body } = call;
  // A response stored at one upstream cannot be found through another channel (vendors/responses-stored).
  if (call.isStored !== true && call.isCompact !== true) set.set("store", "false");
  const input = call.isPinned === true ? undefined : inputWithoutThoughts(body, isUnreadable);
  if (input !== undefined) set.set("input", input);
  const reasoning = effort && { ...asObject(valuesOf(body)["reasoning"]), effort };
  if (reasoning) set.set("reasoning", JSON.stringify(reasoning));
}

/** Token counts belong to their format. */
function countFormat({ dialect }: Plan): NativeFormat {
  return dialect.native === "generate" ? generateCount : messagesCount;
}
