// `npm run mutants`: removes each line that verifies a payment, one after the other, and runs the tests of payments until one fails. Prints which;
// a line that no test misses fails the run. Takes some ten minutes, and puts every file back. Words narrow the list.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PAYMENT_CHECKS, type Removed } from "./payment-checks.ts";

/** Those that most checks have their test in, and then all. */
const FIRST = ["checks", "providers", "orders.test", "wire/signatures"].map(
  (name) => `src/server/payments/${name}`,
);
const TESTS = ["src/server/payments/", "src/server/money/orders"];
const directory = mkdtempSync(join(tmpdir(), "tollgate-mutants-"));
const report = join(directory, "report.json");

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly message: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

/** The first test that fails; undefined = none does. */
function firstFailure(files: readonly string[]): string | undefined {
  const args = ["node_modules/vitest/vitest.mjs", "run", ...files, "-t", "^(?!.*PostgreSQL)", "--bail=1"];
  const { status } = spawnSync(process.execPath, [...args, "--reporter=json", `--outputFile=${report}`], {
    stdio: "ignore",
    timeout: 300_000,
  });
  if (status === 0) return undefined;
  // Vitest wrote it.
  const { testResults } = JSON.parse(readFileSync(report, "utf8")) as Report;
  for (const { name, message, assertionResults } of testResults) {
    const failed = assertionResults.find((one) => one.status === "failed");
    const file = name.slice(name.indexOf("/src/") + 1);
    if (failed || message !== "") return `${file} "${failed?.fullName ?? message.split("\n")[0]}"`;
  }
  return "the run itself failed";
}

/** Throws: when the line is not there once. */
function without({ file, check, without }: Removed): string | undefined {
  const source = readFileSync(file, "utf8");
  if (source.split(check).length !== 2) throw new Error(`${file} has not once: ${check}`);
  writeFileSync(
    file,
    source.replace(check, () => without),
  );
  try {
    return firstFailure(FIRST) ?? firstFailure(TESTS);
  } finally {
    writeFileSync(file, source);
  }
}

const words = process.argv.slice(2);
const chosen = PAYMENT_CHECKS.filter((one) =>
  words.every((word) => `${one.file} ${one.check}`.includes(word)),
);
const survivors: string[] = [];
for (const one of chosen) {
  const dead = without(one);
  const line = `${one.file}: ${one.check.replace(/\s+/g, " ").trim()}`;
  if (dead === undefined) survivors.push(line);
  process.stdout.write(`${dead === undefined ? "SURVIVES" : "dies"} ${line}\n  ${dead ?? ""}\n`);
}
rmSync(directory, { recursive: true });
process.stdout.write(`${chosen.length} lines, ${survivors.length} survive\n`);
process.exitCode = survivors.length === 0 ? 0 : 1;
