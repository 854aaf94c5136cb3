// The order of the test files: those that take longest first, so that none of them is alone at the end. Says nothing of what runs beside what.
import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { join } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Journeys and servers of their own wait most, in long chains. Files of one project stand together: a worker whose modules stay serves the
 * next file of its own project alone.
 */
const PROJECTS = ["e2e", "apart", "unit"];

/**
 * The files whose length in bytes tells least of their length in time: those that took more than half a minute in a whole run, the longest
 * first (2026-11-25, two processors).
 */
const LONG = [
  "test/e2e/console-pages.test.ts",
  "test/api/fuzz.test.ts",
  "src/server/store/migrate-crash.test.ts",
  "src/server/import/one-api.test.ts",
  "src/server/relay/exact-calls.test.ts",
  "src/server/accounts/proxy-signs.test.ts",
  "src/server/main/refusals.test.ts",
  "test/house/checks.test.ts",
  "test/api/paths.test.ts",
  "src/server/api/wechat.test.ts",
  "src/server/relay/http/slow-client.test.ts",
  "src/server/relay/storage.test.ts",
  "test/api/escalation.test.ts",
  "src/server/api/mail-flows.test.ts",
  "src/server/main/serve.test.ts",
  "src/server/money/crash.test.ts",
  "src/server/money/laws.test.ts",
  "test/house/bootstrap.test.ts",
  "test/api/permissions.test.ts",
  "src/server/api/auth.test.ts",
  "src/server/api/register.test.ts",
  "src/server/api/user-names.test.ts",
].map((path) => join(import.meta.dirname, "..", path));

/** More than any file has bytes. */
const LONGER_THAN_ANY = 1e9;
/** As many of them come before everything else: begun later, they would be alone at the end. */
const FIRST = 2;

/** Any text: the files of a project in an order that it draws, to find those that depend on others (`TEST_SHUFFLE=7 npx vitest run`). */
const SEED = process.env["TEST_SHUFFLE"];

const drawn = (path: string) => createHash("sha256").update(`${SEED}${path}`).digest().readUInt32BE();

/** Greater for what takes longer; no unit. */
function lengthOf(path: string): number {
  const place = LONG.indexOf(path);
  return place < 0 ? statSync(path).size : (LONG.length - place) * LONGER_THAN_ANY;
}

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const project = ({ moduleId, project: { name } }: TestSpecification) =>
      !SEED && LONG.slice(0, FIRST).includes(moduleId) ? -1 : PROJECTS.indexOf(name);
    const weight = ({ moduleId }: TestSpecification) => (SEED ? drawn(moduleId) : lengthOf(moduleId));
    return files.toSorted((a, b) => project(a) - project(b) || weight(b) - weight(a));
  }
}
