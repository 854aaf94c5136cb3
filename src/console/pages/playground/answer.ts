// Reads the answer of a relayed chat call: pieces of text as they come, then what was used. Knows nothing of the page.
import { z } from "zod";
import { ApiFault, messages } from "#console/base/faults.ts";

export interface Usage {
  readonly prompt: number;
  readonly completion: number;
}

export type AnswerPart =
  | { readonly kind: "text"; readonly text: string }
  /** What a reasoning model thinks before it answers. */
  | { readonly kind: "thought"; readonly text: string }
  | { readonly kind: "usage"; readonly usage: Usage };

/** Only what is read here; upstreams add much more. */
const Chunk = z.looseObject({
  choices: z
    .array(
      z.looseObject({
        delta: z
          .looseObject({ content: z.string().nullish(), reasoning_content: z.string().nullish() })
          .nullish(),
      }),
    )
    .nullish(),
  usage: z.looseObject({ prompt_tokens: z.number(), completion_tokens: z.number() }).nullish(),
  error: z.looseObject({ message: z.string().nullish() }).nullish(),
});

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Half a line, or a comment of a proxy: nothing to read.
    return undefined;
  }
}

/** What one event of the stream says. Throws: ApiFault when it says that the call failed. */
export function partsOf(data: string): readonly AnswerPart[] {
  const chunk = Chunk.safeParse(parse(data)).data;
  if (chunk === undefined) return [];
  if (chunk.error) throw new ApiFault("refused", chunk.error.message || messages.failed);
  const delta = chunk.choices?.[0]?.delta;
  const parts: AnswerPart[] = [];
  if (delta?.reasoning_content) parts.push({ kind: "thought", text: delta.reasoning_content });
  if (delta?.content) parts.push({ kind: "text", text: delta.content });
  if (chunk.usage) {
    const { prompt_tokens: prompt, completion_tokens: completion } = chunk.usage;
    parts.push({ kind: "usage", usage: { prompt, completion } });
  }
  return parts;
}

/** Splits a text into the data of whole events and what is left over. */
export function splitEvents(text: string): { readonly events: readonly string[]; readonly rest: string } {
  const lines = text.split(/\r?\n/);
  const rest = lines.pop() ?? "";
  const events = lines
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice("data:".length).trim());
  return { events: events.filter((data) => data !== "" && data !== "[DONE]"), rest };
}

/** The sentence of a refusal in the form of the relay, `{"error":{"message":…}}`. */
async function refusalOf(response: Response): Promise<ApiFault> {
  const said = Chunk.safeParse(parse(await response.text())).data?.error?.message;
  return new ApiFault("refused", said || `HTTP ${response.status}`, { status: 0 });
}

/** The parts of a streamed answer. Throws: ApiFault when the relay refuses or the stream reports a failure. */
export async function* readAnswer(response: Response): AsyncGenerator<AnswerPart> {
  if (!response.ok || response.body === null) throw await refusalOf(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let pending = "";
  for (;;) {
    const { done, value } = await reader.read();
    const { events, rest } = splitEvents(done ? `${pending}\n` : pending + value);
    pending = rest;
    for (const event of events) yield* partsOf(event);
    if (done) return;
  }
}
