// How the tests run: two projects (quick ones beside the source, journeys in test/e2e), one PostgreSQL for the run.
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

/** Every branch of what turns usage into money and moves it is tested. */
const EVERY_BRANCH = { branches: 100, perFile: true } as const;

export default defineConfig({
  plugins: [react()],
  test: {
    globalSetup: ["test/postgres-setup.ts"],
    pool: "forks",
    maxWorkers: 2,
    reporters: ["default", "./scripts/totals-reporter.ts"],
    restoreMocks: true,
    // What is waited for comes at once on most machines, and late on a loaded one.
    expect: { poll: { timeout: 10_000 } },
    coverage: {
      provider: "v8",
      include: ["src/**/*.{ts,tsx}"],
      exclude: ["**/*.test.{ts,tsx}", "**/fixtures/**"],
      reporter: ["json-summary", "html"],
      reportsDirectory: "coverage",
      thresholds: {
        "src/server/money/price.ts": EVERY_BRANCH,
        "src/server/money/{ledger,rules,plan}*.ts": EVERY_BRANCH,
      },
    },
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["src/**/*.test.{ts,tsx}", "test/*.test.ts"],
          // Ends what hangs; nothing is measured by it, and machines differ by a factor of four.
          testTimeout: 60_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: "e2e",
          include: ["test/e2e/*.test.ts"],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          fileParallelism: false,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
