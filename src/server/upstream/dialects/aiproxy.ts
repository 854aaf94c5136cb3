// AI Proxy's library (vendors/aiproxy, requirements W13): one question to a collection of documents, answered with a list of those it used.

import { agentHints, agentTurns, refuseBeyondAgent } from "#server/upstream/hub/agent.ts";
import type { HubChunk } from "#server/upstream/hub/reply.ts";
import { Unmappable } from "#server/upstream/hub/request.ts";
import {
  asList,
  asNumber,
  asObject,
  asText,
  type JsonRecord,
  readJson,
} from "#server/upstream/json/values.ts";
import type { Dialect, Encoded, StreamDecoder, WireError, WireEvent } from "./dialect.ts";

const NOTHING: readonly HubChunk[] = [];

export const aiproxy: Dialect = {
  native: undefined,

  address: (endpoint, wire, { baseUrl }) => baseUrl + (wire.paths[endpoint] ?? ""),

  encode(request, { target }): Encoded {
    refuseBeyondAgent(request);
    // The documents are searched by the question: only the last turn is sent, and the rest is reported as dropped.
    const turns = agentTurns(request.messages);
    const query = turns.at(-1)?.text;
    if (query === undefined) throw new Unmappable("messages", "消息不能为空");
    const { model, isStream, user } = request;
    const dropped = agentHints(request);
    if (turns.length > 1) dropped.unshift("messages");
    if (user !== undefined) dropped.push("user");
    const body = { model, query, libraryId: target.other, stream: isStream };
    return { body, dropped };
  },

  decode(body) {
    const error = errorIn(body);
    if (error !== undefined) return error;
    const text = (asText(body["answer"]) ?? "") + listOf(body["documents"]);
    return text === "" ? NOTHING : [{ kind: "text", index: 0, text }, ...END];
  },

  decoder: () => new LibraryDecoder(),
  readError: (status, body) => errorIn(body, status),
};

const END: readonly HubChunk[] = [{ kind: "finish", index: 0, reason: "stop" }, { kind: "end" }];

class LibraryDecoder implements StreamDecoder {
  #documents: unknown;

  take({ data }: WireEvent): readonly HubChunk[] | WireError {
    if (data.trim() === "[DONE]") return this.#finish("");
    const body = readJson(data);
    if (body === undefined) return NOTHING;
    const error = errorIn(body);
    if (error !== undefined) return error;
    // They come with the last event.
    if (asList(body["documents"]).length > 0) this.#documents = body["documents"];
    const text = asText(body["content"]) ?? "";
    if (body["finish"] === true) return this.#finish(text);
    return text === "" ? NOTHING : [{ kind: "text", index: 0, text }];
  }

  #finish(last: string): readonly HubChunk[] {
    const text = last + listOf(this.#documents);
    return text === "" ? END : [{ kind: "text", index: 0, text }, ...END];
  }
}

/** The documents as One API lists them: numbered links under a headline; "" = there are none. */
function listOf(documents: unknown): string {
  const lines = asList(documents).map((item, index) => {
    const document = asObject(item);
    return `${index + 1}. [${asText(document?.["title"]) ?? ""}](${asText(document?.["url"]) ?? ""})\n`;
  });
  return lines.length === 0 ? "" : `\n\n参考文档：\n${lines.join("")}`;
}

/** `errCode` other than 0, with any status. */
function errorIn(body: JsonRecord, httpStatus = 500): WireError | undefined {
  const code = asNumber(body["errCode"]);
  const message = asText(body["message"]) ?? "";
  if (code === undefined || code === 0)
    return body["success"] === false ? failure(httpStatus, null, message) : undefined;
  return failure(httpStatus, code, message);
}

function failure(status: number, code: number | null, message: string): WireError {
  return {
    kind: "error",
    status,
    message: message || "上游知识库返回错误",
    code,
    type: String(code ?? "upstream_error"),
  };
}
