import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Seen, UsageObserver } from "#server/upstream/usage.ts";

function listen(...payloads: readonly string[]): { observer: UsageObserver; seen: number[] } {
  const observer = new UsageObserver();
  const seen = payloads.map((text) => {
    const bytes = Buffer.from(text);
    return observer.scan(bytes, 0, bytes.length);
  });
  return { observer, seen };
}

describe("UsageObserver", () => {
  it("collects every string under a text key, whatever its escapes", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: "binary" }), { maxLength: 6 }),
        fc.constantFrom(undefined, 1, "\t"),
        (pieces, indent) => {
          const payloads = pieces.map((content) =>
            JSON.stringify({ id: "x", choices: [{ delta: { content } }] }, null, indent),
          );
          const { observer } = listen(...payloads);
          expect(observer.text()).toBe(pieces.join("").toWellFormed());
          expect(observer.textPieces).toBe(pieces.filter((piece) => piece !== "").length);
        },
      ),
    );
  });

  it("joins a character whose halves come in two events", () => {
    expect(listen('{"content":"\\ud83c"}', '{"content":"\\udfb9"}').observer.text()).toBe("🎹");
  });

  it("collects text, tool arguments, refusals and thinking", () => {
    const { observer } = listen(
      '{"choices":[{"delta":{"reasoning_content":"a","content":null}}]}',
      '{"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":"{\\"x\\":"}}]}}]}',
      '{"choices":[{"text":"b"}]}',
      '{"choices":[{"delta":{"refusal":"c"}}]}',
      '{"choices":[{"delta":{"content":[{"type":"text","text":"d"}]}}]}',
    );
    expect(observer.text()).toBe('a{"x":bcd');
  });

  it("ignores keys inside text", () => {
    const inner = JSON.stringify({
      usage: { prompt_tokens: 9 },
      error: { message: "no" },
      content: "x",
      finish_reason: "stop",
    });
    const { observer, seen } = listen(
      JSON.stringify({ choices: [{ delta: { content: inner }, finish_reason: null }] }),
    );
    expect(seen).toEqual([Seen.text]);
    expect(observer.text()).toBe(inner);
  });

  it("notices usage, errors and finish reasons", () => {
    expect(
      listen(
        '{"usage":null,"error":null,"choices":[{"finish_reason":null}]}',
        '{"usage" : {"prompt_tokens":1}}',
        '{"error":{"message":"x"}}',
        '{"error":"x"}',
        '{"error":""}',
        '{"choices":[{"finish_reason":"stop","delta":{}}]}',
        '{"choices":[{"finish_reason":"","delta":{"content":""}}]}',
      ).seen,
    ).toEqual([0, Seen.usage, Seen.error, Seen.error, Seen.error, Seen.finish, 0]);
  });

  it("stops keeping text at a mebibyte and goes on counting", () => {
    const { observer } = listen(
      ...Array.from({ length: 5 }, () => JSON.stringify({ content: "x".repeat(300_000) })),
    );
    expect(observer.textBytes).toBe(1_500_000);
    expect(observer.text().length).toBe(900_000);
  });

  it("never throws on bytes that are no JSON", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
        const observer = new UsageObserver();
        observer.scan(bytes, 0, bytes.length);
        observer.scan(Buffer.concat([Buffer.from('{"content":"'), bytes]), 0, bytes.length + 12);
        expect(typeof observer.text()).toBe("string");
      }),
    );
  });
});
