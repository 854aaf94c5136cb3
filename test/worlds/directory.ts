// A directory for one test.
import { onTestFinished } from "vitest";
import { temporaryDir } from "./process.ts";

/** The path of a new directory, which is removed when the running test has finished. */
export function testDirectory(): string {
  const { path, remove } = temporaryDir();
  onTestFinished(remove);
  return path;
}
