// The event stream of OpenAI Responses (vendors/responses-events): items open, grow and close; the last event repeats them all. Calls may
// grow in parallel; thoughts and the message close when another item begins.

import type { FinishReason, HubChunk } from "#server/upstream/hub/reply.ts";
import type { HubToolCall } from "#server/upstream/hub/request.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";
import type { RenderContext, StreamRenderer } from "./client.ts";
import {
  flatAnnotation,
  itemIds,
  messageItem,
  openResponse,
  responseOf,
  textPart,
  thoughtItem,
} from "./responses-reply.ts";
import { isStreamed, itemOfCall, type ToolBook, toolBook } from "./responses-tools.ts";

/** The open thought or message. */
type Open =
  | {
      readonly kind: "thought";
      readonly at: number;
      readonly id: string;
      text: string;
      signature: string | undefined;
    }
  | {
      readonly kind: "message";
      readonly at: number;
      readonly id: string;
      text: string;
      refusal: string;
      readonly annotations: JsonRecord[];
      readonly logprobs: unknown[];
      /** Parts that have begun. */
      readonly parts: ("text" | "refusal")[];
    };
type Message = Open & { kind: "message" };
type Thought = Open & { kind: "thought" };

interface OpenCall {
  readonly at: number;
  readonly id: string;
  call: HubToolCall;
}

export class ResponsesRenderer implements StreamRenderer {
  readonly #context: RenderContext;
  readonly #book: ToolBook;
  #sequence = 0;
  #isOpen = false;
  /** Items by position; those that are closed. */
  readonly #items: JsonRecord[] = [];
  #count = 0;
  #open: Open | undefined;
  readonly #calls = new Map<number, OpenCall>();
  #finish: FinishReason | undefined;
  #usage: JsonRecord | undefined;

  constructor(context: RenderContext) {
    this.#context = context;
    this.#book = toolBook(context.body);
  }

  take(chunks: readonly HubChunk[]): string {
    let out = this.#begin();
    for (const chunk of chunks) out += this.#take(chunk);
    return out;
  }

  end(): string {
    let out = this.#begin() + this.#close();
    if (this.#count === 0) out += this.#messageToWrite()[0] + this.#close();
    for (const call of this.#calls.values()) out += this.#closeCall(call);
    const outcome = { output: this.#items, finish: this.#finish, usage: this.#usage };
    const response = responseOf(this.#context, outcome);
    const name = response["status"] === "completed" ? "response.completed" : "response.incomplete";
    return out + this.#event(name, { response });
  }

  #begin(): string {
    if (this.#isOpen) return "";
    this.#isOpen = true;
    const response = openResponse(this.#context);
    return this.#event("response.created", { response }) + this.#event("response.in_progress", { response });
  }

  #take(chunk: HubChunk): string {
    switch (chunk.kind) {
      case "text":
        return this.#text(chunk.text);
      case "thought":
        return this.#thought(chunk.text);
      case "tool":
        return this.#tool(chunk);
      case "refusal":
        return this.#refusal(chunk.text);
      case "signature":
        return this.#sign(chunk.signature);
      case "annotation":
        return this.#annotate(chunk.annotation);
      case "logprobs":
        if (this.#open?.kind === "message") this.#open.logprobs.push(...chunk.content);
        return "";
      case "finish":
        this.#finish = chunk.reason;
        return "";
      case "usage":
        this.#usage = chunk.usage;
        return "";
      default:
        // Images and audio are not translated; requests for them were refused.
        return "";
    }
  }

  #thought(text: string): string {
    const [before, open] = this.#thoughtToWrite();
    const where = this.#summary(open);
    const begin =
      open.text === ""
        ? this.#event("response.reasoning_summary_part.added", {
            ...where,
            part: { type: "summary_text", text: "" },
          })
        : "";
    open.text += text;
    return before + begin + this.#event("response.reasoning_summary_text.delta", { ...where, delta: text });
  }

  /** A signature may come without its thought: some models hide their thoughts. */
  #sign(signature: string): string {
    const [before, open] = this.#thoughtToWrite();
    open.signature = signature;
    return before;
  }

  /** The open thought; one with a signature is complete. */
  #thoughtToWrite(): [before: string, open: Thought] {
    if (this.#open?.kind === "thought" && this.#open.signature === undefined) return ["", this.#open];
    const before = this.#close();
    const at = this.#count;
    this.#count += 1;
    const id = itemIds.thought(this.#context.seed, at);
    const open: Thought = { kind: "thought", at, id, text: "", signature: undefined };
    this.#open = open;
    return [before + this.#added(at, thoughtItem(open, id)), open];
  }

  #summary({ id, at }: Open): JsonRecord {
    return { item_id: id, output_index: at, summary_index: 0 };
  }

  #text(text: string): string {
    const [before, open] = this.#messageToWrite();
    const begin = this.#beginPart(open, "text");
    open.text += text;
    const delta = { ...this.#part(open, "text"), delta: text, logprobs: [] };
    return before + begin + this.#event("response.output_text.delta", delta);
  }

  #refusal(text: string): string {
    const [before, open] = this.#messageToWrite();
    const begin = this.#beginPart(open, "refusal");
    open.refusal += text;
    const delta = { ...this.#part(open, "refusal"), delta: text };
    return before + begin + this.#event("response.refusal.delta", delta);
  }

  #messageToWrite(): [before: string, open: Message] {
    if (this.#open?.kind === "message") return ["", this.#open];
    const before = this.#close();
    const at = this.#count;
    this.#count += 1;
    const id = itemIds.message(this.#context.seed, at);
    const open: Message = {
      kind: "message",
      at,
      id,
      text: "",
      refusal: "",
      annotations: [],
      logprobs: [],
      parts: [],
    };
    this.#open = open;
    const item = { id, type: "message", status: "in_progress", role: "assistant", content: [] };
    return [before + this.#added(at, item), open];
  }

  #beginPart(open: Message, kind: "text" | "refusal"): string {
    if (open.parts.includes(kind)) return "";
    open.parts.push(kind);
    const part = kind === "text" ? textPart("", [], []) : { type: "refusal", refusal: "" };
    return this.#event("response.content_part.added", { ...this.#part(open, kind), part });
  }

  #part({ id, at, parts }: Message, kind: "text" | "refusal"): JsonRecord {
    return { item_id: id, output_index: at, content_index: parts.indexOf(kind) };
  }

  #annotate(annotation: JsonRecord): string {
    const open = this.#open;
    if (open?.kind !== "message") return "";
    const index = open.annotations.length;
    open.annotations.push(annotation);
    return (
      this.#beginPart(open, "text") +
      this.#event("response.output_text.annotation.added", {
        ...this.#part(open, "text"),
        annotation_index: index,
        annotation: flatAnnotation(annotation),
      })
    );
  }

  #tool(chunk: HubChunk & { kind: "tool" }): string {
    let out = "";
    let known = this.#calls.get(chunk.at);
    if (known === undefined) {
      out = this.#close();
      const at = this.#count;
      this.#count += 1;
      const { id = "", name = "", isCustom } = chunk;
      const itemId = itemIds.call(this.#context.seed, at, isCustom);
      known = { at, id: itemId, call: { id, name, arguments: "", isCustom } };
      this.#calls.set(chunk.at, known);
      // The arguments of a built-in tool are sent whole.
      if (isStreamed(name, this.#book))
        out += this.#added(at, { ...itemOfCall(known.call, known.id, this.#book), status: "in_progress" });
    }
    known.call = { ...known.call, arguments: known.call.arguments + chunk.arguments };
    if (chunk.arguments === "" || !isStreamed(known.call.name, this.#book)) return out;
    const name = known.call.isCustom === true ? CUSTOM : FUNCTION;
    const where = { item_id: known.id, output_index: known.at };
    return out + this.#event(`${name}.delta`, { ...where, delta: chunk.arguments });
  }

  #closeCall({ at, id, call: grown }: OpenCall): string {
    const isCustom = grown.isCustom === true;
    const call = grown.arguments === "" && !isCustom ? { ...grown, arguments: "{}" } : grown;
    const item = itemOfCall(call, id, this.#book);
    this.#items[at] = item;
    if (!isStreamed(call.name, this.#book))
      return this.#added(at, { ...item, status: "in_progress" }) + this.#done(at, item);
    const where = { item_id: id, output_index: at };
    const whole = isCustom
      ? this.#event(`${CUSTOM}.done`, { ...where, input: call.arguments })
      : this.#event(`${FUNCTION}.done`, { ...where, name: call.name, arguments: call.arguments });
    return whole + this.#done(at, item);
  }

  /** Closes the open thought or message. */
  #close(): string {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined) return "";
    const parts = open.kind === "thought" ? this.#endSummary(open) : this.#endParts(open);
    const item = open.kind === "thought" ? thoughtItem(open, open.id) : messageItem(open, open.id);
    this.#items[open.at] = item;
    return parts + this.#done(open.at, item);
  }

  #endSummary(open: Thought): string {
    const { text } = open;
    if (text === "") return "";
    const where = this.#summary(open);
    const part = { type: "summary_text", text };
    return (
      this.#event("response.reasoning_summary_text.done", { ...where, text }) +
      this.#event("response.reasoning_summary_part.done", { ...where, part })
    );
  }

  #endParts(open: Message): string {
    // An empty message has one empty text part.
    let out = open.parts.length === 0 ? this.#beginPart(open, "text") : "";
    const { text, refusal, annotations, logprobs, parts } = open;
    for (const kind of parts) {
      const where = this.#part(open, kind);
      const isText = kind === "text";
      const part = isText ? textPart(text, annotations, logprobs) : { type: kind, refusal };
      out += isText
        ? this.#event("response.output_text.done", { ...where, text, logprobs })
        : this.#event("response.refusal.done", { ...where, refusal });
      out += this.#event("response.content_part.done", { ...where, part });
    }
    return out;
  }

  #added(at: number, item: JsonRecord): string {
    return this.#event("response.output_item.added", { output_index: at, item });
  }

  #done(at: number, item: JsonRecord): string {
    return this.#event("response.output_item.done", { output_index: at, item });
  }

  #event(type: string, members: JsonRecord): string {
    const sequence_number = this.#sequence;
    this.#sequence += 1;
    return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number, ...members })}\n\n`;
  }
}

const FUNCTION = "response.function_call_arguments";
const CUSTOM = "response.custom_tool_call_input";
