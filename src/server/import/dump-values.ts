// Reads the rows of an INSERT statement as mysqldump writes it: texts with escapes, numbers, NULL, hexadecimal, several rows.
import type { SourceValue } from "./row.ts";

/** What a backslash makes of the character after it; others stand for themselves (MySQL manual, string literals). */
const ESCAPES: Readonly<Record<string, string>> = {
  "0": "\u0000",
  b: "\b",
  n: "\n",
  r: "\r",
  t: "\t",
  Z: "\u001a",
};

const NUMBER = /[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y;
const HEX = /(?:0x|[xX]')([0-9a-fA-F]*)'?/y;
const WORD = /[A-Za-z_][A-Za-z_0-9]*/y;
const BLANKS = /(?:\s+|\/\*[\s\S]*?\*\/)*/y;

/** A statement that is not what mysqldump writes. */
export class DumpError extends Error {
  override readonly name = "DumpError";
}

class Reader {
  readonly #text: string;
  #at: number;

  constructor(text: string, at: number) {
    this.#text = text;
    this.#at = at;
  }

  /** Skips blanks, then takes the text if it stands here. */
  takes(token: string): boolean {
    this.#match(BLANKS);
    if (!this.#text.startsWith(token, this.#at)) return false;
    this.#at += token.length;
    return true;
  }

  expect(token: string): void {
    if (!this.takes(token)) throw this.fail(`"${token}"`);
  }

  value(): SourceValue {
    this.#match(BLANKS);
    const first = this.#text.charAt(this.#at);
    if (first === "'" || first === '"') return this.#string(first);
    const hex = this.#match(HEX)?.[1];
    if (hex !== undefined) return Buffer.from(hex, "hex").toString("utf8");
    const number = this.#match(NUMBER)?.[0];
    if (number !== undefined) return /^[+-]?\d{1,15}$/.test(number) ? Number(number) : number;
    const word = this.#match(WORD)?.[0] ?? "";
    if (/^null$/i.test(word)) return null;
    if (/^(true|false)$/i.test(word)) return word.toLowerCase() === "true";
    // A character set before a text: _utf8mb4'…', _binary '…'.
    if (word.startsWith("_")) return this.value();
    throw this.fail("a value");
  }

  fail(wanted: string): DumpError {
    return new DumpError(`the dump cannot be read: ${wanted} expected at character ${this.#at} of an INSERT`);
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found) this.#at = pattern.lastIndex;
    return found;
  }

  #string(quote: string): string {
    const text = this.#text;
    let value = "";
    let from = this.#at + 1;
    for (let at = from; at < text.length; at += 1) {
      const character = text.charAt(at);
      if (character === "\\") {
        const next = text.charAt(at + 1);
        value += text.slice(from, at) + (ESCAPES[next] ?? next);
        at += 1;
        from = at + 1;
      } else if (character === quote) {
        value += text.slice(from, at);
        // Doubled, it stands for itself.
        if (text.charAt(at + 1) !== quote) {
          this.#at = at + 1;
          return value;
        }
        at += 1;
        from = at;
      }
    }
    throw this.fail(`the end of a text that began with ${quote}`);
  }
}

/** The rows behind `VALUES` at an offset of the statement. Throws: DumpError. */
export function* readTuples(statement: string, offset: number): Generator<SourceValue[]> {
  const reader = new Reader(statement, offset);
  do {
    reader.expect("(");
    const values: SourceValue[] = [];
    do values.push(reader.value());
    while (reader.takes(","));
    reader.expect(")");
    yield values;
  } while (reader.takes(","));
}
