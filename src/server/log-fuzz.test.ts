// Secrets in odd places of a line of the log: none comes through (reliability K08). LOG_FUZZ widens a run.
import fc from "fast-check";
import { expect, test } from "vitest";
import { redactText } from "./log.ts";
import { newTokenKey, randomHex } from "./secrets.ts";

const RUNS = Number(process.env["LOG_FUZZ"] ?? 100_000);

/** Each makes a secret that nobody has seen, and what of it must not be read. */
const FORMS: readonly (() => { text: string; secret: string })[] = [
  () => {
    const secret = newTokenKey();
    return { text: `sk-${secret}`, secret };
  },
  () => {
    const secret = randomHex(40);
    return { text: `sk-proj-${secret}`, secret };
  },
  () => {
    const secret = newTokenKey();
    return { text: `AIza${secret}`, secret };
  },
  () => {
    const secret = randomHex(32);
    return { text: `Bearer ${secret}`, secret };
  },
  () => {
    const secret = randomHex(32);
    return { text: `Basic ${secret}==`, secret };
  },
  () => {
    const secret = randomHex(24);
    return { text: `postgres://tollgate:${secret}@db.internal:5432/tollgate`, secret };
  },
];

/** What may stand before and behind it in a line: JSON, escapes, brackets, other languages. */
const edges = fc.constantFrom(
  "",
  " ",
  '"',
  '\\"',
  "'",
  "{",
  "[",
  "(",
  ":",
  ",",
  "=",
  "\\n",
  "\t",
  "错误：",
  "<",
  ">",
  "?k=",
  "&",
  "/",
);
const words = fc.string({ maxLength: 30, unit: "grapheme-ascii" });

test(`${RUNS} secrets in odd places: not one is written`, { timeout: 120_000 }, () => {
  fc.assert(
    fc.property(
      fc.nat(FORMS.length - 1),
      fc.tuple(edges, edges),
      fc.tuple(words, words),
      (form, edge, word) => {
        const made = FORMS[form]?.();
        if (!made) throw new Error("no form");
        const line = JSON.stringify({
          level: "error",
          // A letter right before a key would make it part of a longer word.
          msg: `${word[0]} ${edge[0]}${made.text}${edge[1]} ${word[1]}`,
        });
        expect(redactText(line)).not.toContain(made.secret);
      },
    ),
    { numRuns: RUNS, seed: 20_261_120 },
  );
});
