// The real server inside a test: temporary SQLite file or a given PostgreSQL, no sockets unless asked for.
import { mkdtempSync, rmSync } from "node:fs";
import type { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type App, createApp, createHttpServer } from "#server/app.ts";
import type { Clock } from "#server/clock.ts";
import { type Config, readConfig } from "#server/config.ts";
import { type Context, createContext } from "#server/context.ts";
import type { Logger } from "#server/log.ts";
import { createMigratedPostgres, layCopy } from "./templates.ts";

/** A management answer, read. */
export interface Answer {
  readonly status: number;
  readonly success: boolean;
  readonly message: string;
  // The tests know what they asked for; schemas check the shape elsewhere.
  // biome-ignore lint/suspicious/noExplicitAny: test code reads fields of any answer.
  readonly data: any;
  // biome-ignore lint/suspicious/noExplicitAny: fields beside `data`.
  readonly [beside: string]: any;
}

/** The actor: headers with a session cookie or an access token. */
export type Who = Readonly<Record<string, string>>;

export interface TestApp {
  readonly ctx: Context;
  readonly app: App;
  /** Calls without a socket; not for relay paths. */
  request(path: string, init?: RequestInit): Promise<Response>;
  /** Calls the management API and reads the answer. */
  call(who: Who, method: string, path: string, body?: unknown): Promise<Answer>;
  /** Logs in and returns the headers of that session. Throws: with the server's message. */
  login(username: string, password: string): Promise<Who>;
  /** Listens on a free loopback port and returns the address, e.g. `http://127.0.0.1:40123`. */
  listen(): Promise<string>;
  close(): Promise<void>;
}

export interface TestAppOptions {
  readonly databaseUrl?: string | undefined;
  readonly clock?: Clock;
  /** Receives what is logged; nothing is written when absent. */
  readonly logger?: Logger;
  /** Environment variables over the test's own: no limits, loopback allowed, silent. */
  readonly env?: Readonly<Record<string, string>>;
  /** Keeps the files, for a second app on the same data. Removed by the test. */
  readonly dataDir?: string;
}

export const rootAccess = "0123456789abcdef0123456789abcdef";
/** Headers of root's access token. */
export const asRoot: Who = { authorization: rootAccess };
export const asGuest: Who = {};

function configOf(dataDir: string, { databaseUrl, env }: TestAppOptions): Config {
  return readConfig({
    DATA_DIR: dataDir,
    DATABASE_URL: databaseUrl,
    PORT: "0",
    EGRESS_ALLOW: "127.0.0.0/8",
    INITIAL_ROOT_ACCESS_TOKEN: rootAccess,
    GLOBAL_API_RATE_LIMIT: "0",
    GLOBAL_WEB_RATE_LIMIT: "0",
    CRITICAL_RATE_LIMIT: "0",
    LOG_LEVEL: "silent",
    ...env,
  });
}

/** What a first start makes depends on these: the keys, root's credentials, and whether others can reach the server. */
const OF_FIRST_START = /^(INITIAL_|MASTER_KEY|HOST$|DATA)/;

/** Whether the first start would make what it made before: with SQLite, files of its own, and the real time. */
function isUsual({ databaseUrl, dataDir, clock, env = {} }: TestAppOptions): boolean {
  if (databaseUrl !== undefined || dataDir !== undefined || clock !== undefined) return false;
  return !Object.keys(env).some((name) => OF_FIRST_START.test(name));
}

async function startOnce(dataDir: string): Promise<void> {
  const ctx = await createContext(configOf(dataDir, {}));
  await ctx.dispose();
}

/** Starts the server in this process; usually on a copy of the data of one that has started before. */
export async function createTestApp(options: TestAppOptions = {}): Promise<TestApp> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), "tollgate-app-"));
  if (isUsual(options)) await layCopy("started", dataDir, startOnce);
  const config = configOf(dataDir, options);
  const ctx = await createContext(config, {
    ...(options.clock ? { clock: options.clock } : {}),
    ...(options.logger ? { logger: options.logger } : {}),
  });
  const app = createApp(ctx);
  const servers: ReturnType<typeof createServer>[] = [];

  async function call(who: Who, method: string, path: string, body?: unknown): Promise<Answer> {
    const response = await app.request(path, {
      method,
      headers: { host: "localhost", "content-type": "application/json", ...who },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    // Every management answer but 429 is a JSON object.
    const answer: Answer = text === "" ? {} : JSON.parse(text);
    return { ...answer, status: response.status };
  }

  return {
    ctx,
    app,
    request: app.request,
    call,
    async login(username, password) {
      const response = await app.request("/api/user/login", {
        method: "POST",
        headers: { host: "localhost" },
        body: JSON.stringify({ username, password }),
      });
      const cookie = response.headers.get("set-cookie")?.split(";")[0];
      if (cookie === undefined) throw new Error(`login of ${username}: ${await response.text()}`);
      return { cookie };
    },
    listen() {
      const server = createHttpServer(app);
      servers.push(server);
      return new Promise((resolve, reject) => {
        server.once("error", reject);
        server.listen(0, "127.0.0.1", () => {
          const address = server.address();
          if (address === null || typeof address === "string") reject(new Error("no port"));
          else resolve(`http://127.0.0.1:${address.port}`);
        });
      });
    },
    async close() {
      for (const server of servers) {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      }
      await ctx.dispose();
      if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** A kind of database to run a suite on. */
export interface TestDatabase {
  readonly name: string;
  /** Makes one without rows; `url` is undefined for SQLite. */
  create(): Promise<{ url: string | undefined; drop(): Promise<void> }>;
}

/** For `describe.each`: the same promises hold on both. */
export const databases: readonly TestDatabase[] = [
  { name: "SQLite", create: async () => ({ url: undefined, drop: async () => undefined }) },
  { name: "PostgreSQL", create: createMigratedPostgres },
];

/** Starts the server on a database of its own, which goes when it closes. */
export async function createAppOn(
  database: TestDatabase,
  options: Omit<TestAppOptions, "databaseUrl"> = {},
): Promise<TestApp> {
  const { url, drop } = await database.create();
  const app = await createTestApp({ ...options, databaseUrl: url });
  return {
    ...app,
    async close() {
      await app.close();
      await drop();
    },
  };
}
