// Programs of the writer thread that cannot be loaded at first.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { testDirectory } from "#test/worlds/directory.ts";
import { openStore } from "./db.ts";

test("a program that could not be loaded is loaded as soon as it can be", async () => {
  const store = await openStore({ dataDir: testDirectory() });
  if (store.dialect !== "sqlite") throw new Error("programs are SQLite's");
  const file = join(testDirectory(), "program.mjs");
  const program = pathToFileURL(file);
  // As when no file can be opened for a moment.
  await expect(store.runProgram(program, 1)).rejects.toThrow();
  writeFileSync(
    file,
    "export const run = (database, input) => input + 1;\nexport const finish = () => {};\n",
  );
  expect(await store.runProgram(program, 1)).toBe(2);
  await store.close();
});
