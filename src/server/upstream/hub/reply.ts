// One generated reply in a vendor-neutral form, as chunks and whole: upstream dialects decode into it, client formats render from it. A
// whole reply is the same chunks folded, so that plain and streamed answers cannot differ. Pure.
import type { JsonRecord } from "#server/upstream/json/values.ts";
import type { HubThought, HubToolCall } from "./request.ts";

export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter";

/**
 * A chunk of a reply. `index` is the answer it belongs to (0 unless n > 1). Tool chunks identify their call by `at`, counted from 0 in
 * each answer; the first chunk of a call has its id and name.
 */
export type HubChunk =
  | {
      readonly kind: "head";
      readonly id: string | undefined;
      readonly model?: string | undefined;
      readonly created?: number | undefined;
    }
  | { readonly kind: "text"; readonly index: number; readonly text: string }
  | { readonly kind: "refusal"; readonly index: number; readonly text: string }
  | { readonly kind: "thought"; readonly index: number; readonly text: string }
  /** Ends the open thought, with its signature. */
  | { readonly kind: "signature"; readonly index: number; readonly signature: string }
  /** A whole thought that only its vendor can read. */
  | { readonly kind: "redacted"; readonly index: number; readonly data: string }
  | {
      readonly kind: "tool";
      readonly index: number;
      readonly at: number;
      readonly id?: string | undefined;
      readonly name?: string | undefined;
      /** A part of the JSON text; "" = none yet. */
      readonly arguments: string;
      readonly isCustom?: boolean | undefined;
      readonly signature?: string | undefined;
    }
  | { readonly kind: "image"; readonly index: number; readonly mime: string; readonly base64: string }
  | { readonly kind: "audio"; readonly index: number; readonly value: JsonRecord }
  /** OpenAI's annotation object, e.g. `url_citation`. */
  | { readonly kind: "annotation"; readonly index: number; readonly annotation: JsonRecord }
  /** OpenAI's `logprobs.content` items. */
  | { readonly kind: "logprobs"; readonly index: number; readonly content: readonly unknown[] }
  | {
      readonly kind: "finish";
      readonly index: number;
      readonly reason: FinishReason;
      /** The stop sequence that matched, where the upstream reports it. */
      readonly stopSequence?: string | undefined;
    }
  /** All usage reported so far, in OpenAI's shape. The last one counts. */
  | { readonly kind: "usage"; readonly usage: JsonRecord }
  /** The upstream marked the end of the stream. */
  | { readonly kind: "end" };

export interface HubAnswer {
  readonly index: number;
  text: string;
  refusal: string;
  readonly thoughts: HubThought[];
  readonly toolCalls: HubToolCall[];
  readonly images: { readonly mime: string; readonly base64: string }[];
  audio: JsonRecord | undefined;
  readonly annotations: JsonRecord[];
  readonly logprobs: unknown[];
  finish: FinishReason | undefined;
  stopSequence: string | undefined;
}

export interface HubReply {
  readonly id: string | undefined;
  readonly model: string | undefined;
  readonly created: number | undefined;
  /** At least one. */
  readonly answers: readonly HubAnswer[];
  readonly usage: JsonRecord | undefined;
}

/** Folds the chunks of a reply, which may arrive in any number of calls of `add`. */
export class ReplyFold {
  #head: { id: string | undefined; model?: string | undefined; created?: number | undefined } | undefined;
  #usage: JsonRecord | undefined;
  readonly #answers = new Map<number, HubAnswer>();
  /** Answers whose thought continues with the next chunk. */
  readonly #thinking = new Set<number>();

  add(chunks: readonly HubChunk[]): void {
    for (const chunk of chunks) this.#add(chunk);
  }

  reply(): HubReply {
    const answers = [...this.#answers.values()].sort((one, other) => one.index - other.index);
    return {
      id: this.#head?.id,
      model: this.#head?.model,
      created: this.#head?.created,
      answers: answers.length > 0 ? answers.map(finished) : [newAnswer(0)],
      usage: this.#usage,
    };
  }

  #add(chunk: HubChunk): void {
    switch (chunk.kind) {
      case "head":
        this.#head ??= chunk;
        return;
      case "usage":
        this.#usage = chunk.usage;
        return;
      case "end":
        return;
      default:
        this.#addTo(this.#answer(chunk.index), chunk);
    }
  }

  #answer(index: number): HubAnswer {
    let answer = this.#answers.get(index);
    if (answer === undefined) {
      answer = newAnswer(index);
      this.#answers.set(index, answer);
    }
    return answer;
  }

  #addTo(answer: HubAnswer, chunk: Exclude<HubChunk, { kind: "head" | "usage" | "end" }>): void {
    if (chunk.kind !== "thought" && chunk.kind !== "signature") this.#thinking.delete(answer.index);
    switch (chunk.kind) {
      case "text":
        answer.text += chunk.text;
        return;
      case "refusal":
        answer.refusal += chunk.text;
        return;
      case "thought":
      case "signature":
        this.#think(answer, chunk);
        return;
      case "redacted":
        answer.thoughts.push({ text: "", signature: undefined, redacted: chunk.data });
        return;
      case "tool":
        addToolPiece(answer.toolCalls, chunk);
        return;
      case "image":
        answer.images.push(chunk);
        return;
      case "audio":
        answer.audio = { ...answer.audio, ...chunk.value };
        return;
      case "annotation":
        answer.annotations.push(chunk.annotation);
        return;
      case "logprobs":
        answer.logprobs.push(...chunk.content);
        return;
      case "finish":
        answer.finish = chunk.reason;
        answer.stopSequence = chunk.stopSequence;
        return;
      default:
        throw new Error(`unknown piece ${JSON.stringify(chunk satisfies never)}`);
    }
  }

  #think(answer: HubAnswer, chunk: HubChunk & { kind: "thought" | "signature" }): void {
    const last = this.#thinking.has(answer.index) ? answer.thoughts.pop() : undefined;
    const thought = last ?? { text: "", signature: undefined };
    if (chunk.kind === "thought") {
      answer.thoughts.push({ ...thought, text: thought.text + chunk.text });
      this.#thinking.add(answer.index);
    } else {
      answer.thoughts.push({ ...thought, signature: chunk.signature });
      this.#thinking.delete(answer.index);
    }
  }
}

function newAnswer(index: number): HubAnswer {
  return {
    index,
    text: "",
    refusal: "",
    thoughts: [],
    toolCalls: [],
    images: [],
    audio: undefined,
    annotations: [],
    logprobs: [],
    finish: undefined,
    stopSequence: undefined,
  };
}

/** A function call without any argument text means an empty object (requirements T18.4). */
function finished(answer: HubAnswer): HubAnswer {
  const toolCalls = answer.toolCalls.map((call) =>
    call.arguments === "" && call.isCustom !== true ? { ...call, arguments: "{}" } : call,
  );
  return { ...answer, toolCalls };
}

function addToolPiece(calls: HubToolCall[], piece: HubChunk & { kind: "tool" }): void {
  const known = calls[piece.at];
  calls[piece.at] = {
    id: piece.id ?? known?.id ?? "",
    name: piece.name ?? known?.name ?? "",
    arguments: (known?.arguments ?? "") + piece.arguments,
    isCustom: piece.isCustom ?? known?.isCustom,
    signature: piece.signature ?? known?.signature,
  };
}

/** Folds the chunks of a whole reply. */
export function foldReply(chunks: readonly HubChunk[]): HubReply {
  const fold = new ReplyFold();
  fold.add(chunks);
  return fold.reply();
}
