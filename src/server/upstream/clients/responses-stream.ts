// The event stream of OpenAI Responses (providers 17.3.4): items open, grow and close; the last event repeats them all. Calls may grow
// side by side, thoughts and the message close when something else begins.
import type { JsonRecord } from "#server/upstream/hub.ts";
import type { FinishReason, HubChunk } from "#server/upstream/hub-reply.ts";
import type { HubToolCall } from "#server/upstream/hub-request.ts";
import type { RenderContext, StreamRenderer } from "./client.ts";
import { itemIds, messageItem, openResponse, responseOf, textPart, thoughtItem } from "./responses-reply.ts";
import { isStreamed, itemOfCall, type ToolBook, toolBook } from "./responses-tools.ts";

/** The thought or message that is being written. */
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
    };

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
    if (this.#count === 0) out += this.#openMessage() + this.#close();
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
      case "finish":
        this.#finish = chunk.reason;
        return "";
      case "usage":
        this.#usage = chunk.usage;
        return "";
      default:
        // Pictures, sound and log probabilities have no place in this translation; requests for them were refused.
        return "";
    }
  }

  #thought(text: string): string {
    const goesOn = this.#open?.kind === "thought" && this.#open.signature === undefined;
    const out = goesOn ? "" : this.#close() + this.#openThought();
    const open = this.#open;
    if (open?.kind !== "thought") return out;
    open.text += text;
    return (
      out + this.#event("response.reasoning_summary_text.delta", { ...this.#summary(open), delta: text })
    );
  }

  #openThought(): string {
    const at = this.#count;
    this.#count += 1;
    const id = itemIds.thought(this.#context.seed, at);
    const open: Open = { kind: "thought", at, id, text: "", signature: undefined };
    this.#open = open;
    const part = { type: "summary_text", text: "" };
    return (
      this.#added(at, thoughtItem(open, id)) +
      this.#event("response.reasoning_summary_part.added", { ...this.#summary(open), part })
    );
  }

  #summary({ id, at }: Open): JsonRecord {
    return { item_id: id, output_index: at, summary_index: 0 };
  }

  #sign(signature: string): string {
    if (this.#open?.kind !== "thought") return "";
    this.#open.signature = signature;
    return "";
  }

  #text(text: string): string {
    let out = "";
    if (this.#open?.kind !== "message") out = this.#close() + this.#openMessage();
    const open = this.#open;
    if (open?.kind !== "message") return out;
    open.text += text;
    return (
      out + this.#event("response.output_text.delta", { ...this.#part(open, 0), delta: text, logprobs: [] })
    );
  }

  #openMessage(): string {
    const at = this.#count;
    this.#count += 1;
    const id = itemIds.message(this.#context.seed, at);
    const open: Open = { kind: "message", at, id, text: "", refusal: "", annotations: [] };
    this.#open = open;
    const item = { id, type: "message", status: "in_progress", role: "assistant", content: [] };
    return (
      this.#added(at, item) +
      this.#event("response.content_part.added", { ...this.#part(open, 0), part: textPart("", []) })
    );
  }

  #part({ id, at }: Open, index: number): JsonRecord {
    return { item_id: id, output_index: at, content_index: index };
  }

  #refusal(text: string): string {
    let out = "";
    if (this.#open?.kind !== "message") out = this.#close() + this.#openMessage();
    const open = this.#open;
    if (open?.kind !== "message") return out;
    if (open.refusal === "") {
      const part = { type: "refusal", refusal: "" };
      out += this.#event("response.content_part.added", { ...this.#part(open, 1), part });
    }
    open.refusal += text;
    return out + this.#event("response.refusal.delta", { ...this.#part(open, 1), delta: text });
  }

  #annotate(annotation: JsonRecord): string {
    const open = this.#open;
    if (open?.kind !== "message") return "";
    const index = open.annotations.length;
    open.annotations.push(annotation);
    return this.#event("response.output_text.annotation.added", {
      ...this.#part(open, 0),
      annotation_index: index,
      annotation,
    });
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
      // What a built-in tool is to do is shown whole.
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

  /** Ends the thought or message that is open. */
  #close(): string {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined) return "";
    if (open.kind === "thought") {
      const { text } = open;
      const item = thoughtItem(open, open.id);
      this.#items[open.at] = item;
      const where = this.#summary(open);
      return (
        this.#event("response.reasoning_summary_text.done", { ...where, text }) +
        this.#event("response.reasoning_summary_part.done", {
          ...where,
          part: { type: "summary_text", text },
        }) +
        this.#done(open.at, item)
      );
    }
    const { text, refusal, annotations } = open;
    const item = messageItem(open, open.id);
    this.#items[open.at] = item;
    const where = this.#part(open, 0);
    let out =
      this.#event("response.output_text.done", { ...where, text, logprobs: [] }) +
      this.#event("response.content_part.done", { ...where, part: textPart(text, annotations) });
    if (refusal !== "") out += this.#event("response.refusal.done", { ...this.#part(open, 1), refusal });
    out += this.#done(open.at, item);
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
