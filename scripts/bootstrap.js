// Prepares a checkout: installs the packages and builds what is asked for (`console`, `server`), each only when it has to
// be done; then starts the program named after `--`, or prints with which Node to start one (`runtime`). Plain JavaScript
// without dependencies, since it runs on whatever Node (>= 20) starts npm the first time. No npm pre-scripts do this, because
// `ignore-scripts=true` (.npmrc) turns those off too.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  accessSync,
  existsSync,
  constants as fileModes,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { constants } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const MODULES = join(ROOT, "node_modules");
const LOCKFILE = join(ROOT, "package-lock.json");

/** What is built, from what, and by which program of which package. */
const PARTS = {
  console: {
    sources: [
      "src/console",
      "src/contract",
      "scripts/locale",
      "vite.config.ts",
      "tsconfig.base.json",
      "package-lock.json",
      "CHANGELOG.md",
    ],
    command: ["vite/bin/vite.js", "build", "--logLevel", "warn"],
  },
  server: {
    sources: [
      "src/server",
      "src/contract",
      "rolldown.config.ts",
      "tsconfig.base.json",
      "package.json",
      "package-lock.json",
    ],
    // Read as it is: a compiled copy would stand beside it, and stay there when the build is killed.
    command: [
      "rolldown/bin/cli.mjs",
      "--config",
      "rolldown.config.ts",
      "--configLoader",
      "native",
      "--log-level",
      "warn",
    ],
  },
};

const MINIMUM_NODE = 20;
const MAJOR = Number(process.versions.node.split(".")[0]);
const LOCK_DIR = join(ROOT, ".cache");
const LOCK = join(LOCK_DIR, "bootstrap.lock");
const LOCK_WAIT_MS = 10 * 60_000;
const ORPHAN_CHECK_MS = 250;
const OF_TESTS = /\.test\.tsx?$|[\\/]fixtures[\\/]/;
/** The files of one build are written within this time. */
const OF_ONE_BUILD_MS = 60_000;
/** So many builds of the server stay, the newest among them; and where it stands when they were made. */
const KEPT_BUILDS = 5;
const BUILD_TIMES = join(ROOT, "dist/server/.builds");
/** Where compiled code is kept from start to start. */
const COMPILED = ".cache/compile";

/** Prints one line of progress; stderr, so that stdout stays what the started program writes. */
function say(text) {
  process.stderr.write(`[tollgate] ${text}\n`);
}

/** Ends the process with a message that says what to do. */
function fail(text) {
  releaseLock();
  say(text);
  process.exit(1);
}

function read(path) {
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}

function modifiedMs(path) {
  return existsSync(path) ? statSync(path).mtimeMs : 0;
}

/** The packages a lockfile lists, by folder; nothing when there is no such file. */
function packagesIn(lockfile) {
  return existsSync(lockfile) ? JSON.parse(readFileSync(lockfile, "utf8")).packages : {};
}

/** True when what npm says it installed is exactly what the lockfile asks for, up to other platforms' packages. */
function isInstalled(needsDev) {
  const present = packagesIn(join(MODULES, ".package-lock.json"));
  const wanted = packagesIn(LOCKFILE);
  const isSame = (path) =>
    wanted[path]?.version === present[path].version && wanted[path].integrity === present[path].integrity;
  const mayBeAbsent = (entry) => entry.optional || entry.devOptional || (entry.dev && !needsDev);
  if (!Object.keys(present).every(isSame)) return false;
  return Object.keys(wanted).every((path) => path === "" || path in present || mayBeAbsent(wanted[path]));
}

/** The environment without this package's own programs in PATH, for an npm that is about to replace them. */
function outsideEnvironment() {
  const path = (process.env.PATH ?? "").split(delimiter).filter((entry) => !entry.startsWith(MODULES));
  return { ...process.env, PATH: path.join(delimiter) };
}

/** Runs npm with the same npm and Node that started us, falling back to the one in PATH. */
function npm(args) {
  const { npm_execpath: cli, npm_node_execpath: node } = process.env;
  const own = /npm-cli\.js$/.test(cli ?? "") && existsSync(cli) && Boolean(node) && !node.startsWith(MODULES);
  const command = own ? node : "npm";
  const options = { cwd: ROOT, env: outsideEnvironment(), stdio: ["ignore", "ignore", "inherit"] };
  // Windows finds npm.cmd only through a shell; the arguments are constants.
  return spawnSync(command, own ? [cli, ...args] : args, { ...options, shell: process.platform === "win32" });
}

/** `npm ci` empties the folder it finds: behind a link that is another checkout's. */
function refuseLink() {
  if (!lstatSync(MODULES, { throwIfNoEntry: false })?.isSymbolicLink()) return;
  const target = existsSync(MODULES) ? realpathSync(MODULES) : "nowhere";
  fail(
    `node_modules is a symbolic link to ${target}. Installing would delete the packages there, which may be another ` +
      "checkout's. Remove the link and run the command again.",
  );
}

function install() {
  refuseLink();
  const startMs = Date.now();
  say("installing packages (first run, or package-lock.json changed) …");
  const flags = ["--include=dev", "--include=optional", "--ignore-scripts", "--no-audit", "--no-fund"];
  const result = npm(["ci", ...flags, "--loglevel=error"]);
  if (result.error || result.status !== 0) {
    const why = result.error
      ? result.error.message
      : `npm ci ended with code ${result.status ?? result.signal}`;
    fail(
      `could not install the packages: ${why}. Is the npm registry reachable? Then run the command again.`,
    );
  }
  say(`packages installed in ${seconds(startMs)}`);
}

/** The pinned runtime that npm installed; this very Node where there is none for the machine but it is new enough. */
function runtime() {
  const { engines, optionalDependencies } = JSON.parse(read(join(ROOT, "package.json")));
  const program = process.platform === "win32" ? "bin/node.exe" : "bin/node";
  const pinned = Object.keys(optionalDependencies).map((name) => join(MODULES, name, program));
  const found = pinned.find((path) => existsSync(path));
  if (found) return found;
  const wantedMajor = Number(/\d+/.exec(engines.node)?.[0]);
  if (MAJOR >= wantedMajor) return process.execPath;
  const machine = `${process.platform}-${process.arch}`;
  return fail(
    `Tollgate needs Node ${engines.node}; no runtime came with the packages for ${machine}. Install one.`,
  );
}

/** Starts the program on the pinned runtime, passes signals on, and ends as it ends. */
function run(args) {
  // Compiled code is kept beside the checkout.
  // Two malloc arenas instead of one per thread keep some 3 MB free, and cost nothing where malloc is not the bottleneck.
  const env = { NODE_COMPILE_CACHE: join(ROOT, COMPILED), MALLOC_ARENA_MAX: "2", ...process.env };
  const child = spawn(runtime(), args, { cwd: ROOT, stdio: "inherit", env });
  // A terminal's Ctrl-C reaches the child by itself; twice would mean "at once" to it.
  process.on("SIGINT", () => process.stdin.isTTY || child.kill("SIGINT"));
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  // npm passes a signal to its shell only, which ends without telling us: we notice that our parent process has changed.
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    child.kill("SIGTERM");
  }, ORPHAN_CHECK_MS);
  child.on("error", (error) => fail(`could not start ${args[0]}: ${error.message}`));
  child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}

function* files(path) {
  if (!existsSync(path)) return;
  if (!statSync(path).isDirectory()) {
    yield path;
    return;
  }
  for (const name of readdirSync(path).sort()) yield* files(join(path, name));
}

/** Says in one hash what a part is built from. Tests beside the sources do not count. */
function hashOf(part) {
  const all = createHash("sha256");
  for (const root of PARTS[part].sources) {
    for (const path of files(join(ROOT, root))) {
      if (OF_TESTS.test(path)) continue;
      all.update(path.slice(ROOT.length)).update("\0").update(readFileSync(path)).update("\0");
    }
  }
  // The one build-time setting: which server the console talks to.
  return all.update(part === "console" ? (process.env.VITE_SERVER ?? "") : "").digest("hex");
}

/** Where it stands which sources a part was built from. */
function stampOf(part) {
  return join(ROOT, "dist", part, ".stamp");
}

/** Builds a part from what is in `src` now and remembers the hash of it. */
function build(part, hash) {
  const startMs = Date.now();
  say(`building the ${part} …`);
  if (part === "server") clearOldServers();
  // Whatever stops the build: what is there then was built from no known sources.
  rmSync(stampOf(part), { force: true });
  const [program, ...args] = PARTS[part].command;
  // Whatever NODE_ENV this shell has (tests run as NODE_ENV=test), Vite must build the production form of React.
  const env = { ...process.env, NODE_ENV: "production" };
  // What a builder has to say it says on stderr; stdout is the started program's, a new password for example.
  const options = { cwd: ROOT, stdio: ["ignore", "ignore", "inherit"], env };
  const result = spawnSync(runtime(), [join(MODULES, program), ...args], options);
  if (result.error || result.status !== 0) fail(`the ${part} could not be built; the reason is above.`);
  mkdirSync(join(ROOT, "dist", part), { recursive: true });
  if (part === "server")
    writeFileSync(BUILD_TIMES, [...buildTimes(), Date.now()].slice(-KEPT_BUILDS).join("\n"));
  writeFileSync(stampOf(part), hash);
  say(`${part} built in ${seconds(startMs)}`);
}

/** When the last builds of the server ended, oldest first. */
function buildTimes() {
  return read(BUILD_TIMES).split("\n").filter(Boolean).map(Number);
}

/**
 * Removes what only older builds have, and compiled code, which is of files with other names from now on. A build writes all its
 * files anew, so their age says it. The last few stay: a server that still runs on one of them reads some of its files only
 * when it needs them, and may have been running since before several updates.
 */
function clearOldServers() {
  const timesMs = buildTimes();
  const oldestMs = timesMs.length < KEPT_BUILDS ? 0 : timesMs.at(1 - KEPT_BUILDS) - OF_ONE_BUILD_MS;
  for (const path of files(join(ROOT, "dist/server"))) if (modifiedMs(path) < oldestMs) rmSync(path);
  rmSync(join(ROOT, COMPILED), { recursive: true, force: true });
}

function seconds(startMs) {
  return `${((Date.now() - startMs) / 1000).toFixed(1)} s`;
}

/** Commands may be run by a user that may only read this folder; what is out of date another user has to build. */
function refuseOthersFolder() {
  try {
    mkdirSync(LOCK_DIR, { recursive: true });
    accessSync(LOCK_DIR, fileModes.W_OK);
  } catch (error) {
    fail(
      `packages or builds are out of date, and cannot be made here: ${error.message}. ` +
        `Run \`npm run build\` as the user who owns ${ROOT}.`,
    );
  }
}

/** One preparation at a time: two `npm ci` in the same folder would delete each other's work. */
function acquireLock() {
  refuseOthersFolder();
  const startMs = Date.now();
  let hasSaid = false;
  while (!tryLock()) {
    if (Date.now() - startMs > LOCK_WAIT_MS)
      fail(`another preparation never ended; remove ${LOCK} and try again.`);
    if (!hasSaid) say("another command is preparing this folder; waiting for it …");
    hasSaid = true;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 250);
  }
}

function tryLock() {
  try {
    writeFileSync(LOCK, String(process.pid), { flag: "wx" });
    return true;
  } catch {
    if (!isAlive(Number(read(LOCK)))) rmSync(LOCK, { force: true });
    return false;
  }
}

function isAlive(pid) {
  // The file is empty for a moment between its creation and the writing of the number.
  if (pid === 0) return Date.now() - modifiedMs(LOCK) < 5000;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

function releaseLock() {
  if (read(LOCK) === String(process.pid)) rmSync(LOCK, { force: true });
}

function prepare({ parts, mayInstall }) {
  const hashes = new Map(parts.map((part) => [part, hashOf(part)]));
  const stale = () => parts.filter((part) => read(stampOf(part)) !== hashes.get(part));
  // A production install without the build tools is enough for what is built already.
  const needsInstall = () => mayInstall && !isInstalled(parts.length === 0 || stale().length > 0);
  if (!needsInstall() && stale().length === 0) return;
  acquireLock();
  if (needsInstall()) install();
  for (const part of stale()) build(part, hashes.get(part));
  releaseLock();
}

function main() {
  if (MAJOR < MINIMUM_NODE) {
    fail(`Node ${process.versions.node} is too old even to install: use Node ${MINIMUM_NODE} or newer.`);
  }
  const separator = process.argv.indexOf("--");
  const options = process.argv.slice(2, separator < 0 ? undefined : separator);
  const parts = Object.keys(PARTS).filter((part) => options.includes(part));
  prepare({ parts, mayInstall: !options.includes("no-install") });
  if (separator >= 0) run(process.argv.slice(separator + 1));
  else if (options.includes("runtime")) process.stdout.write(runtime());
  else runtime();
}

main();
