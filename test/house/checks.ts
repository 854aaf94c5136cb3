// The checks that need no running server: `npm run check` prints them, test/house/checks.test.ts counts them in `npm test`.
// Never changes a file that is under version control.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export interface Check {
  /** A statement that is true when the check passes. */
  readonly promise: string;
  /** The tool's script inside node_modules, then its arguments. */
  readonly command: readonly [string, ...string[]];
  /** Reads the tool's answer when its exit code does not tell. */
  readonly accepts?: (stdout: string) => boolean;
}

export interface CheckResult {
  readonly isOk: boolean;
  readonly output: string;
  readonly durationMs: number;
}

export const CHECKS: readonly Check[] = [
  {
    promise: "the types of all projects agree",
    command: ["typescript/bin/tsc", "-b", "--pretty", "false"],
  },
  {
    promise: "format and lint find nothing",
    command: ["@biomejs/biome/bin/biome", "ci", "--colors=off", "--error-on-warnings", "."],
  },
  {
    promise: "no file, export or package is unused",
    command: [
      "knip/bin/knip.js",
      "--no-progress",
      "--no-config-hints",
      ...["--cache", "--cache-location", ".cache/knip"],
    ],
  },
  {
    promise: "no import goes up the ladder",
    command: [
      "dependency-cruiser/bin/dependency-cruiser.mjs",
      "src",
      ...["--config", ".dependency-cruiser.cjs"],
      // By content: times of files say nothing after a checkout.
      ...["--cache", ".cache/dependency-cruiser", "--cache-strategy", "content"],
    ],
  },
  {
    promise: "antd is used as its version wants",
    command: ["@ant-design/cli/dist/index.js", "lint", "src/console", "--format", "json"],
    // The exit code is 0 whatever it finds.
    accepts: (stdout) => /"total": 0\b/.test(stdout),
  },
];

/** Runs one check to its end. Never throws for what the tool finds. */
export function runCheck(check: Check): Promise<CheckResult> {
  const [script, ...args] = check.command;
  const startMs = performance.now();
  const child = spawn(process.execPath, [`node_modules/${script}`, ...args], {
    cwd: ROOT,
    env: environment(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => stdout.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => stderr.push(chunk));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => {
      const text = Buffer.concat(stdout).toString();
      const isOk = code === 0 && (check.accepts?.(text) ?? true);
      const output = `${text}${Buffer.concat(stderr).toString()}`;
      resolve({ isOk, output, durationMs: performance.now() - startMs });
    });
  });
}

/** Ours, without the signs of a test run: some tools behave differently, and antd's says nothing at all. */
function environment(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !/^VITEST|^NODE_ENV$|^TEST$/.test(name));
  return { ...Object.fromEntries(own), NO_UPDATE_CHECK: "1" };
}
