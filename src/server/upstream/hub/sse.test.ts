import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cpuMsOf } from "#test/worlds/cpu-time.ts";
import { dataText, EVENT_LIMIT_BYTES, isDone, SseReader } from "./sse.ts";

const GOLDEN = [
  'data: {"a":1}\n\ndata: {"b":"键盘🎹"}\n\ndata: [DONE]\n\n',
  "data: one\r\n\r\ndata:two\r\n\r\n: comment\r\n\r\nevent: x\r\nid: 7\r\ndata: three\r\ndata: four\r\nretry: 5\r\n\r\n",
  "data: one\r\rdata:two\r\r",
  "\uFEFFdata: bom\n\ndata\n\ndata:\n\ndata:  two blanks\n\n",
  "\n\n\n: ping\n\n\r\n\r\ndata: x\n\r\ndata: y\n\n",
  "data: no blank line at the end",
  "data: one\n\ndata: no blank line\n",
  "datas: no\nxdata: no\n\n",
  'data: {"a":1}\r\n\r\n{\n  "error": {\n    "code": 503\n  }\n}\n',
  '\uFEFF{"error":{}}\r\n\r\n{"no end\n\n',
];

/**
 * A simple implementation of WHATWG's field rules on text. A last event without a blank line counts (requirements T1.4), and so does an
 * event that is one bare JSON object.
 */
function oracle(text: string): string[] {
  const payloads: string[] = [];
  let data: string[] = [];
  let lines: string[] = [];
  const flush = () => {
    const all = lines.join("\n");
    if (data.length > 0) payloads.push(data.join("\n"));
    else if (/^\{.*\}$/s.test(all)) payloads.push(all);
    data = [];
    lines = [];
  };
  for (const line of text.replace(/^\uFEFF/, "").split(/\r\n|\r|\n/)) {
    if (line === "") flush();
    else lines.push(line);
    const [, value] = /^data(?::[ ]?(.*))?$/s.exec(line) ?? [];
    if (/^data(:|$)/.test(line)) data.push(value ?? "");
  }
  flush();
  return payloads;
}

function read(chunks: readonly Uint8Array[]): { payloads: string[]; raw: string } {
  const reader = new SseReader();
  const payloads: string[] = [];
  const raw: Uint8Array[] = [];
  const take = (events: ReturnType<SseReader["push"]>) => {
    for (const event of events) {
      raw.push(event.bytes.subarray(event.start, event.end));
      if (event.dataStart >= 0) payloads.push(dataText(event).replaceAll(/\r\n?/g, "\n"));
    }
  };
  for (const chunk of chunks) take(reader.push(chunk));
  const last = reader.end();
  if (last) take([last]);
  return { payloads, raw: Buffer.concat(raw).toString() };
}

describe("SseReader", () => {
  it.each(GOLDEN)("reads %j whole", (text) => {
    const { payloads, raw } = read([Buffer.from(text)]);
    expect(payloads).toEqual(oracle(text));
    // The bytes are unchanged; only a missing last blank line is added.
    expect(raw.startsWith(text) || text.startsWith(raw)).toBe(true);
  });

  it.each(GOLDEN)("reads %j split at any two bytes", (text) => {
    const bytes = Buffer.from(text);
    const whole = read([bytes]);
    for (let first = 0; first <= bytes.length; first += 1) {
      for (let second = first; second <= bytes.length; second += 1) {
        const cut = read([bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)]);
        expect(cut.payloads).toEqual(whole.payloads);
        expect(cut.raw).toBe(whole.raw);
      }
    }
  });

  it("reads any lines at any chunk boundaries", () => {
    const line = fc.oneof(
      fc.constantFrom("", ": c", "data", "data:", "data: ", "event: e", "data: [DONE]"),
      fc.stringMatching(/^[ -~]{0,12}$/),
      fc.stringMatching(/^data: ?[ -~é漢]{0,12}$/),
      fc.constantFrom("{", "}", '{"error":{}}', '{"error":'),
    );
    const stream = fc.array(fc.tuple(line, fc.constantFrom("\n", "\r\n", "\r")), { maxLength: 20 });
    fc.assert(
      fc.property(stream, fc.array(fc.nat(200), { maxLength: 10 }), (lines, cuts) => {
        const text = lines.map(([content, end]) => content + end).join("");
        const bytes = Buffer.from(text);
        const at = [
          0,
          ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b),
          bytes.length,
        ];
        const chunks = at.slice(1).map((end, index) => bytes.subarray(at[index], end));
        expect(read(chunks).payloads).toEqual(oracle(text));
      }),
    );
  });

  it("accepts events up to the limit and stops above it", () => {
    for (const [size, count] of [
      [64 * 1024, 1],
      [65 * 1024, 1],
      [EVENT_LIMIT_BYTES - 8, 1],
      [EVENT_LIMIT_BYTES, 0],
      [64 * 1024 * 1024, 0],
    ] as const) {
      const reader = new SseReader();
      const bytes = Buffer.concat([Buffer.from("data: "), Buffer.alloc(size, "x"), Buffer.from("\n\n")]);
      let events = 0;
      for (let at = 0; at < bytes.length; at += 16_384)
        events += reader.push(bytes.subarray(at, at + 16_384)).length;
      expect([size, events, reader.isOverflown]).toEqual([size, count, count === 0]);
    }
  });

  it("reads an event that arrives byte by byte in linear time", () => {
    const read = (size: number) => {
      const reader = new SseReader();
      const bytes = Buffer.from(`data: ${"x".repeat(size)}\n\n`);
      let events = 0;
      const tookMs = cpuMsOf(() => {
        for (let at = 0; at < bytes.length; at += 1) events += reader.push(bytes.subarray(at, at + 1)).length;
      });
      expect(events).toBe(1);
      return tookMs;
    };
    const size = 256 * 1024;
    read(size);
    // Quadratic work would take sixteen times as long; the rest is slack for a busy machine.
    expect(read(4 * size)).toBeLessThan(12 * read(size));
  });

  it("recognizes the terminator", () => {
    const done = (text: string) => new SseReader().push(Buffer.from(`: x\n\n${text}\n\n`)).map(isDone)[1];
    expect(["data: [DONE]", "data:[DONE]", "data: [DONE] ", "data:  [DONE]"].map(done)).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect(['data: "[DONE]"', "data: [DONE]x", ": [DONE]", "data: {}"].map(done)).toEqual([
      false,
      false,
      false,
      false,
    ]);
  });
});
