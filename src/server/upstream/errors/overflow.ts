// Errors about requests that exceed the model's context. Each vendor has its own message; clients shorten a conversation and retry only
// after the message of their own format. Pure.
import type { RelayFault } from "./fault.ts";

/** OpenAI's code of an overflow (vendors/openai-errors). */
export const OVERFLOW = "context_length_exceeded";

const STATUSES: ReadonlySet<number> = new Set([400, 413]);

/** The constant parts of vendors' messages. */
const WORDS = new RegExp(
  [
    OVERFLOW,
    "prompt (is )?too long", // Anthropic, Ollama
    "input is too long", // Bedrock
    "exceeds? (the )?context (window|limit)", // OpenAI's Responses; Anthropic, with max_tokens counted in
    "input token count.{0,30} exceeds the maximum", // Gemini
    "maximum (context|prompt|model) length", // OpenAI and what is compatible with it, xAI, Mistral
    "reduce the length of the (messages|prompt)", // Groq
    "exceeded model token limit", // Moonshot
    "range of input length", // Ali
    "context window exceeds limit", // MiniMax
    "prompt ?超长", // Zhipu
    "(longer|greater) than the (model's )?context length", // Together AI, LM Studio
    "exceeds the available context size", // llama.cpp
    "too many tokens", // Cohere
  ].join("|"),
  "i",
);

/** The same fault; an overflow of any vendor gets OpenAI's code. For answers in another format than the client's. */
export function namedOverflow(fault: RelayFault): RelayFault {
  return STATUSES.has(fault.upstreamStatus) && WORDS.test(fault.publicMessage)
    ? { ...fault, code: OVERFLOW, type: "invalid_request_error" }
    : fault;
}

/** The prefix of a format's overflow message, and the text by which its clients recognize one. */
interface OverflowWords {
  readonly begin: string;
  readonly known: RegExp;
}

/** Claude Code checks the beginning. */
export const ANTHROPIC_OVERFLOW: OverflowWords = {
  begin: "prompt is too long",
  known: /prompt is too long/i,
};

/** Google's clients recognize only this text (Agno, PydanticAI). */
export const GEMINI_OVERFLOW: OverflowWords = {
  begin: "The input token count exceeds the maximum number of tokens allowed",
  known: /input token count/i,
};

/** A fault's message; for an overflow in the form of the client's format, so that the client compacts its conversation. */
export function overflowMessage(
  { code, publicMessage }: RelayFault,
  { begin, known }: OverflowWords,
): string {
  const isTold = code !== OVERFLOW || known.test(publicMessage);
  return isTold ? publicMessage : `${begin}: ${publicMessage}`;
}
