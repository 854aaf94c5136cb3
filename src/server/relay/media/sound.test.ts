// The length of sounds, which clients may fake: the price depends on it.
import { describe, expect, it } from "vitest";
import { leastSeconds, soundSeconds, subtitleSeconds } from "./sound.ts";

interface Head {
  readonly tag?: number;
  readonly channels?: number;
  readonly rate?: number;
  readonly bytesPerSecond?: number;
  readonly bits?: number;
  readonly dataSize?: number;
  /** A chunk before the sound. */
  readonly before?: Buffer;
}

function head(given: Head = {}): Buffer {
  const { tag = 1, channels = 1, rate = 8_000, bits = 16 } = given;
  const format = Buffer.alloc(24);
  format.write("fmt ", 0, "latin1");
  format.writeUInt32LE(16, 4);
  format.writeUInt16LE(tag, 8);
  format.writeUInt16LE(channels, 10);
  format.writeUInt32LE(rate, 12);
  format.writeUInt32LE(given.bytesPerSecond ?? 16_000, 16);
  format.writeUInt16LE(2, 20);
  format.writeUInt16LE(bits, 22);
  const data = Buffer.alloc(8);
  data.write("data", 0, "latin1");
  data.writeUInt32LE(given.dataSize ?? 160_000, 4);
  return Buffer.concat([Buffer.from("RIFF....WAVE"), format, given.before ?? Buffer.alloc(0), data]);
}

/** A chunk whose own bytes look like an empty sound. */
const decoy = Buffer.from("LIST\u0008\0\0\0data\0\0\0\0", "latin1");

describe("a WAV file", () => {
  const ten = (given?: Head) => soundSeconds(head(given), head(given).length + 160_000);

  it.each<[string, Head]>([
    ["honest", {}],
    ["of unknown size", { dataSize: 0 }],
    ["of endless size", { dataSize: 0xffffffff }],
    ["with a tiny size", { dataSize: 2 }],
    ["with a huge rate of bytes", { bytesPerSecond: 0xffffffff }],
    ["with a decoy before the sound", { before: decoy }],
    ["of another coding", { rate: 16_000, bits: 8, tag: 7 }],
  ])("%s has its length", (_, given) => {
    expect(ten(given)).toBe(10);
  });

  it.each<[string, Head]>([
    ["an impossible rate", { rate: 0xffffffff }],
    ["a rate of nothing", { rate: 0 }],
    ["too many channels", { channels: 65_535 }],
    ["no channel", { channels: 0 }],
    ["odd bits", { bits: 60_000 }],
    ["a compressed coding", { tag: 0x55 }],
  ])("with %s has no known length", (_, given) => {
    expect(ten(given)).toBeUndefined();
  });

  it("is recognised from its first byte on, and only when its head is whole", () => {
    expect(soundSeconds(Buffer.concat([Buffer.from("x"), head()]), 1e6)).toBeUndefined();
    for (let end = 0; end < head().length - 1; end += 1)
      expect(soundSeconds(head().subarray(0, end), 1e6) ?? 0).toBeGreaterThanOrEqual(0);
  });
});

it("reads the last stamp of subtitles", () => {
  expect(subtitleSeconds("1\n00:00:01,000 --> 01:02:03,500\nhi\n")).toBe(3_723.5);
  expect(subtitleSeconds("no stamps --> here")).toBeUndefined();
});

it("knows how long a text takes at least", () => {
  expect(leastSeconds("a".repeat(250))).toBe(10);
  expect(leastSeconds("说".repeat(80))).toBe(10);
});
