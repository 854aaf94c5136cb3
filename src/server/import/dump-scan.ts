// Finds the statements of a MySQL dump without holding it in memory: where each one begins and ends. Knows quotes, escapes
// and comments, not what a statement means.
import { createReadStream } from "node:fs";

/** Byte range of one statement, its semicolon left out. */
export interface Statement {
  readonly start: number;
  readonly end: number;
  /** The first bytes, enough to tell what it is. */
  readonly head: string;
  /** False for the last one when the file ends before its semicolon. */
  readonly isWhole: boolean;
}

const HEAD_BYTES = 400;
const CHUNK_BYTES = 1024 * 1024;

const [TAB, LF, CR, SPACE, QUOTE, HASH, APOSTROPHE, STAR, MINUS, SLASH, SEMICOLON, BACKSLASH, BACKTICK] = [
  9, 10, 13, 32, 34, 35, 39, 42, 45, 47, 59, 92, 96,
];

function isLetter(byte: number): boolean {
  const small = byte | 32;
  return small >= 97 && small <= 122;
}

function isBlank(byte: number): boolean {
  return byte === SPACE || byte === LF || byte === CR || byte === TAB;
}

/** Where the scanner stands: between tokens, in a quoted text (the quote's byte), or in a comment. */
type ScanState = "code" | "line comment" | "block comment" | number;

class Scanner {
  #state: ScanState = "code";
  #isEscaped = false;
  #previous = 0;
  #start = -1;
  #head: number[] = [];
  /** Whether words stand outside of comments since the last semicolon. */
  #hasWords = false;

  /** Takes one byte at a file offset; returns the statement that it ended. */
  take(byte: number, offset: number): Statement | undefined {
    const before = this.#previous;
    this.#previous = byte;
    if (this.#state === "code") return this.#inCode(byte, before, offset);
    this.#note(byte, offset);
    if (this.#state === "line comment") {
      if (byte === LF) this.#state = "code";
    } else if (this.#state === "block comment") {
      if (byte === SLASH && before === STAR) this.#leave();
    } else this.#inQuotes(byte, this.#state);
    return undefined;
  }

  #inCode(byte: number, before: number, offset: number): Statement | undefined {
    if (byte === SEMICOLON) return this.#end(offset);
    if (isLetter(byte)) this.#hasWords = true;
    else if (byte === APOSTROPHE || byte === QUOTE || byte === BACKTICK) this.#state = byte;
    else if (byte === HASH || (byte === MINUS && before === MINUS)) this.#state = "line comment";
    else if (byte === STAR && before === SLASH) this.#state = "block comment";
    this.#note(byte, offset);
    return undefined;
  }

  #inQuotes(byte: number, quote: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === BACKSLASH && quote !== BACKTICK) this.#isEscaped = true;
    // A doubled quote closes and opens again at once, which comes to the same.
    else if (byte === quote) this.#state = "code";
  }

  /** After a comment its last slash must not look like the first of another. */
  #leave(): void {
    this.#state = "code";
    this.#previous = 0;
  }

  #note(byte: number, offset: number): void {
    if (this.#start < 0) {
      if (isBlank(byte)) return;
      this.#start = offset;
    }
    if (this.#head.length < HEAD_BYTES) this.#head.push(byte);
  }

  /** The statement that the end of the file cuts off, if one does; offset: of that end. */
  rest(offset: number): Statement | undefined {
    const rest = this.#hasWords ? this.#end(offset) : undefined;
    return rest && { ...rest, isWhole: false };
  }

  #end(offset: number): Statement | undefined {
    const start = this.#start;
    const head = Buffer.from(this.#head).toString("utf8");
    this.#start = -1;
    this.#head = [];
    this.#hasWords = false;
    return start < 0 ? undefined : { start, end: offset, head, isWhole: true };
  }
}

/** The statements of a dump, or of a part of it between two statements, in order. */
export async function* scanStatements(
  file: string,
  part: { readonly start: number; readonly end: number } = { start: 0, end: Number.MAX_SAFE_INTEGER },
): AsyncGenerator<Statement> {
  const scanner = new Scanner();
  let offset = part.start;
  // The stream's own end is the last byte it reads: the semicolon.
  for await (const chunk of createReadStream(file, { ...part, highWaterMark: CHUNK_BYTES })) {
    // A stream without an encoding gives buffers.
    const bytes = chunk as Buffer;
    for (let index = 0; index < bytes.length; index += 1) {
      const statement = scanner.take(bytes[index] ?? 0, offset + index);
      if (statement) yield statement;
    }
    offset += bytes.length;
  }
  const rest = scanner.rest(offset);
  if (rest) yield rest;
}

/** A statement without the comments before it, where mysqldump puts headings and settings. */
export function withoutComments(statement: string): string {
  return statement.replace(/^(?:\s+|--[^\n]*(?:\n|$)|#[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)+/, "");
}
