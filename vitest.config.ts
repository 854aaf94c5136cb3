// How the tests run: three projects (quick ones beside the source, journeys through the console, what is stopped and killed), one
// PostgreSQL for the run.
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

/** Journeys in a browser, SDKs, kills at random moments: each waits for what it asked for, so two may share a machine. */
const JOURNEYS = "test/e2e/{console-*,journey,sdk*,backup,crash,signup-crash,errors,privacy}.test.ts";

/** What turns usage into money and moves it: every branch is tested. */
const MONEY = ["src/server/money/price.ts", "src/server/money/{ledger,rules,plan}*.ts"];

export default defineConfig({
  plugins: [react()],
  test: {
    globalSetup: ["test/worlds/postgres-setup.ts"],
    pool: "forks",
    maxWorkers: 2,
    reporters: ["default", "./scripts/totals-reporter.ts"],
    restoreMocks: true,
    // What is waited for comes at once on most machines, and late on a loaded one.
    expect: { poll: { timeout: 10_000 } },
    coverage: {
      // Counts in these files alone, so that nothing else runs slower for it.
      provider: "istanbul",
      include: MONEY,
      exclude: ["**/*.test.ts"],
      reporter: ["text", "html"],
      reportsDirectory: "coverage",
      thresholds: { branches: 100, perFile: true },
    },
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["src/**/*.test.{ts,tsx}", "test/{api,house}/*.test.ts"],
          // Ends what hangs; nothing is measured by it, and machines differ by a factor of four.
          testTimeout: 60_000,
          hookTimeout: 60_000,
          // Of two processors two of them leave a third idle: many wait for a deadline or the disk.
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: "journeys",
          include: [JOURNEYS],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 2 },
        },
      },
      {
        extends: true,
        test: {
          name: "e2e",
          include: ["test/e2e/*.test.ts"],
          exclude: [JOURNEYS],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          // Kills and deadlines mean what they say only where nothing else is busy.
          fileParallelism: false,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
