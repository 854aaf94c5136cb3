// The commands beside serving: backup, import, rotate-key, reset-password. Each says what it did on stdout and ends with 0, or with 2
// when what it found needs a look, or says in a sentence why not and ends with 1.
import { parseArgs } from "node:util";
import { readConfig } from "#server/config.ts";
import { backUp } from "./backup.ts";
import { explainFailure } from "./banner.ts";
import { CommandError } from "./command-error.ts";
import { createProgress } from "./progress.ts";

const USAGE = `usage:
  tollgate                                  serve
  tollgate backup [file]                    copy the SQLite database, also while the server runs
  tollgate import [--dry-run] [--logs <address>] <address>
                                            fill an empty database from one of One API: a SQLite file,
                                            a file of mysqldump, or postgres://…
  tollgate rotate-key                       seal the data key with a new master key
  tollgate reset-password [--factors] [name]
                                            give an account, root's if none is named, a new password,
                                            and take away its second factors
`;

/** Runs a command of the command line and returns the exit code. */
export async function runCommand(args: readonly string[]): Promise<number> {
  // Node by itself would print everything that hangs on an error.
  for (const fault of ["uncaughtException", "unhandledRejection"]) {
    process.on(fault, (error: unknown) => {
      process.stderr.write(`tollgate: ${explainFailure(error)}\n`);
      process.exit(1);
    });
  }
  const [name = "", ...rest] = args;
  if (name === "help" || args.some((arg) => arg === "--help" || arg === "-h")) {
    process.stdout.write(USAGE);
    return 0;
  }
  try {
    const command = COMMANDS.get(name);
    if (command === undefined) throw new CommandError(`unknown command ${args.join(" ")}\n${USAGE}`);
    return await command(rest);
  } catch (error) {
    process.stderr.write(`tollgate: ${explainFailure(error)}\n`);
    return 1;
  }
}

const COMMANDS: ReadonlyMap<string, (args: string[]) => Promise<number>> = new Map([
  ["backup", runBackup],
  ["import", runImport],
  ["rotate-key", runRotation],
  ["reset-password", runReset],
]);

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Throws: CommandError for what the command does not know. */
function parse(args: string[], options: Record<string, { type: "boolean" | "string" }>, positionals: number) {
  try {
    const parsed = parseArgs({ args, options, allowPositionals: true });
    if (parsed.positionals.length > positionals)
      throw new CommandError(`unexpected argument ${parsed.positionals[positionals]}\n${USAGE}`);
    return parsed;
  } catch (cause) {
    if (cause instanceof CommandError) throw cause;
    throw new CommandError(`${cause instanceof Error ? cause.message : String(cause)}\n${USAGE}`, { cause });
  }
}

async function runBackup(args: string[]): Promise<number> {
  const { positionals } = parse(args, {}, 1);
  const { file, mismatches, leftovers } = await backUp(readConfig(), positionals[0]);
  for (const left of leftovers) say(`removed: ${left}, left by a backup that was interrupted`);
  say(`backup: ${file}`);
  say("integrity: ok");
  if (mismatches === undefined) say("books: not checked, the schema is of another version");
  else say(mismatches === 0 ? "books: exact" : `books: ${mismatches} balances differ from the ledger`);
  say("keep the master key too, apart from this file: without it the sealed keys are lost");
  return mismatches === undefined || mismatches === 0 ? 0 : 2;
}

async function runImport(args: string[]): Promise<number> {
  const { values, positionals } = parse(
    args,
    { "dry-run": { type: "boolean" }, logs: { type: "string" } },
    1,
  );
  const [address] = positionals;
  if (address === undefined) throw new CommandError(`no database was given\n${USAGE}`);
  const { importOneApi } = await import("#server/import/one-api.ts");
  const logsAddress = typeof values["logs"] === "string" ? values["logs"] : undefined;
  const isDryRun = values["dry-run"] === true;
  const progress = createProgress("log entries", process.stdout);
  const { report, isExact } = await importOneApi(
    { address, logsAddress, isDryRun },
    { config: readConfig(), say, progress: progress.show },
  ).finally(progress.end);
  say(`\n${report}`);
  if (isDryRun) say("\ndry run: nothing was written");
  return isExact ? 0 : 2;
}

async function runRotation(args: string[]): Promise<number> {
  parse(args, {}, 0);
  const { rotateMasterKey } = await import("./rotate-key.ts");
  say(await rotateMasterKey(readConfig()));
  return 0;
}

async function runReset(args: string[]): Promise<number> {
  const { values, positionals } = parse(args, { factors: { type: "boolean" } }, 1);
  const { resetPassword } = await import("./reset-password.ts");
  const isFactorless = values["factors"] === true;
  const reset = await resetPassword(readConfig(), positionals[0] ?? "root", { isFactorless });
  const { username, password, isDisabled, isProtected } = reset;
  say(`new password of ${username}: ${password}`);
  say("its sessions and its access token have ended");
  if (isFactorless) say("its second factors are gone");
  if (isProtected) say("its second factors are still asked for; if they are lost, run this with --factors");
  if (isDisabled) say("the account is disabled: another super administrator has to enable it");
  return 0;
}
