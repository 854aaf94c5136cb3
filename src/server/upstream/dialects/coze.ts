// Coze's v3 chat: a bot answers, always as a stream, since a whole answer would have to be polled (vendors/coze).

import { agentHints, agentTurns, agentUser, refuseBeyondAgent } from "#server/upstream/hub/agent.ts";
import type { HubChunk } from "#server/upstream/hub/reply.ts";
import { asNumber, asObject, asText, type JsonRecord, readJson } from "#server/upstream/json/values.ts";
import type { Dialect, Encoded, StreamDecoder, WireError, WireEvent } from "./dialect.ts";

/** Models are named after their bot. */
const PREFIX = /^bot-/;
/** 4100 = no valid token, 4101 = not allowed to this bot, 4013 = too often. */
const STATUS: Readonly<Record<number, number>> = { 4100: 401, 4101: 403, 4013: 429 };
const NOTHING: readonly HubChunk[] = [];

export const coze: Dialect = {
  native: undefined,
  onlyStreams: true,

  address: (endpoint, wire, { baseUrl }) => baseUrl + (wire.paths[endpoint] ?? ""),

  encode(request): Encoded {
    refuseBeyondAgent(request);
    const messages = agentTurns(request.messages).map(({ role, text }) => ({
      role,
      content: text,
      content_type: "text",
    }));
    const body = {
      bot_id: request.model.replace(PREFIX, ""),
      user_id: agentUser(request),
      stream: true,
      auto_save_history: false,
      additional_messages: messages,
    };
    return { body, dropped: agentHints(request) };
  },

  // Whole bodies are errors: answers come as streams.
  decode: (body) => errorIn(body) ?? NOTHING,
  decoder: () => new CozeDecoder(),
  readError: (status, body) => errorIn(body, status),
};

class CozeDecoder implements StreamDecoder {
  #hasSpoken = false;
  #hasThought = false;
  #isFinished = false;

  take(event: WireEvent): readonly HubChunk[] | WireError {
    const name = event.field("event");
    if (name === "done") return [...this.#finish(), { kind: "end" }];
    const body = readJson(event.data);
    if (body === undefined) return NOTHING;
    switch (name) {
      case "conversation.chat.created":
        return [{ kind: "head", id: asText(body["id"]) }];
      case "conversation.message.delta":
        return this.#say(body);
      case "conversation.message.completed":
        // It repeats the streamed text; it is new only for a bot that never streams.
        return this.#hasSpoken
          ? NOTHING
          : this.#say(this.#hasThought ? { ...body, reasoning_content: "" } : body);
      case "conversation.chat.completed":
        return [...this.#finish(), ...usageIn(asObject(body["usage"]))];
      case "conversation.chat.requires_action":
        return failure(400, "requires_action", "该智能体需要客户端执行工具，本渠道不支持");
      case "conversation.chat.failed":
        return errorIn(asObject(body["last_error"]) ?? {}) ?? failure(502, "failed", "");
      case "error":
        return errorIn(body) ?? failure(502, "error", "");
      default:
        return NOTHING;
    }
  }

  /** Only the answer is passed on: follow-up questions, tool calls and knowledge are internal to the bot. */
  #say(body: JsonRecord): readonly HubChunk[] {
    if (body["type"] !== "answer") return NOTHING;
    const thought = asText(body["reasoning_content"]) ?? "";
    const text = asText(body["content"]) ?? "";
    if (thought !== "") this.#hasThought = true;
    if (text !== "") this.#hasSpoken = true;
    return [
      ...(thought === "" ? NOTHING : [{ kind: "thought", index: 0, text: thought } as const]),
      ...(text === "" ? NOTHING : [{ kind: "text", index: 0, text } as const]),
    ];
  }

  #finish(): readonly HubChunk[] {
    if (this.#isFinished) return NOTHING;
    this.#isFinished = true;
    return [{ kind: "finish", index: 0, reason: "stop" }];
  }
}

function usageIn(usage: JsonRecord | undefined): readonly HubChunk[] {
  const prompt_tokens = asNumber(usage?.["input_count"]);
  const completion_tokens = asNumber(usage?.["output_count"]);
  if (prompt_tokens === undefined || completion_tokens === undefined) return NOTHING;
  const total_tokens = prompt_tokens + completion_tokens;
  return [{ kind: "usage", usage: { prompt_tokens, completion_tokens, total_tokens } }];
}

/** `{code, msg}` with a code other than 0, with any status. */
function errorIn(body: JsonRecord, httpStatus = 200): WireError | undefined {
  const code = asNumber(body["code"]);
  if (code === undefined || code === 0) return undefined;
  const own = httpStatus >= 400 ? httpStatus : code >= 4000 && code < 5000 ? 400 : 502;
  return failure(STATUS[code] ?? own, code, asText(body["msg"]) ?? "");
}

function failure(status: number, code: string | number, message: string): WireError {
  return { kind: "error", status, code, message: message || "上游智能体返回错误", type: "coze_error" };
}
