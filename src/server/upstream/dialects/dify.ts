// Dify's chat-messages: an application answers, always as a stream, since agents support nothing else. Its history is not used: the whole
// conversation goes into one query (vendors/dify).

import {
  agentHints,
  agentTurns,
  agentUser,
  refuseBeyondAgent,
  type Turn,
} from "#server/upstream/hub/agent.ts";
import type { HubChunk } from "#server/upstream/hub/reply.ts";
import { type HubMessage, type HubPart, Unmappable } from "#server/upstream/hub/request.ts";
import { asNumber, asObject, asText, type JsonRecord, readJson } from "#server/upstream/json/values.ts";
import type { Dialect, Encoded, StreamDecoder, WireError, WireEvent } from "./dialect.ts";

const NOTHING: readonly HubChunk[] = [];
const SPEAKERS = { user: "User", assistant: "Assistant" } as const;

export const dify: Dialect = {
  native: undefined,
  onlyStreams: true,

  // The base URL may or may not contain the version.
  address: (endpoint, wire, { baseUrl }) => baseUrl.replace(/\/v1$/, "") + (wire.paths[endpoint] ?? ""),

  encode(request): Encoded {
    refuseBeyondAgent(request);
    const body = {
      inputs: {},
      query: queryOf(agentTurns(request.messages, isImage)),
      response_mode: "streaming",
      user: agentUser(request),
      conversation_id: "",
      files: filesOf(request.messages),
      auto_generate_name: false,
    };
    return { body, dropped: agentHints(request) };
  },

  decode: decodeWhole,
  decoder: () => new DifyDecoder(),
};

function isImage({ kind }: HubPart): boolean {
  return kind === "image";
}

/** A single turn is the query itself; a longer conversation becomes text, with the last turn at its end. */
function queryOf(turns: readonly Turn[]): string {
  const [first, ...others] = turns;
  if (first === undefined) throw new Unmappable("messages", "消息不能为空");
  if (others.length === 0) return first.text;
  return turns.map(({ role, text }) => `${SPEAKERS[role]}: ${text}`).join("\n\n");
}

/** Images are sent by URL; bytes would have to be uploaded first. Throws: Unmappable. */
function filesOf(messages: readonly HubMessage[]) {
  return messages
    .flatMap(({ parts }) => parts)
    .flatMap((part) => {
      if (part.kind !== "image") return [];
      if (part.source.kind !== "url")
        throw new Unmappable("messages[].content[].image_url", "该渠道只支持以网址给出的图片");
      return [{ type: "image", transfer_method: "remote_url", url: part.source.url }];
    });
}

/** A whole answer, from a server that does not stream. */
function decodeWhole(body: JsonRecord): readonly HubChunk[] | WireError {
  const answer = asText(body["answer"]);
  if (answer === undefined) return body["code"] === undefined ? NOTHING : errorIn(body);
  return [
    { kind: "head", id: asText(body["message_id"]) },
    { kind: "text", index: 0, text: answer },
    { kind: "finish", index: 0, reason: "stop" },
    ...usageIn(body),
    { kind: "end" },
  ];
}

class DifyDecoder implements StreamDecoder {
  #hasHead = false;
  #hasSpoken = false;
  #isReplaced = false;

  take({ data }: WireEvent): readonly HubChunk[] | WireError {
    const body = readJson(data);
    if (body === undefined) return NOTHING;
    switch (body["event"]) {
      case "message":
      case "agent_message":
        return [...this.#head(body), ...this.#say(asText(body["answer"]) ?? "")];
      case "message_replace":
        // A moderator retracted the answer: text that was sent stays, but the finish reason tells it.
        this.#isReplaced = true;
        return this.#hasSpoken ? NOTHING : this.#say(asText(body["answer"]) ?? "");
      case "message_end":
        return [
          ...this.#head(body),
          { kind: "finish", index: 0, reason: this.#isReplaced ? "content_filter" : "stop" },
          ...usageIn(body),
          { kind: "end" },
        ];
      case "error":
        return errorIn(body);
      default:
        return NOTHING;
    }
  }

  #head(body: JsonRecord): readonly HubChunk[] {
    if (this.#hasHead) return NOTHING;
    this.#hasHead = true;
    return [{ kind: "head", id: asText(body["message_id"]), created: asNumber(body["created_at"]) }];
  }

  #say(text: string): readonly HubChunk[] {
    if (text === "") return NOTHING;
    this.#hasSpoken = true;
    return [{ kind: "text", index: 0, text }];
  }
}

function usageIn(body: JsonRecord): readonly HubChunk[] {
  const usage = asObject(asObject(body["metadata"])?.["usage"]);
  const prompt_tokens = asNumber(usage?.["prompt_tokens"]);
  const completion_tokens = asNumber(usage?.["completion_tokens"]);
  if (prompt_tokens === undefined || completion_tokens === undefined) return NOTHING;
  const total_tokens = prompt_tokens + completion_tokens;
  return [{ kind: "usage", usage: { prompt_tokens, completion_tokens, total_tokens } }];
}

function errorIn(body: JsonRecord): WireError {
  const status = asNumber(body["status"]) ?? 502;
  const code = asText(body["code"]) ?? null;
  const message = asText(body["message"]) || "上游应用返回错误";
  return {
    kind: "error",
    status: status >= 400 && status <= 599 ? status : 502,
    message,
    code,
    type: "dify_error",
  };
}
