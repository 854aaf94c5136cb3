// Requests that are longer than the model's context. Vendors say so each in words of their own; clients shorten a conversation and ask
// again only upon those of their own format. Pure.
import type { RelayFault } from "./fault.ts";

/** OpenAI's code of it (vendors/openai-errors). */
export const OVERFLOW = "context_length_exceeded";

const STATUSES: ReadonlySet<number> = new Set([400, 413]);

/** What vendors say, by the words that do not vary. */
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

/** The same fault; an overflow of whatever vendor under OpenAI's code. For answers in another format than the client's. */
export function namedOverflow(fault: RelayFault): RelayFault {
  return STATUSES.has(fault.upstreamStatus) && WORDS.test(fault.publicMessage)
    ? { ...fault, code: OVERFLOW, type: "invalid_request_error" }
    : fault;
}

/** How a format begins to tell of an overflow, and the words by which its clients know one. */
interface OverflowWords {
  readonly begin: string;
  readonly known: RegExp;
}

/** Claude Code looks at the beginning. */
export const ANTHROPIC_OVERFLOW: OverflowWords = {
  begin: "prompt is too long",
  known: /prompt is too long/i,
};

/** Google's clients have nothing but these words (Agno, PydanticAI). */
export const GEMINI_OVERFLOW: OverflowWords = {
  begin: "The input token count exceeds the maximum number of tokens allowed",
  known: /input token count/i,
};

/** A fault's message; an overflow in the words of the client's format: by them it knows what to compact. */
export function overflowMessage(
  { code, publicMessage }: RelayFault,
  { begin, known }: OverflowWords,
): string {
  const isTold = code !== OVERFLOW || known.test(publicMessage);
  return isTold ? publicMessage : `${begin}: ${publicMessage}`;
}
