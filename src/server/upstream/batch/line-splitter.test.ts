// Lines in pieces of any size: as they stand in the text, without marks, ends and empty ones, and with their numbers.
import fc from "fast-check";
import { expect, test } from "vitest";
import { LineSplitter, LineTooLong } from "./line-splitter.ts";

function split(pieces: readonly Buffer[], most = 1_000) {
  const splitter = new LineSplitter(most);
  const lines = pieces.flatMap((piece) => [...splitter.push(piece)].map(shown));
  return [...lines, ...[...splitter.end()].map(shown)];
}

function shown({ number, bytes }: { readonly number: number; readonly bytes: Buffer }): string {
  return `${number} ${bytes.toString()}`;
}

test("whatever their pieces are", () => {
  const line = fc.stringMatching(/^[a-zä{} ]{0,20}$/);
  const end = fc.constantFrom("\n", "\r\n");
  fc.assert(
    fc.property(
      fc.array(fc.tuple(line, end), { maxLength: 20 }),
      line,
      fc.boolean(),
      fc.array(fc.nat(500), { maxLength: 30 }),
      (lines, last, isMarked, places) => {
        const text = lines.map((parts) => parts.join("")).join("") + last;
        const bytes = Buffer.from((isMarked ? "\ufeff" : "") + text);
        const at = [
          0,
          ...places.map((place) => place % (bytes.length + 1)).toSorted((one, other) => one - other),
          bytes.length,
        ];
        const pieces = at.slice(1).map((place, index) => bytes.subarray(at[index], place));
        const expected = [...lines.map(([words]) => words), last].flatMap((words, index) =>
          words.trim() === "" ? [] : [`${index + 1} ${words}`],
        );
        expect(split(pieces)).toEqual(expected);
      },
    ),
    { numRuns: 500 },
  );
});

test("one that is longer than is kept is told by its number", () => {
  const error = new LineTooLong(3);
  expect(() => split([Buffer.from("a\nb\n"), Buffer.from("c".repeat(11))], 10)).toThrow(error);
  expect(() => split([Buffer.from(`a\nb\n${"c".repeat(11)}\n`)], 10)).toThrow(error);
});
