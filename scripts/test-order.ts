// The order of the test files: those that take longest first, so that none of them is alone at the end. Says nothing of what runs beside what.
import { statSync } from "node:fs";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Journeys and servers of their own wait most, in long chains. */
function weight({ moduleId }: TestSpecification): number {
  const isJourney = moduleId.includes("/test/e2e/");
  return (isJourney ? 1_000_000_000 : 0) + statSync(moduleId).size;
}

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files.toSorted((a, b) => weight(b) - weight(a));
  }
}
