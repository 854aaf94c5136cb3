// Modules of the writer thread that cannot be loaded at first.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { testDirectory } from "#test/worlds/directory.ts";
import { openStore } from "./db.ts";

test("a module that could not be loaded is loaded as soon as it can be", async () => {
  const store = await openStore({ dataDir: testDirectory() });
  if (store.dialect !== "sqlite") throw new Error("such modules are SQLite's");
  const file = join(testDirectory(), "program.mjs");
  const module = pathToFileURL(file);
  // As when no file can be opened for a moment.
  await expect(store.runInWriter(module, 1)).rejects.toThrow();
  writeFileSync(file, "export const run = (database, input) => input + 1;\nexport const flush = () => {};\n");
  expect(await store.runInWriter(module, 1)).toBe(2);
  await store.close();
});
