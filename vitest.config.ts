// How the tests run: quick ones beside the source, those of them that change what a process has once, and journeys with what is stopped
// and killed; one PostgreSQL and one browser for the run.
import { join } from "node:path";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./scripts/test-order.ts";
import { APART } from "./test/house/apart.ts";

/** What turns usage into money and moves it: every branch is tested. */
const MONEY = ["src/server/money/price.ts", "src/server/money/{ledger,rules,plan}*.ts"];

/** Ends what hangs; nothing is measured by it, and machines differ by a factor of four. */
const LIMITS = { testTimeout: 60_000, hookTimeout: 60_000 };

// Threads of the server, and packages, are loaded again and again: compiled code is kept from one to the next.
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, ".cache/compile");

export default defineConfig({
  plugins: [react()],
  define: { __LANGUAGE__: '"zh"' },
  test: {
    globalSetup: ["test/worlds/shared-setup.ts"],
    pool: "forks",
    // More than the processors of a small machine, since tests wait for deadlines, disks and browsers. With one more nothing is idle, the run
    // takes as long, and each test longer.
    maxWorkers: 3,
    reporters: ["default", "./scripts/totals-reporter.ts"],
    restoreMocks: true,
    // What is waited for comes at once on most machines, and late on a loaded one.
    expect: { poll: { timeout: 30_000 } },
    coverage: {
      // Counts in these files alone, so that nothing else runs slower for it.
      provider: "istanbul",
      include: MONEY,
      exclude: ["**/*.test.ts"],
      reporter: ["text", "html"],
      reportsDirectory: "coverage",
      thresholds: { branches: 100, perFile: true },
    },
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["src/**/*.test.{ts,tsx}", "test/{api,house}/*.test.ts"],
          exclude: [...APART],
          // Modules are loaded once for all files of a worker, which was a third of the processor's time.
          isolate: false,
          ...LIMITS,
        },
      },
      {
        extends: true,
        test: { name: "apart", include: [...APART], ...LIMITS },
      },
      {
        extends: true,
        test: {
          name: "e2e",
          include: ["test/e2e/*.test.ts"],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
