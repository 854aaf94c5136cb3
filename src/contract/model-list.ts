// Which models a token may call: names, beginnings with `*` behind, and `!` before what is left out (requirements L12).
import { isModelOf } from "./limit-words.ts";

/** What is asked of a list. A list of names alone is a set. */
export type ModelList = Pick<ReadonlySet<string>, "has">;

/**
 * Reads the entries of a token's list; what is left out wins over what is let in, and a list that only leaves out lets all else in.
 * Compared as it is written, with the name that the client asks for. undefined = all models.
 */
export function modelList(entries: readonly string[]): ModelList | undefined {
  if (entries.length === 0) return undefined;
  if (!entries.some((entry) => entry.endsWith("*") || entry.startsWith("!"))) return new Set(entries);
  const out = entries.filter((entry) => entry.startsWith("!")).map((entry) => entry.slice(1));
  const into = entries.filter((entry) => !entry.startsWith("!"));
  return {
    has: (model) =>
      // A `!` alone names nothing.
      !out.some((pattern) => pattern !== "" && isModelOf(pattern, model)) &&
      (into.length === 0 || into.some((pattern) => isModelOf(pattern, model))),
  };
}
