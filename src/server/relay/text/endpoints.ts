// What there is to know of each endpoint that carries text, beside how vendors speak it. How its prompt is counted stands in
// upstream/tokens/prompt.ts.
import type { EndpointName, TextEndpoint } from "#contract/providers.ts";

interface TextEndpointFacts {
  /** The member of a request without which there is nothing to answer. */
  readonly substance: string;
  /** It is a list, which must not be empty. */
  readonly isList?: true;
  /** It generates nothing: only the input is charged, and no answer is streamed. */
  readonly isInputOnly?: true;
  /** Its prompt can be given as token numbers. */
  readonly takesNumbers?: true;
  /** Its question is read again with each of its documents. */
  readonly isQuestionRepeated?: true;
  /**
   * Where its answers tell what they used, for upstreams that leave it out: the member that identifies an answer, and the one with its
   * tokens. As OpenAI's embeddings, as Jina's rerank (vendors/rerank).
   */
  readonly usage?: { readonly result: string; readonly tokens: "prompt_tokens" | "total_tokens" };
}

/** What carries no text has no line. */
type Table = Readonly<Record<TextEndpoint, TextEndpointFacts>> &
  Readonly<Partial<Record<EndpointName, TextEndpointFacts>>>;

export const TEXT_ENDPOINTS: Table = {
  chat: { substance: "messages", isList: true },
  completions: { substance: "prompt", takesNumbers: true },
  edits: { substance: "instruction" },
  embeddings: {
    substance: "input",
    isInputOnly: true,
    takesNumbers: true,
    usage: { result: "data", tokens: "prompt_tokens" },
  },
  messages: { substance: "messages", isList: true },
  generate: { substance: "contents" },
  responses: { substance: "input" },
  moderation: { substance: "input", isInputOnly: true },
  rerank: {
    substance: "documents",
    isList: true,
    isInputOnly: true,
    isQuestionRepeated: true,
    usage: { result: "results", tokens: "total_tokens" },
  },
};
