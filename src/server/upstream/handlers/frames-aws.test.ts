// Amazon's event stream: the test vector of vendors/bedrock, any chunk boundaries, damaged frames are refused.
import { crc32 } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { dataText, fieldOf } from "#server/upstream/hub/sse.ts";
import { AwsReader } from "./frames.ts";

const VECTOR = Buffer.from(
  "000000870000004b87ea2bf30b3a6576656e742d747970650700056368756e6b0d3a636f6e74656e742d74" +
    "7970650700106170706c69636174696f6e2f6a736f6e0d3a6d6573736167652d7479706507000565766" +
    "56e747b226279746573223a2265794a306558426c496a6f696257567a6332466e5a56397a64473977496e" +
    "303d227dba48ab22",
  "hex",
);

function frame(headers: Readonly<Record<string, string>>, payload: string): Buffer {
  const parts = Object.entries(headers).map(([name, value]) => {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(Buffer.byteLength(value));
    return Buffer.concat([
      Buffer.from([name.length]),
      Buffer.from(name),
      Buffer.from([7]),
      length,
      Buffer.from(value),
    ]);
  });
  const head = Buffer.concat(parts);
  const body = Buffer.from(payload);
  const prelude = Buffer.alloc(12);
  prelude.writeUInt32BE(16 + head.length + body.length, 0);
  prelude.writeUInt32BE(head.length, 4);
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8);
  const whole = Buffer.concat([prelude, head, body, Buffer.alloc(4)]);
  whole.writeUInt32BE(crc32(whole.subarray(0, -4)), whole.length - 4);
  return whole;
}

function read(bytes: Buffer, cuts: readonly number[] = []) {
  const reader = new AwsReader();
  const borders = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
  const events = borders
    .slice(0, -1)
    .flatMap((from, index) => reader.push(bytes.subarray(from, borders[index + 1])));
  const seen = events.map((event) => [fieldOf(event, "event"), fieldOf(event, "exception"), dataText(event)]);
  return { seen, isOverflown: reader.isOverflown };
}

describe("Amazon's event stream", () => {
  it("is read as in the vector of vendors/bedrock", () => {
    const data = '{"bytes":"eyJ0eXBlIjoibWVzc2FnZV9zdG9wIn0="}';
    expect(read(VECTOR)).toEqual({ seen: [["chunk", "", data]], isOverflown: false });
  });

  it("is read alike at any chunk boundaries", () => {
    const exception = { ":message-type": "exception", ":exception-type": "throttlingException" };
    const bytes = Buffer.concat([
      VECTOR,
      frame(exception, '{"message":"慢"}'),
      frame({ ":message-type": "event" }, ""),
      VECTOR,
    ]);
    const whole = read(bytes);
    expect(whole.seen[1]).toEqual(["", "throttlingException", '{"message":"慢"}']);
    expect(whole.seen.length).toBe(4);
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length)), (cuts) => {
        expect(read(bytes, cuts)).toEqual(whole);
      }),
    );
    for (let cut = 0; cut <= bytes.length; cut += 1) expect(read(bytes, [cut])).toEqual(whole);
  });

  it("carries an event of a mebibyte", () => {
    const text = "x".repeat(1024 * 1024);
    const bytes = frame({ ":message-type": "event", ":event-type": "chunk" }, text);
    expect(read(bytes, [7, 500_000]).seen).toEqual([["chunk", "", text]]);
  });

  it("ends at the first damaged byte", () => {
    for (let at = 0; at < VECTOR.length; at += 1) {
      const damaged = Buffer.from(VECTOR);
      damaged[at] = (damaged[at] ?? 0) ^ 0x10;
      expect(read(Buffer.concat([damaged, VECTOR])).seen, `byte ${at}`).toEqual([]);
    }
  });

  it("never reads a frame that is larger than the limit, nor one that was cut off", () => {
    const prelude = Buffer.alloc(12);
    prelude.writeUInt32BE(0x7fffffff, 0);
    prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8);
    expect(read(prelude)).toEqual({ seen: [], isOverflown: true });
    expect(read(VECTOR.subarray(0, -1))).toEqual({ seen: [], isOverflown: false });
  });
});
