// What the process tells the operator who started it: how to log in, where it listens, where the data is, or what is wrong.
import type { FirstStart } from "#server/accounts/first-start.ts";
import { isSiteUnnamed } from "#server/accounts/human.ts";
import type { Context } from "#server/context.ts";
import { redactText } from "#server/log/texts.ts";

/** An address as Node reports it. */
type Address = string | { address: string; family: string; port: number } | null;

function urlOf(address: Address): string {
  if (address === null || typeof address === "string") return String(address);
  const host = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return `http://${host}:${address.port}`;
}

/** The address that leads to the first run, as this machine reaches it; behind `#` no server or proxy sees the key. */
function firstRunAddress(ctx: Context, address: Address, key: string): string {
  const named = ctx.options.get("ServerAddress");
  const site = named === "" ? urlOf(address).replace(/\/\/(0\.0\.0\.0|\[::\])(?=:)/, "//127.0.0.1") : named;
  return `${site}/first-run#${key}`;
}

/** The lines printed once when the server is ready. `firstRunKey` = the first run is still open. */
export function banner(ctx: Context, address: Address, firstRunKey?: string): string {
  const { config, masterKey } = ctx;
  const data = config.databaseUrl === undefined ? `SQLite in ${config.dataDir}` : "PostgreSQL";
  const lines = [`Tollgate ${ctx.version} is listening on ${urlOf(address)}`, `Data: ${data}`];
  if (masterKey.isNew && masterKey.file !== undefined) {
    lines.push(`Master key: ${masterKey.file} was made; keep a copy, without it the sealed keys are lost`);
  }
  if (isSiteUnnamed(ctx))
    lines.push(
      "The human check is on, but ServerAddress is empty: registrations, letters and deletions of accounts are refused until it is set",
    );
  if (firstRunKey !== undefined)
    lines.push(
      `Set it up in a browser, once: ${firstRunAddress(ctx, address, firstRunKey)}`,
      "(under another name or address of this server it leads there too; it closes when a password is set)",
    );
  return lines.join("\n");
}

/** The line of a first start, whatever becomes of it. */
export function firstLogin(first: FirstStart): string {
  return `First login: ${first.username} / ${passwordText(first)}`;
}

function passwordText({ password, origin }: FirstStart): string {
  switch (origin) {
    case "preset":
      return "the password from INITIAL_ROOT_PASSWORD";
    case "default":
      return `${password} (the default: change it now)`;
    case "random":
      return `${password} (random, shown only now)`;
  }
}

/** Errors whose message says all that the operator needs. */
const EXPECTED = new Set([
  "CommandError",
  "ConfigError",
  "DumpError",
  "ImportError",
  "MasterKeyError",
  "StoreError",
]);

const FOREIGN_HOST = "HOST is not an address of this machine";

/** What the system says of PORT and HOST, in words that name them. */
const SYSTEM_FAULTS: Readonly<Record<string, string | undefined>> = {
  EADDRINUSE: "the port is already in use: stop the other program, or choose another with PORT",
  EADDRNOTAVAIL: FOREIGN_HOST,
  ENOTFOUND: FOREIGN_HOST,
  EAI_AGAIN: FOREIGN_HOST,
};

/** One or more lines about why the server did not start, without a stack for what the operator can put right. */
export function explainFailure(error: unknown): string {
  if (!(error instanceof Error)) return redactText(String(error));
  const code = "code" in error ? String(error.code) : "";
  const known = SYSTEM_FAULTS[code];
  if (known !== undefined) return known;
  if (code === "EACCES") return `no permission: ${error.message}`;
  // The system's own words say what failed where: a disk that is read-only or full, a folder that is a file.
  const isExpected = EXPECTED.has(error.name) || "syscall" in error;
  return redactText(isExpected ? error.message : (error.stack ?? error.message));
}
