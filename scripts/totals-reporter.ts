// Vitest reporter: ends the output with `N passed, N failed, N skipped` alone on a line.
// A file that cannot be loaded and an error outside every test count as failures of their own.
import type { Reporter, TestModule, TestRunEndReason } from "vitest/node";

interface Totals {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** Adds up what the runner knows about every test case; `errors` is the number of errors outside tests. */
function count(modules: readonly TestModule[], errors: number): Totals {
  const totals = { passed: 0, failed: errors, skipped: 0 };
  for (const module of modules) {
    // Errors of the file or of a describe's hooks have no case to belong to.
    totals.failed += module.errors().length;
    for (const suite of module.children.allSuites()) totals.failed += suite.errors().length;
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      if (state === "passed") totals.passed += 1;
      else if (state === "failed") totals.failed += 1;
      else totals.skipped += 1;
    }
  }
  return totals;
}

export default class TotalsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[], _reason: TestRunEndReason): void {
    const { passed, failed, skipped } = count(modules, errors.length);
    // The coverage report comes after this hook; the exit comes after everything.
    process.once("exit", (code) => {
      if (code !== 0 && failed === 0) process.stdout.write("\nNo test failed, but the run did: see above.\n");
      process.stdout.write(`\n${passed} passed, ${failed} failed, ${skipped} skipped\n`);
    });
  }
}
