// Replies to Responses clients: the events of a stream contain what the whole reply contains, item by item and part by part, and OpenAI's
// own answers are read back from both.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { providerOf } from "#contract/providers.ts";
import { responses as wireOfResponses } from "#server/upstream/dialects/responses.ts";
import { foldReply, type HubChunk } from "#server/upstream/hub/reply.ts";
import { dataText, fieldOf, SseReader } from "#server/upstream/hub/sse.ts";
import { asList, asObject, type JsonRecord } from "#server/upstream/json/values.ts";
import { responses } from "./responses.ts";

const context = {
  model: "m",
  seed: "abc",
  created: 1,
  wantsUsage: true,
  isArray: false,
  request: { model: "m", isStream: true, messages: [] },
  body: {},
};
const FINISH: HubChunk = { kind: "finish", index: 0, reason: "stop" };

function eventsOf(chunks: readonly HubChunk[]) {
  const renderer = responses.renderer(context);
  const text = chunks.map((chunk) => renderer.take([chunk])).join("") + renderer.end();
  return new SseReader().push(Buffer.from(text));
}

function streamed(chunks: readonly HubChunk[]): JsonRecord[] {
  return eventsOf(chunks).map((event) => asObject(JSON.parse(dataText(event))) ?? {});
}

function whole(chunks: readonly HubChunk[]): readonly unknown[] {
  return asList(responses.render(foldReply(chunks), context)["output"]);
}

/** The parts of messages from their own closing events, by position. */
function partsDone(events: readonly JsonRecord[]): Map<string, unknown[]> {
  const parts = new Map<string, unknown[]>();
  const added = new Set<string>();
  for (const { type, item_id: id, content_index: at, part } of events) {
    if (type === "response.content_part.added") added.add(`${String(id)} ${String(at)}`);
    if (type !== "response.content_part.done") continue;
    expect(added).toContain(`${String(id)} ${String(at)}`);
    const known = parts.get(String(id)) ?? [];
    known[Number(at)] = part;
    parts.set(String(id), known);
  }
  return parts;
}

const text = fc.string({ minLength: 1, unit: "grapheme" });
const proof = fc.option(fc.string({ minLength: 1 }), { nil: undefined });
const answer = fc.record({
  thoughts: fc.array(fc.record({ text: fc.string(), proof }), { maxLength: 3 }),
  texts: fc.array(text, { maxLength: 3 }),
  refusal: fc.option(text, { nil: undefined }),
  isLogged: fc.boolean(),
  isCited: fc.boolean(),
  calls: fc.array(fc.array(fc.string(), { maxLength: 3 }), { maxLength: 3 }),
});

const LOGPROB = { token: "a", logprob: -1, bytes: [97], top_logprobs: [] };
const PLACE = { url: "https://a.example", title: "A", start_index: 0, end_index: 1 };
const CITATION = { type: "url_citation", url_citation: PLACE } as const;

describe("a reply", () => {
  it("is the same whole and streamed", () => {
    fc.assert(
      fc.property(answer, ({ thoughts, texts, refusal, isLogged, isCited, calls }) => {
        const chunks: HubChunk[] = [
          ...thoughts.flatMap((thought): HubChunk[] => [
            ...(thought.text === "" ? [] : [{ kind: "thought", index: 0, text: thought.text } as const]),
            ...(thought.proof === undefined
              ? []
              : [{ kind: "signature", index: 0, signature: thought.proof } as const]),
          ]),
          ...texts.flatMap((piece): HubChunk[] => [
            { kind: "text", index: 0, text: piece },
            ...(isLogged ? [{ kind: "logprobs", index: 0, content: [LOGPROB] } as const] : []),
          ]),
          ...(isCited && texts.length > 0
            ? [{ kind: "annotation", index: 0, annotation: CITATION } as const]
            : []),
          ...(refusal === undefined ? [] : [{ kind: "refusal", index: 0, text: refusal } as const]),
          ...calls.flatMap((pieces, at): HubChunk[] => [
            { kind: "tool", index: 0, at, id: `c${at}`, name: "f", arguments: "" },
            ...pieces.map((piece) => ({ kind: "tool", index: 0, at, arguments: piece }) as const),
          ]),
          FINISH,
        ];
        const events = streamed(chunks);
        const output = whole(chunks);
        expect(asObject(events.at(-1)?.["response"])?.["output"]).toEqual(output);
        const done = events.filter(({ type }) => type === "response.output_item.done");
        expect(done.map(({ item }) => item)).toEqual(output);
        const messages = output.flatMap((item) => (asObject(item)?.["type"] === "message" ? [item] : []));
        expect([...partsDone(events).values()]).toEqual(messages.map((item) => asObject(item)?.["content"]));
      }),
      { numRuns: 200 },
    );
  });

  it("keeps a signature whose thought was not shown", () => {
    const chunks: HubChunk[] = [
      { kind: "signature", index: 0, signature: "S" },
      { kind: "tool", index: 0, at: 0, id: "c", name: "f", arguments: "{}" },
      FINISH,
    ];
    const proof = { type: "reasoning", summary: [], encrypted_content: "tollgate:S" };
    expect(whole(chunks)[0]).toMatchObject(proof);
    const ends = streamed(chunks).filter(({ type }) => type === "response.output_item.done");
    expect(ends[0]?.["item"]).toMatchObject(proof);
  });

  it("has citations in Responses' format, and the requested log probabilities", () => {
    const chunks: HubChunk[] = [
      { kind: "text", index: 0, text: "a" },
      { kind: "logprobs", index: 0, content: [LOGPROB] },
      { kind: "annotation", index: 0, annotation: CITATION },
      FINISH,
    ];
    const annotation = { type: "url_citation", ...PLACE };
    const part = { type: "output_text", text: "a", annotations: [annotation], logprobs: [LOGPROB] };
    expect(whole(chunks)).toMatchObject([{ content: [part] }]);
    const events = streamed(chunks);
    const named = (name: string) => events.find(({ type }) => type === name);
    expect(named("response.output_text.annotation.added")).toMatchObject({ annotation });
    expect(named("response.output_text.done")).toMatchObject({ logprobs: [LOGPROB] });
  });
});

describe("log probabilities of OpenAI's own answers", () => {
  const decoding = { wire: providerOf(1) ?? expect.fail("no row"), model: "m", seed: "abc" };
  const chunks: HubChunk[] = [
    { kind: "text", index: 0, text: "a" },
    { kind: "logprobs", index: 0, content: [LOGPROB] },
    FINISH,
  ];

  it("are read, whole and streamed", () => {
    const reply = wireOfResponses.decode(responses.render(foldReply(chunks), context), decoding);
    const decoder = wireOfResponses.decoder(decoding);
    const events = eventsOf(chunks).flatMap((event) => {
      const found = decoder.take({ data: dataText(event), field: (name) => fieldOf(event, name) });
      return "kind" in found ? expect.fail(found.message) : found;
    });
    if ("kind" in reply) expect.fail(reply.message);
    for (const found of [reply, events]) expect(foldReply(found).answers[0]?.logprobs).toEqual([LOGPROB]);
  });

  it("are sent once where each chunk has its own", () => {
    const decoder = wireOfResponses.decoder(decoding);
    const at = { output_index: 0, content_index: 0 };
    const content = [{ type: "output_text", text: "a", annotations: [], logprobs: [LOGPROB] }];
    const events = [
      { type: "response.output_text.delta", ...at, delta: "a", logprobs: [{ token: "a", logprob: -1 }] },
      { type: "response.output_item.done", ...at, item: { type: "message", content } },
    ];
    const found = events.flatMap((event) => {
      const pieces = decoder.take({ data: JSON.stringify(event), field: () => "" });
      return "kind" in pieces ? expect.fail(pieces.message) : pieces;
    });
    expect(foldReply(found).answers[0]?.logprobs).toEqual([{ token: "a", logprob: -1, bytes: null }]);
  });
});

describe("what was read from and written to the cache", () => {
  const input = (prompt_tokens_details?: JsonRecord) => {
    const usage = { prompt_tokens: 9, completion_tokens: 3, prompt_tokens_details };
    const reply = responses.render(foldReply([{ kind: "usage", usage }, FINISH]), context);
    return asObject(asObject(reply["usage"])?.["input_tokens_details"]);
  };

  it("is reported even when it is 0: OpenAI's SDK for Java refuses usage without it", () => {
    expect(input()).toEqual({ cached_tokens: 0, cache_write_tokens: 0 });
  });

  it("is reported under OpenAI's name where the provider uses Anthropic's", () => {
    expect(input({ cache_write_tokens: 4 })).toMatchObject({ cache_write_tokens: 4 });
    expect(input({ cache_creation_input_tokens: 5 })).toMatchObject({ cache_write_tokens: 5 });
  });
});
