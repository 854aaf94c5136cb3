// Gemini's streamed replies: each event is a reply object with the new parts only; the last one has the finish reasons and the usage
// (requirements T18.6). Framed as events, or as one JSON array for clients without `alt=sse`. JSON texts are concatenated by hand: this
// runs once per generated token.

import type { FinishReason, HubChunk } from "#server/upstream/hub/reply.ts";
import type { HubToolCall } from "#server/upstream/hub/request.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";
import type { RenderContext, StreamRenderer } from "./client.ts";
import {
  callParts,
  finishFields,
  groundsOf,
  imagePart,
  logprobsResult,
  showsThoughts,
  usageMetadata,
} from "./generate-reply.ts";

/** The parts of an answer that are sent at its end. */
interface Rest {
  readonly calls: Map<number, HubToolCall>;
  readonly annotations: JsonRecord[];
  readonly logprobs: unknown[];
  finish: FinishReason | undefined;
}

export class GenerateRenderer implements StreamRenderer {
  readonly #context: RenderContext;
  readonly #showsThoughts: boolean;
  readonly #rests = new Map<number, Rest>();
  /** Closes every object: `,"modelVersion":…,"responseId":…}`. */
  #tail: string;
  #usage: JsonRecord | undefined;
  #isFirst = true;

  constructor(context: RenderContext) {
    this.#context = context;
    this.#showsThoughts = showsThoughts(context);
    this.#tail = this.#tailOf(undefined);
  }

  take(chunks: readonly HubChunk[]): string {
    let out = "";
    for (const chunk of chunks) out += this.#take(chunk);
    return out;
  }

  /** Function calls are sent only here: their arguments must be complete. */
  end(): string {
    if (this.#rests.size === 0) this.#rest(0);
    const candidates = [...this.#rests].sort(([one], [other]) => one - other).map(lastCandidate);
    const usage = this.#usage && `,"usageMetadata":${JSON.stringify(usageMetadata(this.#usage))}`;
    const last = this.#framed(`{"candidates":${JSON.stringify(candidates)}${usage ?? ""}${this.#tail}`);
    return this.#context.isArray ? `${last}]` : last;
  }

  #take(chunk: HubChunk): string {
    switch (chunk.kind) {
      case "text":
      case "refusal":
        return this.#part(chunk.index, `{"text":${JSON.stringify(chunk.text)}}`);
      case "thought":
        if (!this.#showsThoughts) return "";
        return this.#part(chunk.index, `{"text":${JSON.stringify(chunk.text)},"thought":true}`);
      case "image":
        return this.#part(chunk.index, JSON.stringify(imagePart(chunk)));
      case "head":
        this.#tail = this.#tailOf(chunk.id);
        return "";
      case "usage":
        this.#usage = chunk.usage;
        return "";
      case "tool":
        addPiece(this.#rest(chunk.index).calls, chunk);
        return "";
      case "annotation":
        this.#rest(chunk.index).annotations.push(chunk.annotation);
        return "";
      case "logprobs":
        this.#rest(chunk.index).logprobs.push(...chunk.content);
        return "";
      case "finish":
        this.#rest(chunk.index).finish = chunk.reason;
        return "";
      // Signatures of other vendors are useless here, and audio was refused with the request.
      case "signature":
      case "redacted":
      case "audio":
      case "end":
        return "";
    }
  }

  #rest(index: number): Rest {
    let rest = this.#rests.get(index);
    if (rest === undefined) {
      rest = { calls: new Map(), annotations: [], logprobs: [], finish: undefined };
      this.#rests.set(index, rest);
    }
    return rest;
  }

  #part(index: number, part: string): string {
    this.#rest(index);
    const content = `{"role":"model","parts":[${part}]}`;
    return this.#framed(`{"candidates":[{"content":${content},"index":${index}}]${this.#tail}`);
  }

  #framed(object: string): string {
    if (!this.#context.isArray) return `data: ${object}\r\n\r\n`;
    const before = this.#isFirst ? "[" : ",\r\n";
    this.#isFirst = false;
    return before + object;
  }

  #tailOf(id: string | undefined): string {
    const { model, seed } = this.#context;
    return `,"modelVersion":${JSON.stringify(model)},"responseId":${JSON.stringify(id ?? seed)}}`;
  }
}

function addPiece(calls: Map<number, HubToolCall>, piece: HubChunk & { kind: "tool" }): void {
  const known = calls.get(piece.at);
  calls.set(piece.at, {
    id: piece.id ?? known?.id ?? "",
    name: piece.name ?? known?.name ?? "",
    arguments: (known?.arguments ?? "") + piece.arguments,
    isCustom: piece.isCustom ?? known?.isCustom,
    signature: piece.signature ?? known?.signature,
  });
}

function lastCandidate([index, rest]: [number, Rest]): JsonRecord {
  const { parts, isBroken } = callParts([...rest.calls.values()]);
  return {
    content: { role: "model", parts: parts.length > 0 ? parts : [{ text: "" }] },
    ...finishFields(rest.finish, isBroken),
    index,
    ...groundsOf(rest.annotations),
    ...(rest.logprobs.length > 0 && { logprobsResult: logprobsResult(rest.logprobs) }),
  };
}
