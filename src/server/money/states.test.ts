import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../../..");
const ROOMS: Readonly<Record<string, string>> = { "#contract": "src/contract", "#server": "src/server" };

/** What a file imports as more than types, and all that this imports; packages by their names. */
function loadedBy(file: string, known: Set<string> = new Set()): Set<string> {
  if (known.has(file)) return known;
  known.add(file);
  for (const [, names = "", specifier = ""] of readFileSync(file, "utf8").matchAll(
    /^import ([^;]*?) from "([^"]+)";$/gm,
  )) {
    if (names.startsWith("type ")) continue;
    const [room = "", ...rest] = specifier.split("/");
    const folder = ROOMS[room];
    if (folder !== undefined) loadedBy(join(ROOT, folder, ...rest), known);
    else if (specifier.startsWith(".")) loadedBy(join(dirname(file), specifier), known);
    else known.add(specifier);
  }
  return known;
}

test("the thread that writes to SQLite loads no package: schemas took 5 MB there", () => {
  const loaded = [...loadedBy(join(import.meta.dirname, "sqlite/writer.ts"))];
  expect(loaded.length).toBeGreaterThan(10);
  expect(loaded.filter((name) => !name.startsWith(ROOT) && !name.startsWith("node:"))).toEqual([]);
});
