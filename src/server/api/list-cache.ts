// Price lists that were read from addresses, as long as their servers say that they did not change. A few in memory, never on disk.
import type { TextResult } from "#server/egress/fetch-text.ts";

interface Kept {
  readonly etag: string;
  readonly text: string;
}

/** The characters of all lists together. */
const MOST_CHARS = 20 * 1024 * 1024;

export class ListCache {
  /** By address; the one that was read longest ago comes first. */
  readonly #lists = new Map<string, Kept>();

  /** What is asked with, so that a list that did not change is not sent again. Names and values in turn. */
  headersFor(address: string): readonly string[] {
    const kept = this.#lists.get(address);
    return kept === undefined ? [] : ["if-none-match", kept.etag];
  }

  /** The list of an answer; undefined = it holds none. */
  textOf(
    address: string,
    { status, headers, text }: Extract<TextResult, { kind: "answer" }>,
  ): string | undefined {
    if (status === 304) return this.#lists.get(address)?.text;
    this.#lists.delete(address);
    if (status !== 200) return undefined;
    const { etag } = headers;
    if (typeof etag === "string" && etag !== "") this.#keep(address, { etag, text });
    return text;
  }

  #keep(address: string, list: Kept): void {
    this.#lists.set(address, list);
    let chars = 0;
    // The newest first: those that no longer fit are the ones read longest ago.
    for (const [known, { text }] of [...this.#lists].reverse()) {
      chars += text.length;
      if (chars > MOST_CHARS) this.#lists.delete(known);
    }
  }
}
