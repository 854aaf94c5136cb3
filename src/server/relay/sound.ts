// How long a sound is, as far as bytes tell without decoding: WAV says it in its head; subtitles say it in their last line.

/** Begin of the file's own bytes within a form. */
const RIFF = Buffer.from("RIFF");
const WAVE = Buffer.from("WAVEfmt ");

/** The length of a WAV file that is in these bytes; undefined = there is none, or it does not say. Unit: seconds. */
export function soundSeconds(bytes: Buffer): number | undefined {
  const at = bytes.indexOf(RIFF);
  if (at < 0 || at + 44 > bytes.length || bytes.compare(WAVE, 0, 8, at + 8, at + 16) !== 0) return undefined;
  const bytesPerSecond = bytes.readUInt32LE(at + 28);
  const data = bytes.indexOf("data", at + 36);
  if (bytesPerSecond === 0 || data < 0 || data + 8 > bytes.length) return undefined;
  const told = bytes.readUInt32LE(data + 4);
  // Recorders that stream do not know the size when they write it.
  const size = Math.min(told, bytes.length - data - 8);
  return size / bytesPerSecond;
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
