// Streams of lines: the same events at any chunk boundaries, with any line ending, at any length.
import { describe, expect, it } from "vitest";
import { dataText, EVENT_LIMIT_BYTES } from "#server/upstream/hub/sse.ts";
import { LineReader } from "./frames.ts";

function read(chunks: readonly Uint8Array[]): string[] {
  const reader = new LineReader();
  const events = chunks.flatMap((chunk) => reader.push(chunk));
  const last = reader.end();
  return [...events, ...(last === undefined ? [] : [last])].map(dataText);
}

describe("lines", () => {
  const text = Buffer.from('{"a":"é你😀"}\n\r\n{"b":1}\r\n  \n{"c":[]}');

  it.each([0, 1, 2, 3, 5, 8])("are the same in pieces of %d bytes", (size) => {
    const chunks =
      size === 0
        ? [text]
        : Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
            text.subarray(at * size, (at + 1) * size),
          );
    expect(read(chunks)).toEqual(['{"a":"é你😀"}', '{"b":1}', '{"c":[]}']);
  });

  it("are the same at any chunk boundary", () => {
    for (let cut = 1; cut < text.length; cut += 1)
      expect(read([text.subarray(0, cut), text.subarray(cut)])).toEqual(read([text]));
  });

  it("are no event when the last one is truncated", () => {
    expect(read([Buffer.from('{"a":1}\n{"b":')])).toEqual(['{"a":1}']);
  });

  it("may be a mebibyte long, in small pieces", () => {
    const line = Buffer.from(`${JSON.stringify({ text: "x".repeat(1024 * 1024) })}\n`);
    const chunks = Array.from({ length: Math.ceil(line.length / 1000) }, (_, at) =>
      line.subarray(at * 1000, (at + 1) * 1000),
    );
    expect(read(chunks)).toEqual([line.toString().trim()]);
  });

  it("end the stream when they are larger than any event may be", () => {
    const reader = new LineReader();
    expect(reader.push(Buffer.alloc(EVENT_LIMIT_BYTES + 1, 0x20))).toEqual([]);
    expect([reader.isOverflown, reader.push(Buffer.from("{}\n"))]).toEqual([true, []]);
  });
});
