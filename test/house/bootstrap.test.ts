// The bootstrap in a checkout of its own: what it must never do, and what a build leaves for servers that run.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { testDirectory } from "#test/worlds/directory.ts";
import { temporaryDir } from "#test/worlds/process.ts";

const ROOT = join(import.meta.dirname, "../..");

test.each([true, false])("never installs through a linked node_modules (its target exists: %s)", (exists) => {
  const { path, remove } = temporaryDir();
  const [checkout, others] = [join(path, "checkout"), join(path, "others")];
  for (const file of ["scripts/bootstrap.js", "package.json", "package-lock.json"])
    cpSync(join(ROOT, file), join(checkout, file));
  if (exists) {
    mkdirSync(others);
    writeFileSync(join(others, "precious"), "");
  }
  symlinkSync(others, join(checkout, "node_modules"));
  const { status, stderr } = spawnSync(process.execPath, ["scripts/bootstrap.js"], { cwd: checkout });
  expect(status).toBe(1);
  expect(String(stderr)).toContain("node_modules is a symbolic link");
  expect(existsSync(join(others, "precious"))).toBe(exists);
  // The next command does not wait for this one.
  expect(existsSync(join(checkout, ".cache/bootstrap.lock"))).toBe(false);
  remove();
});

const INSTALLED = [
  "scripts/bootstrap.js",
  "scripts/start.sh",
  "rolldown.config.ts",
  "package.json",
  "package-lock.json",
];

/** A small server in a checkout of its own. */
function makeCheckout(program: string): string {
  const checkout = join(testDirectory(), "checkout");
  for (const file of INSTALLED) cpSync(join(ROOT, file), join(checkout, file));
  symlinkSync(join(ROOT, "node_modules"), join(checkout, "node_modules"));
  mkdirSync(join(checkout, "src/server"), { recursive: true });
  writeFileSync(join(checkout, "src/server/main.ts"), program);
  return checkout;
}

describe("`npm start`", () => {
  /** Prints its process id; answers a signal in its own time, with an exit code of its own. */
  const PROGRAM = `
    import process from "node:process";
    const { pid, ppid, argv, env } = process;
    setInterval(() => undefined, 1000);
    process.on("SIGTERM", () => setTimeout(() => { console.log("drained"); process.exit(3); }, 300));
    console.log(JSON.stringify({ pid, ppid, args: argv.slice(2), arenas: env.MALLOC_ARENA_MAX }));
  `;

  test("leaves the server alone beside npm, which has its signals and its exit code", async () => {
    const checkout = makeCheckout(PROGRAM);
    // The smallest console.
    writeFileSync(join(checkout, "index.html"), "<p>console</p>");
    const options = { cwd: checkout, env: { PATH: process.env["PATH"] } };
    const npm = spawn("npm", ["start", "--silent", "--", "--a flag", "last"], options);
    const output: string[] = [];
    for (const stream of [npm.stdout, npm.stderr]) stream.on("data", (data) => output.push(String(data)));
    const exited = once(npm, "exit");
    const says = () => /^\{"pid".*\}$/m.exec(output.join(""))?.[0];
    await expect.poll(says, { timeout: 60_000 }).toBeDefined();
    const said: unknown = JSON.parse(says() ?? "");
    expect(said).toMatchObject({ ppid: npm.pid, args: ["--a flag", "last"], arenas: "2" });
    npm.kill("SIGTERM");
    expect(await exited).toEqual([3, null]);
    expect(output.join("")).toContain("drained");
  });

  test("ends with the code of a preparation that failed", () => {
    const checkout = makeCheckout(PROGRAM);
    writeFileSync(join(checkout, ".cache"), "");
    const { status, stdout } = spawnSync("sh", ["scripts/start.sh"], { cwd: checkout, encoding: "utf8" });
    expect([status, stdout]).toEqual([1, ""]);
  });
});

describe("a build of the server", () => {
  const PROGRAM = 'console.log("started", new URL("./thread.ts", import.meta.url).pathname);\n';

  /** Builds the version whose thread says `text`, and starts it. */
  function start(checkout: string, text: string): string {
    writeFileSync(join(checkout, "src/server/thread.ts"), `console.log("${text}");\n`);
    const args = ["scripts/bootstrap.js", "server", "no-install", "--", "dist/server/main.js"];
    // Not the runner's environment: builders say less to a test.
    const env = { PATH: process.env["PATH"] };
    const { status, stdout, stderr } = spawnSync(process.execPath, args, {
      cwd: checkout,
      encoding: "utf8",
      env,
    });
    if (status !== 0) throw new Error(stderr);
    return stdout;
  }

  /** As if the last build had been an hour earlier. */
  function letAnHourPass(checkout: string): void {
    const times = join(checkout, "dist/server/.builds");
    if (existsSync(times)) {
      const earlier = readFileSync(times, "utf8")
        .split("\n")
        .map((ms) => Number(ms) - 3_600_000);
      writeFileSync(times, earlier.join("\n"));
    }
    for (const name of globSync("dist/server/{*,.stamp}", { cwd: checkout })) {
      const path = join(checkout, name);
      const sec = statSync(path).mtimeMs / 1000 - 3600;
      utimesSync(path, sec, sec);
    }
  }

  test("says nothing on stdout, which is the started program's", () => {
    expect(start(makeCheckout(PROGRAM), "one")).toMatch(/^started \S+\/dist\/server\/thread-\S+\.js\n$/);
  });

  test("is refused with what to do where nothing can be written", () => {
    const checkout = makeCheckout(PROGRAM);
    // In the place of the folder, since permissions do not stop root.
    writeFileSync(join(checkout, ".cache"), "");
    expect(() => start(checkout, "one")).toThrow(
      /^\[tollgate\] .* cannot be made here: .* Run `npm run build` as the user/,
    );
  });

  test("leaves what servers of the four builds before need, and no more", () => {
    const checkout = makeCheckout(PROGRAM);
    const threads: string[] = [];
    for (const text of ["one", "two", "three", "four", "five", "six"]) {
      threads.push(start(checkout, text).replace("started ", "").trim());
      letAnHourPass(checkout);
    }
    expect(new Set(threads).size).toBe(6);
    expect(threads.map((path) => existsSync(path))).toEqual([false, true, true, true, true, true]);
    expect(existsSync(join(checkout, "dist/server/main.js"))).toBe(true);
  });
});
