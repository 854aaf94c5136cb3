// A streamed reply as Anthropic's events (vendors/claude-events, requirements T18.4). Blocks never overlap: chunks that arrive while a
// tool's arguments are incomplete wait in a queue of their own.

import type { FinishReason, HubChunk } from "#server/upstream/hub/reply.ts";
import { roughTokens } from "#server/upstream/hub/size.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";
import type { RenderContext, StreamRenderer } from "./client.ts";
import { anthropicUsage, citationOf, imageText, messageId, stopOf, toolId } from "./messages-reply.ts";

type ToolPiece = HubChunk & { readonly kind: "tool" };
/** Chunks outside of calls. */
type Spoken = HubChunk & {
  readonly kind: "text" | "refusal" | "thought" | "signature" | "redacted" | "image" | "annotation";
};

/** The chunks of one call. */
interface CallLane {
  readonly at: number;
  readonly pieces: ToolPiece[];
  isNamed: boolean;
}

/** A waiting block: a call, or the content between calls. */
type Lane = CallLane | { readonly at: undefined; readonly said: Spoken[] };

interface OpenCall {
  readonly at: number;
  readonly end: ArgumentsEnd;
}

export class MessagesRenderer implements StreamRenderer {
  readonly #context: RenderContext;
  #isStarted = false;
  #open: "none" | "text" | "thinking" | OpenCall = "none";
  /** Index of the next block; the open one is one less. */
  #next = 0;
  #lanes: Lane[] = [];
  /** The waiting calls. Streams may have very many that never complete. */
  readonly #waiting = new Map<number, CallLane>();
  readonly #calls = new Set<number>();
  #text = "";
  #usage: JsonRecord | undefined;
  #finish: (HubChunk & { kind: "finish" }) | undefined;

  constructor(context: RenderContext) {
    this.#context = context;
  }

  take(chunks: readonly HubChunk[]): string {
    let out = "";
    for (const chunk of chunks) if (chunk.kind === "usage") this.#usage = chunk.usage;
    for (const chunk of chunks) {
      if (!this.#isStarted) out += this.#start(chunk.kind === "head" ? chunk.id : undefined);
      out += this.#chunk(chunk);
    }
    return out;
  }

  end(): string {
    const finish: FinishReason | undefined = this.#finish?.reason;
    const delta = stopOf(finish, this.#finish?.stopSequence, this.#calls.size > 0);
    return (
      (this.#isStarted ? "" : this.#start(undefined)) +
      this.#flush() +
      event("message_delta", { delta, usage: anthropicUsage(this.#usage) }) +
      event("message_stop", {})
    );
  }

  /** The reported input usage, else an estimate; the exact usage follows in message_delta. Source: requirements T18.4. */
  #start(id: string | undefined): string {
    this.#isStarted = true;
    const { model, seed, request } = this.#context;
    const told = this.#usage ?? { prompt_tokens: roughTokens(request) };
    const usage = { ...anthropicUsage(told), output_tokens: 0 };
    const about = { id: messageId(id, seed), type: "message", role: "assistant", model, content: [] };
    return event("message_start", { message: { ...about, stop_reason: null, stop_sequence: null, usage } });
  }

  #chunk(chunk: HubChunk): string {
    switch (chunk.kind) {
      case "tool":
        return chunk.index === 0 ? this.#tool(chunk) : "";
      case "text":
      case "refusal":
      case "thought":
      case "signature":
      case "redacted":
      case "image":
      case "annotation":
        return chunk.index === 0 ? this.#speak(chunk) : "";
      case "finish":
        if (chunk.index !== 0) return "";
        this.#finish = chunk;
        return this.#flush();
      case "head":
      case "usage":
      case "end":
      // Neither can be asked for in this format.
      case "audio":
      case "logprobs":
        return "";
      default:
        throw new Error(`unknown piece ${JSON.stringify(chunk satisfies never)}`);
    }
  }

  #speak(chunk: Spoken): string {
    const before = this.#leaveCall();
    if (before === undefined || this.#lanes.length > 0) {
      const last = this.#lanes.at(-1);
      if (last?.at === undefined && last !== undefined) last.said.push(chunk);
      else this.#lanes.push({ at: undefined, said: [chunk] });
      return before ?? "";
    }
    return before + this.#say(chunk);
  }

  #tool(piece: ToolPiece): string {
    const open = this.#open;
    if (typeof open === "object" && open.at === piece.at)
      return this.#argument(open, piece.arguments) + this.#drain();
    // A late chunk of a complete call adds nothing.
    if (this.#calls.has(piece.at)) return "";
    this.#wait(piece);
    return this.#drain();
  }

  #wait(piece: ToolPiece): void {
    let lane = this.#waiting.get(piece.at);
    if (lane === undefined) {
      lane = { at: piece.at, pieces: [], isNamed: false };
      this.#waiting.set(piece.at, lane);
      this.#lanes.push(lane);
    }
    lane.pieces.push(piece);
    lane.isNamed ||= piece.name !== undefined && piece.name !== "";
  }

  /** Closes a call whose arguments are complete; undefined = they are incomplete. */
  #leaveCall(): string | undefined {
    if (typeof this.#open !== "object") return "";
    return this.#open.end.isWhole ? this.#close() : undefined;
  }

  /** Emits waiting chunks, as far as blocks allow. */
  #drain(): string {
    let out = "";
    for (;;) {
      const lane = this.#lanes[0];
      // A call is opened when it is known by name.
      if (lane === undefined || (lane.at !== undefined && !lane.isNamed)) return out;
      const before = this.#leaveCall();
      if (before === undefined) return out;
      this.#lanes.shift();
      out += before + this.#lane(lane);
    }
  }

  #lane(lane: Lane): string {
    if (lane.at === undefined) return lane.said.map((chunk) => this.#say(chunk)).join("");
    this.#calls.add(lane.at);
    this.#waiting.delete(lane.at);
    const id = lane.pieces.find((piece) => piece.id)?.id ?? toolId(this.#context.seed, lane.at);
    const name = lane.pieces.find((piece) => piece.name)?.name ?? "";
    const before = this.#close() + this.#openBlock({ type: "tool_use", id, name, input: {} });
    const open: OpenCall = { at: lane.at, end: new ArgumentsEnd() };
    this.#open = open;
    return before + lane.pieces.map((piece) => this.#argument(open, piece.arguments)).join("");
  }

  /** The end of the stream: incomplete calls are emitted unchanged. */
  #flush(): string {
    let out = this.#drain();
    for (const lane of this.#lanes.splice(0)) out += this.#close() + this.#lane(lane);
    return out + this.#close();
  }

  #argument(open: OpenCall, text: string): string {
    if (text === "") return "";
    open.end.read(text);
    return this.#delta(`{"type":"input_json_delta","partial_json":${JSON.stringify(text)}}`);
  }

  #say(chunk: Spoken): string {
    switch (chunk.kind) {
      case "text":
      case "refusal":
        return this.#sayText(chunk.text);
      case "image":
        return this.#sayText(imageText(chunk));
      case "thought":
        return chunk.text === ""
          ? ""
          : this.#thinking() +
              this.#delta(`{"type":"thinking_delta","thinking":${JSON.stringify(chunk.text)}}`);
      case "signature": {
        const signature = JSON.stringify(chunk.signature);
        const before = this.#thinking();
        return before + this.#delta(`{"type":"signature_delta","signature":${signature}}`) + this.#close();
      }
      case "redacted":
        return (
          this.#close() + this.#openBlock({ type: "redacted_thinking", data: chunk.data }) + this.#stop()
        );
      case "annotation": {
        const citation = citationOf(chunk.annotation, this.#text);
        if (citation === undefined) return "";
        return this.#textBlock() + this.#delta(JSON.stringify({ type: "citations_delta", citation }));
      }
      default:
        throw new Error(`unknown piece ${JSON.stringify(chunk satisfies never)}`);
    }
  }

  #sayText(text: string): string {
    if (text === "") return "";
    this.#text += text;
    return this.#textBlock() + this.#delta(`{"type":"text_delta","text":${JSON.stringify(text)}}`);
  }

  #textBlock(): string {
    if (this.#open === "text") return "";
    const out = this.#close() + this.#openBlock({ type: "text", text: "" });
    this.#open = "text";
    return out;
  }

  #thinking(): string {
    if (this.#open === "thinking") return "";
    const out = this.#close() + this.#openBlock({ type: "thinking", thinking: "", signature: "" });
    this.#open = "thinking";
    return out;
  }

  #openBlock(block: JsonRecord): string {
    const index = this.#next;
    this.#next += 1;
    return event("content_block_start", { index, content_block: block });
  }

  #delta(json: string): string {
    return `event: content_block_delta\ndata: {"type":"content_block_delta","index":${this.#next - 1},"delta":${json}}\n\n`;
  }

  #close(): string {
    return this.#open === "none" ? "" : this.#stop();
  }

  #stop(): string {
    this.#open = "none";
    return event("content_block_stop", { index: this.#next - 1 });
  }
}

function event(type: string, members: JsonRecord): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Detects the end of a JSON object that arrives in pieces. */
class ArgumentsEnd {
  isWhole = false;
  #depth = 0;
  #inString = false;
  #isEscaped = false;

  read(piece: string): void {
    for (let at = 0; at < piece.length; at += 1) this.#sign(piece.charCodeAt(at));
  }

  #sign(sign: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (this.#inString && sign === BACKSLASH) this.#isEscaped = true;
    else if (sign === QUOTE) this.#inString = !this.#inString;
    else if (this.#inString) return;
    else if (sign === 0x7b || sign === 0x5b) this.#depth += 1;
    else if (sign === 0x7d || sign === 0x5d) {
      this.#depth -= 1;
      this.isWhole = this.#depth === 0;
    }
  }
}
