// OpenAI's old completions as a client format (vendors/openai-completions), for wires that only chat: the prompt becomes one user message.

import type { HubChunk, HubReply } from "#server/upstream/hub/reply.ts";
import { type HubRequest, Unmappable } from "#server/upstream/hub/request.ts";
import type { JsonRecord } from "#server/upstream/json/values.ts";
import {
  type ClientDialect,
  numberIn,
  type ParseContext,
  type RenderContext,
  type StreamRenderer,
  textIn,
  textsIn,
} from "./client.ts";

/** Members that are read, or that do not affect the answer. */
const KNOWN = new Set(
  "model prompt stream stream_options max_tokens temperature top_p stop seed presence_penalty frequency_penalty n user logit_bias suffix best_of echo logprobs".split(
    " ",
  ),
);

export const completions: ClientDialect = {
  parse(body: JsonRecord, { model, isStream }: ParseContext): HubRequest {
    return {
      model,
      isStream,
      messages: [{ role: "user", parts: [{ kind: "text", text: promptOf(body) }] }],
      maxTokens: numberIn(body, "max_tokens"),
      temperature: numberIn(body, "temperature"),
      topP: numberIn(body, "top_p"),
      stop: textsIn(body, "stop"),
      seed: numberIn(body, "seed"),
      presencePenalty: numberIn(body, "presence_penalty"),
      frequencyPenalty: numberIn(body, "frequency_penalty"),
      n: numberIn(body, "n"),
      user: textIn(body, "user"),
      dropped: Object.keys(body).filter((name) => !KNOWN.has(name) && body[name] !== null),
      ...(body["logit_bias"] !== undefined && { extras: { logit_bias: body["logit_bias"] } }),
    };
  },

  render(reply: HubReply, context: RenderContext): JsonRecord {
    return {
      id: `cmpl-${context.seed}`,
      object: "text_completion",
      created: reply.created ?? context.created,
      model: context.model,
      choices: reply.answers.map(({ index, text, finish }) => ({
        text,
        index,
        logprobs: null,
        finish_reason: reasonOf(finish),
      })),
      ...(reply.usage !== undefined && { usage: reply.usage }),
    };
  },

  renderer: (context) => new CompletionsRenderer(context),
};

/** This format cannot express tool calls. */
function reasonOf(reason: string | undefined): string {
  return reason === undefined || reason === "tool_calls" ? "stop" : reason;
}

/** Throws: Unmappable for features of true completions models. */
function promptOf(body: JsonRecord): string {
  for (const name of ["suffix", "best_of", "echo", "logprobs"]) {
    const value = body[name];
    const isSaid = value !== undefined && value !== null && value !== false && value !== "";
    // Any number of log probabilities requests them, even 0 or 1.
    if (isSaid && !(name === "best_of" && value === 1))
      throw new Unmappable(name, "该渠道没有补全接口，仅支持简单的 prompt");
  }
  const { prompt } = body;
  if (typeof prompt === "string") return prompt;
  const [only] = Array.isArray(prompt) && prompt.length === 1 ? prompt : [];
  if (typeof only !== "string") throw new Unmappable("prompt", "该渠道只支持单个文本 prompt");
  return only;
}

class CompletionsRenderer implements StreamRenderer {
  readonly #context: RenderContext;
  readonly #finished = new Set<number>();
  #usage: JsonRecord | undefined;

  constructor(context: RenderContext) {
    this.#context = context;
  }

  take(chunks: readonly HubChunk[]): string {
    let out = "";
    for (const chunk of chunks) {
      if (chunk.kind === "text") out += this.#chunk(chunk.index, chunk.text, null);
      else if (chunk.kind === "finish") out += this.#finish(chunk.index, chunk.reason);
      else if (chunk.kind === "usage") this.#usage = chunk.usage;
    }
    return out;
  }

  end(): string {
    let out = this.#finished.size === 0 ? this.#finish(0, "stop") : "";
    if (this.#context.wantsUsage && this.#usage !== undefined)
      out += this.#event({ choices: [], usage: this.#usage });
    return `${out}data: [DONE]\n\n`;
  }

  #finish(index: number, reason: string): string {
    this.#finished.add(index);
    return this.#chunk(index, "", reasonOf(reason));
  }

  #chunk(index: number, text: string, finishReason: string | null): string {
    return this.#event({ choices: [{ text, index, logprobs: null, finish_reason: finishReason }] });
  }

  #event(members: JsonRecord): string {
    const { seed, created, model } = this.#context;
    const head = { id: `cmpl-${seed}`, object: "text_completion", created, model };
    return `data: ${JSON.stringify({ ...head, ...members })}\n\n`;
  }
}
