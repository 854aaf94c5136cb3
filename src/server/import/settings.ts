// Options: known ones through the same door as in the console, so that they are checked and secrets are sealed; the others
// are listed (contract 7.5 #9).
import { isOptionKey, type OptionKey, optionTable } from "#contract/option.ts";
import { OptionError, type Options } from "#server/options.ts";
import { textOf } from "./row.ts";
import type { Source } from "./source.ts";
import type { Target } from "./target.ts";

/** Options that a descendant of One API (New API) calls otherwise, with the same meaning and form. */
const RENAMED: ReadonlyMap<string, OptionKey> = new Map([["CreateCacheRatio", "CacheWriteRatio"]]);

/** Imports the options; `options` is undefined in a dry run. */
export async function importSettings(
  source: Source,
  target: Target,
  options: Options | undefined,
): Promise<void> {
  if (!source.tables.has("options")) return;
  const { tally, store } = target;
  for await (const row of source.rows("options")) {
    const count = tally.of("options");
    count.found += 1;
    const name = textOf(row, "key");
    const key = RENAMED.get(name) ?? name;
    const text = name.endsWith("Ratio") ? withoutRepeats(textOf(row, "value")) : textOf(row, "value");
    if (!isOptionKey(key)) {
      count.skipped += 1;
      tally.remark("options that do not exist here were left out", key);
      continue;
    }
    const refusal = await save(key, text, store && options ? { db: store.db, options } : undefined);
    if (refusal === undefined) count.written += 1;
    else {
      count.skipped += 1;
      tally.remark("options with a text that is not accepted keep their default", `${key}: ${refusal}`);
    }
  }
}

/** A price table as its server read it: of a name that stands there twice the last counts. */
function withoutRepeats(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    // What is wrong with it is told where it is checked.
    return text;
  }
}

/** Checks and writes one. Returns why it was not accepted. */
async function save(
  key: OptionKey,
  text: string,
  into: { db: Parameters<Options["write"]>[0]; options: Options } | undefined,
): Promise<string | undefined> {
  const read = optionTable[key].schema.safeDecode(text as never);
  if (!read.success) return read.error.issues[0]?.message ?? "";
  try {
    await into?.options.write(into.db, key, text);
    return undefined;
  } catch (error) {
    if (error instanceof OptionError) return error.message;
    throw error;
  }
}
