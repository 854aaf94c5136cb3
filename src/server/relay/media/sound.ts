// How long a sound is, without decoding it: a WAV file's size at the rate its head names, subtitles by their last line, a text by the
// fastest speech. The client writes the head, so only fields that a player depends on are believed.

/** Format tags: PCM, float, A-law, μ-law, and the one that names its kind elsewhere. */
const PLAIN_TAGS: ReadonlySet<number> = new Set([1, 3, 6, 7, 0xfffe]);
const MOST_CHANNELS = 8;
const MOST_RATE = 192_000;
const BITS: ReadonlySet<number> = new Set([8, 16, 24, 32, 64]);
/** So much of a WAV file's begin is searched; the sound must begin within. Unit: bytes. */
export const HEAD_BYTES = 4_096;

/**
 * The length of a WAV file that begins with these bytes and is `size` bytes long; undefined = it is none, or not plain samples. All
 * after the head counts as sound, whatever size the head gives it. Unit: seconds.
 */
export function soundSeconds(head: Buffer, size: number): number | undefined {
  if (head.toString("latin1", 0, 4) !== "RIFF" || head.toString("latin1", 8, 12) !== "WAVE") return undefined;
  let bytesPerSecond: number | undefined;
  for (let at = 12; at + 8 <= head.length; ) {
    const name = head.toString("latin1", at, at + 4);
    if (name === "data")
      return bytesPerSecond === undefined ? undefined : Math.max(0, size - at - 8) / bytesPerSecond;
    if (name === "fmt ") bytesPerSecond = rateOf(head.subarray(at + 8));
    const bytes = head.readUInt32LE(at + 4);
    at += 8 + bytes + (bytes % 2);
  }
  return undefined;
}

/** Bytes of a second, by the fields that a player uses: rate, channels and bits, not the byte rate beside them. */
function rateOf(format: Buffer): number | undefined {
  if (format.length < 16) return undefined;
  const [tag, channels] = [format.readUInt16LE(0), format.readUInt16LE(2)];
  const [rate, bits] = [format.readUInt32LE(4), format.readUInt16LE(14)];
  const isHonest =
    PLAIN_TAGS.has(tag) && channels >= 1 && channels <= MOST_CHANNELS && rate <= MOST_RATE && BITS.has(bits);
  const bytes = (rate * channels * bits) / 8;
  return isHonest && bytes > 0 ? bytes : undefined;
}

const STAMP = /(?:(\d{1,3}):)?(\d{2}):(\d{2})[.,](\d{3})/g;

/** The end of the last subtitle of an SRT or VTT text; undefined = the text is none. Unit: seconds. */
export function subtitleSeconds(text: string): number | undefined {
  const line = text.split("\n").findLast((candidate) => candidate.includes("-->"));
  const stamps = line === undefined ? [] : [...line.matchAll(STAMP)];
  const last = stamps.at(-1);
  if (last === undefined) return undefined;
  const [, hours = "0", minutes = "0", seconds = "0", ms = "0"] = last;
  return Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds) + Number(ms) / 1000;
}

/** Letters, and Chinese characters, that the fastest speak in a second. */
const MOST_LETTERS = 25;
const MOST_HAN = 8;

/** The least time it takes to say a text. Unit: seconds. */
export function leastSeconds(text: string): number {
  const han = text.match(/\p{Script=Han}/gu)?.length ?? 0;
  return han / MOST_HAN + (text.length - han) / MOST_LETTERS;
}

/** No codec for speech takes less: 4 kbit/s. */
const LEAST_BYTES_PER_SECOND = 500;
const SLACK_SECONDS = 60;

/** The most that a file of this size can last. Unit: seconds. */
export function mostSeconds(bytes: number): number {
  return bytes / LEAST_BYTES_PER_SECOND + SLACK_SECONDS;
}
