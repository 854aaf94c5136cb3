// Google PaLM 2's generateMessage (vendors/palm): switched off by Google in October 2024, still spoken by replacement servers. Text only,
// no usage, no streams: a client that requests a stream gets the whole answer as one.

import type { HubChunk } from "#server/upstream/hub/reply.ts";
import {
  type Ability,
  type HubMessage,
  type HubRequest,
  hintsBeyond,
  hintsWithin,
  systemText,
  textOf,
  Unmappable,
} from "#server/upstream/hub/request.ts";
import {
  asList,
  asNumber,
  asObject,
  asText,
  type JsonRecord,
  readJson,
} from "#server/upstream/json/values.ts";
import type { Dialect, Encoded, WireError } from "./dialect.ts";

/** One API's name of the model → Google's. */
const MODELS: Readonly<Record<string, string>> = { "PaLM-2": "chat-bison-001" };
const MOST_ANSWERS = 8;
const ABILITIES: ReadonlySet<Ability> = new Set(["n", "top_k"]);

export const palm: Dialect = {
  native: undefined,

  address(endpoint, wire, { baseUrl, model }) {
    const path = wire.paths[endpoint] ?? "";
    return baseUrl + path.replace("{model}", encodeURIComponent(MODELS[model] ?? model));
  },

  encode(request): Encoded {
    refuse(request);
    const { temperature, topP, topK, n } = request;
    const context = systemText(request.messages) ?? "";
    const body = {
      prompt: { ...(context !== "" && { context }), messages: turnsOf(request.messages) },
      // Its range is 0 to 1.
      ...(temperature !== undefined && { temperature: Math.min(temperature, 1) }),
      ...(n !== undefined && { candidateCount: n }),
      ...(topP !== undefined && { topP }),
      ...(topK !== undefined && { topK }),
    };
    return { body, dropped: droppedOf(request) };
  },

  decode,

  decoder: () => ({
    take({ data }) {
      const body = readJson(data);
      return body === undefined ? [] : decode(body);
    },
  }),
};

/** Throws: Unmappable. */
function refuse(request: HubRequest): void {
  const { tools = [], format, stop = [], n = 1 } = request;
  if (tools.length > 0) throw new Unmappable("tools");
  if (format !== undefined && format.kind !== "text") throw new Unmappable("response_format");
  if (stop.length > 0) throw new Unmappable("stop");
  if (n > MOST_ANSWERS) throw new Unmappable("n", `最多支持 ${MOST_ANSWERS} 个回答`);
}

interface PalmTurn {
  readonly author: "0" | "1";
  readonly content: string;
}

/** The user is "0", the model "1"; adjacent turns of one author are joined. */
function turnsOf(messages: readonly HubMessage[]): PalmTurn[] {
  const turns: PalmTurn[] = [];
  for (const message of messages) {
    const { role, parts } = message;
    if (role === "tool" || (role === "assistant" && message.toolCalls.length > 0))
      throw new Unmappable("messages[].tool_calls");
    if (parts.some(({ kind }) => kind !== "text" && kind !== "refusal"))
      throw new Unmappable("messages[].content", "该渠道只支持文本内容");
    if (role === "system" || role === "developer") continue;
    const author = role === "user" ? "0" : "1";
    const content = textOf(parts, "\n");
    const last = turns.at(-1);
    if (last?.author === author) turns[turns.length - 1] = { author, content: `${last.content}\n${content}` };
    else turns.push({ author, content });
  }
  return turns;
}

function droppedOf(request: HubRequest): string[] {
  const left = [...hintsBeyond(request, ABILITIES), ...hintsWithin(request)];
  if (request.maxTokens !== undefined) left.push("max_tokens");
  if (request.reasoning !== undefined) left.push("reasoning_effort");
  return left;
}

function decode(body: JsonRecord): readonly HubChunk[] | WireError {
  const error = asObject(body["error"]);
  if (error !== undefined) {
    const status = asNumber(error["code"]) ?? 500;
    const code = asText(error["status"]) ?? status;
    return { kind: "error", status, message: asText(error["message"]) ?? "", code, type: "palm_error" };
  }
  const candidates = asList(body["candidates"]);
  if (candidates.length === 0) return blocked(body);
  return candidates.flatMap((candidate, index): HubChunk[] => [
    { kind: "text", index, text: asText(asObject(candidate)?.["content"]) ?? "" },
    { kind: "finish", index, reason: "stop" },
  ]);
}

/** Without an answer, a filter is the reason. */
function blocked(body: JsonRecord): WireError {
  const filter = asObject(asList(body["filters"])[0]);
  const reason = asText(filter?.["reason"]);
  const message = asText(filter?.["message"]) || `输入内容被上游安全策略拦截（${reason ?? "UNKNOWN"}）`;
  if (reason !== undefined)
    return { kind: "error", status: 400, message, code: "prompt_blocked", type: "palm_error" };
  return {
    kind: "error",
    status: 502,
    message: "上游没有返回任何回答",
    code: "no_candidates",
    type: "palm_error",
  };
}
