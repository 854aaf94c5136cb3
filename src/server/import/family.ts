// Which program and age a database is of, by the columns it has (requirements W7.5, #12). Nothing else depends on versions:
// every column is looked for by itself.
import { ImportError, type Source } from "./source.ts";

export interface Family {
  readonly name: string;
  /** New API numbers channel types and log types differently (requirements W19.1). */
  readonly isNewApi: boolean;
}

/** Throws: ImportError when this is no database of the family. */
export function familyOf(source: Source): Family {
  const has = (table: string, column: string) => source.tables.get(table)?.has(column) === true;
  if (!has("users", "username") || !has("users", "quota") || !has("tokens", "key")) {
    const found = [...source.tables.keys()].slice(0, 10).join(", ");
    throw new ImportError(
      `this is no One API database: it has no users and tokens with quota (tables: ${found})`,
    );
  }
  if (has("users", "aff_quota")) return { name: "New API", isNewApi: true };
  return { name: `One API, ${ageOf(has)}`, isNewApi: false };
}

function ageOf(has: (table: string, column: string) => boolean): string {
  const isLate =
    has("users", "oidc_id") ||
    has("tokens", "subnet") ||
    has("logs", "elapsed_time") ||
    has("channels", "system_prompt");
  if (isLate) return "later than 0.6.6";
  if (has("channels", "config")) return "0.6";
  return has("channels", "priority") && has("channels", "model_mapping") ? "before March 2024" : "of 2023";
}
