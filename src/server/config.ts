// The only reader of the process environment. Reads once, refuses what it does not understand, and says so.
import { totalmem } from "node:os";
import { z } from "zod";
import { withoutEndSlashes } from "#contract/wire.ts";

/** One private destination that upstreams may have: a CIDR or address, and a port when only one is meant. */
export interface EgressRule {
  readonly cidr: string;
  readonly port: number | undefined;
}

/** What the usual variables say of outbound proxies; "" = nothing. */
export interface ProxyEnvironment {
  readonly http: string;
  readonly https: string;
  readonly noProxy: string;
}

/** So many calls per window and address; 0 = no limit. */
export interface RateLimit {
  readonly limit: number;
  readonly windowMs: number;
}

export interface Config {
  readonly port: number;
  readonly host: string;
  /** Listens on loopback only: no other machine can reach it (requirements J2). */
  readonly isLocal: boolean;
  readonly dataDir: string;
  /** `postgres://…`; undefined = SQLite in `dataDir`. */
  readonly databaseUrl: string | undefined;
  readonly workers: number;
  /** npm started this program (`npm start`) and waits beside it. */
  readonly isUnderNpm: boolean;
  readonly masterKey: string | undefined;
  /** Only for exchanging a master key that comes from the environment. */
  readonly newMasterKey: string | undefined;
  readonly initialRootPassword: string | undefined;
  readonly initialRootToken: string | undefined;
  readonly initialRootAccessToken: string | undefined;
  readonly egressAllow: readonly EgressRule[];
  /** What outbound proxies alone may be besides. */
  readonly egressProxyAllow: readonly EgressRule[];
  /** The proxies of the environment; undefined = it is not asked (requirements C08). */
  readonly proxyEnvironment: ProxyEnvironment | undefined;
  /** CIDRs whose X-Forwarded-For and X-Forwarded-Proto count. */
  readonly trustedProxies: readonly string[];
  readonly rateLimits: { readonly api: RateLimit; readonly web: RateLimit; readonly critical: RateLimit };
  /** Connections of clients that one process may hold; 0 = what the system's limit of open files allows. */
  readonly maxConnections: number;
  /** Memory that one process may use: its share of what was set, or else of the container's limit or the machine's memory. */
  readonly memoryBytes: number;
  /** Time limit of a relayed call that is no stream; 0 = none. */
  readonly relayTimeoutMs: number;
  /** How often options and channels are read again besides being told of changes. */
  readonly syncFrequencyMs: number;
  /** How often all channels are tested; 0 = never. */
  readonly channelTestFrequencyMs: number;
  /** How often the balances of channels are asked for; 0 = never. */
  readonly channelBalanceFrequencyMs: number;
  /** The pause between two channels of a test or balance run. */
  readonly pollingIntervalMs: number;
  /** Entries of the usage log about calls are removed when they are older; 0 = never. */
  readonly logRetentionSec: number;
  /** How long running requests may finish after SIGTERM. */
  readonly drainTimeoutMs: number;
  readonly logLevel: string;
  /** Where GitHub, its API and Turnstile are; other addresses are for tests and mirrors. No trailing slash. */
  readonly githubUrl: string;
  readonly githubApiUrl: string;
  readonly turnstileUrl: string;
  /** Instead of all hosts of 飞书, 钉钉, 企业微信, Telegram and Slack, for tests; undefined = theirs. No trailing slash. */
  readonly chatVendorUrl: string | undefined;
}

/** The environment asks for something impossible; the message names the variable and what it should be. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

const MINUTE_MS = 60_000;
const MEBIBYTE = 1024 * 1024;

/** Whole number between two bounds; empty text counts as absent. */
function count(min: number, max: number, fallback: number) {
  return z
    .string()
    .trim()
    .refine((text) => text === "" || (/^\d+$/.test(text) && Number(text) >= min && Number(text) <= max), {
      error: `must be a whole number from ${min} to ${max}`,
    })
    .optional()
    .transform((text) => (text === undefined || text === "" ? fallback : Number(text)));
}

const text = z
  .string()
  .trim()
  .optional()
  .transform((value) => (value === "" ? undefined : value));

const Network = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]);

/** An address or CIDR that can exist. */
function isNetwork(text: string): boolean {
  return Network.safeParse(text).success;
}

function list(value: string | undefined): string[] {
  return (value ?? "")
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

const cidrs = z
  .string()
  .optional()
  .refine((value) => list(value).every(isNetwork), {
    error: "must be a comma list of addresses or CIDRs, such as 10.0.0.0/8",
  })
  .transform(list);

/** `10.0.0.0/8`, `10.0.0.0/8:8000`, `[fd00::]/8:8000`, `::1/128`. */
const EGRESS_RULE =
  /^(?:\[([0-9a-fA-F:.]+)\](\/\d{1,3})?|([0-9.]+(?:\/\d{1,2})?)|([0-9a-fA-F:]+(?:\/\d{1,3})?))(?::(\d{1,5}))?$/;

function parseEgressRule(part: string): EgressRule | undefined {
  const found = EGRESS_RULE.exec(part);
  if (!found) return undefined;
  const [, bracketed, bracketedPrefix = "", v4, v6, port] = found;
  const cidr = bracketed === undefined ? (v4 ?? v6 ?? "") : bracketed + bracketedPrefix;
  if (!isNetwork(cidr) || Number(port ?? 0) > 65_535) return undefined;
  return { cidr, port: port === undefined ? undefined : Number(port) };
}

const egressRules = z
  .string()
  .optional()
  .refine((value) => list(value).every((part) => parseEgressRule(part) !== undefined), {
    error: "must be a comma list of CIDR[:port], such as 127.0.0.0/8,10.0.0.0/8:8000,[fd00::]/8:8000",
  })
  .transform((value) => list(value).map((part) => parseEgressRule(part) ?? { cidr: part, port: undefined }));

const POSTGRES = /^postgres(ql)?:\/\//;

const databaseUrl = text
  .refine((value) => value === undefined || POSTGRES.test(value), {
    error:
      "must begin with postgres:// — Tollgate keeps its data in PostgreSQL, or in SQLite when this is unset; MySQL is not supported",
  })
  .refine((value) => value === undefined || !POSTGRES.test(value) || URL.canParse(value), {
    error:
      "must be a whole address, postgres://… with a port up to 65535; in the password write %23 for #, %2F for /, %40 for @",
  });

/** Some readers of env files hand on the quotes around a value; a folder with quotes in its name would be a new, empty one. */
const dataDir = text
  .refine((value) => !/^(["']).*\1$/.test(value ?? ""), {
    error: "must be a path without quotes around it",
  })
  .transform((value) => value ?? "./data");

/** An http(s) address without its trailing slashes. */
function address(fallback: string) {
  return text
    .refine((value) => value === undefined || (/^https?:\/\//.test(value) && URL.canParse(value)), {
      error: "must be an address that begins with http:// or https://",
    })
    .transform((value) => withoutEndSlashes(value ?? fallback));
}

const masterKey = text.refine((value) => value === undefined || value.length >= 32, {
  error: "must have at least 32 characters; `openssl rand -hex 32` makes a good one",
});

const Environment = z.object({
  PORT: count(0, 65_535, 3000),
  HOST: text.transform((value) => value ?? "127.0.0.1"),
  DATA_DIR: dataDir,
  DATABASE_URL: databaseUrl,
  SQL_DSN: databaseUrl,
  WORKERS: count(1, 256, 1),
  MASTER_KEY: masterKey,
  NEW_MASTER_KEY: masterKey,
  INITIAL_ROOT_PASSWORD: text.refine(
    (value) => value === undefined || (value.length >= 8 && value.length <= 128),
    {
      error: "must have 8 to 128 characters",
    },
  ),
  INITIAL_ROOT_TOKEN: text
    .transform((value) => value?.replace(/^sk-/, ""))
    .refine((value) => value === undefined || /^[0-9A-Za-z]{16,128}$/.test(value), {
      error: "must be 16 to 128 letters and digits, with or without sk-",
    }),
  INITIAL_ROOT_ACCESS_TOKEN: text.refine(
    (value) => value === undefined || /^[0-9A-Za-z]{32,128}$/.test(value),
    {
      error: "must be 32 to 128 letters and digits",
    },
  ),
  EGRESS_ALLOW: egressRules,
  EGRESS_PROXY_ALLOW: egressRules,
  EGRESS_PROXY_ENV: text.refine((value) => value === undefined || value === "0" || value === "1", {
    error: "must be 1 to use HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY, else 0",
  }),
  TRUSTED_PROXIES: cidrs,
  GLOBAL_API_RATE_LIMIT: count(0, 1_000_000_000, 480),
  GLOBAL_WEB_RATE_LIMIT: count(0, 1_000_000_000, 240),
  CRITICAL_RATE_LIMIT: count(0, 1_000_000_000, 20),
  MAX_CONNECTIONS: count(0, 10_000_000, 0),
  MAX_MEMORY: count(0, 100_000_000, 0),
  RELAY_TIMEOUT: count(0, 86_400, 300),
  SYNC_FREQUENCY: count(1, 86_400, 60),
  CHANNEL_TEST_FREQUENCY: count(0, 525_600, 0),
  CHANNEL_UPDATE_FREQUENCY: count(0, 525_600, 0),
  POLLING_INTERVAL: count(0, 3_600, 0),
  LOG_RETENTION_DAYS: count(0, 36_500, 0),
  DRAIN_TIMEOUT: count(0, 86_400, 120),
  GITHUB_URL: address("https://github.com"),
  GITHUB_API_URL: address("https://api.github.com"),
  TURNSTILE_URL: address("https://challenges.cloudflare.com"),
  CHAT_VENDOR_URL: address(""),
  LOG_LEVEL: text
    .transform((value) => value ?? "info")
    .refine((value) => ["fatal", "error", "warn", "info", "debug", "trace", "silent"].includes(value), {
      error: "must be one of fatal, error, warn, info, debug, trace, silent",
    }),
});

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/** Without a container's limit Node says 0, or more than any machine has. */
function memoryThere(): number {
  return Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem());
}

type Variables = Readonly<Record<string, string | undefined>>;

/** Node itself would send what it fetches by a proxy of its own, past the channels' and past the address policy (requirements C08). */
function refuseNodesProxy(environment: Variables): void {
  const isOn = (environment["NODE_USE_ENV_PROXY"] ?? "") !== "" && environment["NODE_USE_ENV_PROXY"] !== "0";
  const options = `${environment["NODE_OPTIONS"] ?? ""} ${process.execArgv.join(" ")}`;
  if (isOn || /(^|\s)--use-env-proxy(\s|=|$)/.test(options))
    throw new ConfigError(
      "NODE_USE_ENV_PROXY and --use-env-proxy must not be used: set EGRESS_PROXY_ENV=1 instead",
    );
}

/** Lower case wins over upper case; ALL_PROXY serves where the specific variable is absent. */
function readProxyEnvironment(environment: Variables): ProxyEnvironment {
  const read = (name: string) => environment[name.toLowerCase()] || environment[name] || "";
  const all = read("ALL_PROXY");
  return { http: read("HTTP_PROXY") || all, https: read("HTTPS_PROXY") || all, noProxy: read("NO_PROXY") };
}

/** Reads the environment. Throws: ConfigError that names every variable that is wrong. */
export function readConfig(environment: Record<string, string | undefined> = process.env): Config {
  const read = Environment.safeParse(environment);
  if (!read.success) {
    // The values stay out of the message: several of these variables are secrets.
    throw new ConfigError(
      read.error.issues.map((issue) => `${issue.path.join(".")} ${issue.message}`).join("\n"),
    );
  }
  // Node itself would trust any certificate from then on, the database's among them (requirements R22).
  if (environment["NODE_TLS_REJECT_UNAUTHORIZED"] === "0")
    throw new ConfigError(
      "NODE_TLS_REJECT_UNAUTHORIZED must not be 0: name your own authority in NODE_EXTRA_CA_CERTS instead",
    );
  refuseNodesProxy(environment);
  const env = read.data;
  const database = env.DATABASE_URL ?? env.SQL_DSN;
  if (env.WORKERS > 1 && database === undefined) {
    throw new ConfigError(
      "WORKERS above 1 needs PostgreSQL: name it in DATABASE_URL; with SQLite leave WORKERS at 1",
    );
  }
  return {
    port: env.PORT,
    host: env.HOST,
    isLocal: isLoopback(env.HOST),
    dataDir: env.DATA_DIR,
    databaseUrl: database,
    workers: env.WORKERS,
    isUnderNpm:
      environment["npm_package_name"] === "tollgate" && environment["npm_lifecycle_event"] === "start",
    masterKey: env.MASTER_KEY,
    newMasterKey: env.NEW_MASTER_KEY,
    initialRootPassword: env.INITIAL_ROOT_PASSWORD,
    initialRootToken: env.INITIAL_ROOT_TOKEN,
    initialRootAccessToken: env.INITIAL_ROOT_ACCESS_TOKEN,
    egressAllow: env.EGRESS_ALLOW,
    egressProxyAllow: env.EGRESS_PROXY_ALLOW,
    proxyEnvironment: env.EGRESS_PROXY_ENV === "1" ? readProxyEnvironment(environment) : undefined,
    trustedProxies: env.TRUSTED_PROXIES,
    rateLimits: {
      api: { limit: env.GLOBAL_API_RATE_LIMIT, windowMs: 3 * MINUTE_MS },
      web: { limit: env.GLOBAL_WEB_RATE_LIMIT, windowMs: 3 * MINUTE_MS },
      critical: { limit: env.CRITICAL_RATE_LIMIT, windowMs: 20 * MINUTE_MS },
    },
    maxConnections: env.MAX_CONNECTIONS,
    memoryBytes: Math.floor((env.MAX_MEMORY * MEBIBYTE || memoryThere()) / env.WORKERS),
    relayTimeoutMs: env.RELAY_TIMEOUT * 1000,
    syncFrequencyMs: env.SYNC_FREQUENCY * 1000,
    channelTestFrequencyMs: env.CHANNEL_TEST_FREQUENCY * MINUTE_MS,
    pollingIntervalMs: env.POLLING_INTERVAL * 1000,
    logRetentionSec: env.LOG_RETENTION_DAYS * 86_400,
    drainTimeoutMs: env.DRAIN_TIMEOUT * 1000,
    logLevel: env.LOG_LEVEL,
    githubUrl: env.GITHUB_URL,
    githubApiUrl: env.GITHUB_API_URL,
    turnstileUrl: env.TURNSTILE_URL,
    chatVendorUrl: env.CHAT_VENDOR_URL || undefined,
    channelBalanceFrequencyMs: env.CHANNEL_UPDATE_FREQUENCY * MINUTE_MS,
  };
}
