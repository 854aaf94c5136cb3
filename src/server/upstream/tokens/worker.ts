// The worker thread that counts tokens. It holds only the tables of the encodings (75 MB each).
import { parentPort } from "node:worker_threads";

export type EncodingName = "cl100k_base" | "o200k_base";

export interface CountRequest {
  readonly id: number;
  readonly encoding: EncodingName;
  readonly texts: readonly string[];
}

export interface CountReply {
  readonly id: number;
  readonly encoding: EncodingName;
  /** Of all texts together; undefined = it would take too long, or the encoding could not be loaded. */
  readonly tokens: number | undefined;
}

interface Encoding {
  countTokens(text: string, options: { disallowedSpecial: Set<string> }): number;
}

/** Merging is quadratic in the length of a run without blanks; slices bound it. Each slice adds one token at most. */
const SLICE_CHARS = 4_000;
/** How long one request may be counted, so that other requests do not wait long (requirements R27). */
const COUNT_LIMIT_MS = 250;
/** Texts are data: `<|endoftext|>` in them is no control token. */
const PLAIN = { disallowedSpecial: new Set<string>() };

const encodings = new Map<EncodingName, Promise<Encoding>>();

function load(name: EncodingName): Promise<Encoding> {
  let encoding = encodings.get(name);
  if (encoding === undefined) {
    encoding =
      name === "cl100k_base"
        ? import("gpt-tokenizer/encoding/cl100k_base")
        : import("gpt-tokenizer/encoding/o200k_base");
    encodings.set(name, encoding);
  }
  return encoding;
}

/** Of all texts together; undefined = it takes too long. */
function countTexts(encoding: Encoding, texts: readonly string[]): number | undefined {
  const startMs = performance.now();
  let tokens = 0;
  for (const text of texts) {
    for (let at = 0; at < text.length; at += SLICE_CHARS) {
      if (performance.now() - startMs > COUNT_LIMIT_MS) return undefined;
      tokens += encoding.countTokens(text.slice(at, at + SLICE_CHARS), PLAIN);
    }
  }
  return tokens;
}

parentPort?.on("message", async (request: CountRequest) => {
  const { id, encoding: name, texts } = request;
  const reply = (tokens: number | undefined) =>
    parentPort?.postMessage({ id, encoding: name, tokens } satisfies CountReply);
  try {
    const encoding = await load(name);
    reply(countTexts(encoding, texts));
  } catch {
    reply(undefined);
  }
});
