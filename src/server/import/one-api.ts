// The command `tollgate import`: reads a One API database and fills an empty one of ours. Balances, keys, passwords and sums
// are those of the source; nothing of the source is changed. May be run again after an interruption (requirements W7.5).
import { IMPORT_UNFINISHED } from "#server/accounts/first-start.ts";
import { openDataKey, readMasterKey, unlockSecrets } from "#server/accounts/master-key.ts";
import { type Clock, systemClock } from "#server/clock.ts";
import type { Config } from "#server/config.ts";
import { openCoord } from "#server/coord/open.ts";
import { createEvents } from "#server/events.ts";
import { createLogger } from "#server/log.ts";
import { checkLedger } from "#server/money/ledger-check.ts";
import { createOptions, type Options } from "#server/options.ts";
import { createSecrets, randomHex } from "#server/secrets.ts";
import { openStore, type Store } from "#server/store/db.ts";
import { findOption, saveOption } from "#server/store/options.ts";
import { countUsers } from "#server/store/users.ts";
import { importChannels } from "./channels.ts";
import { hasGroupTable, readGroups, tellUnknown } from "./groups.ts";
import { importLogs } from "./logs.ts";
import { openSource } from "./open.ts";
import { tellPrices } from "./price-changes.ts";
import { importRedemptions } from "./redemptions.ts";
import { importSettings, readFound } from "./settings.ts";
import { type Family, familyOf, ImportError, type Source } from "./source.ts";
import { Tally } from "./tally.ts";
import { readSums, resetSequences, type Target } from "./target.ts";
import { importTokens } from "./tokens.ts";
import { importUsers } from "./users.ts";

export interface ImportOrder {
  /** SQLite file, file of mysqldump, or `postgres://…`. */
  readonly address: string;
  /** Where the log is when it is kept apart (LOG_SQL_DSN). */
  readonly logsAddress?: string | undefined;
  readonly isDryRun: boolean;
}

export interface ImportResult {
  /** Counts, sums and remarks for the operator. */
  readonly report: string;
  /** Sums are equal, every number was taken as it stood, no price was lost, and the books are exact. */
  readonly isExact: boolean;
}

export interface ImportTools {
  readonly config: Config;
  /** Called with lines about what it found and made. */
  say(text: string): void;
  /** Called after each batch with how many entries of the log were read. */
  progress(rows: number): void;
  readonly clock?: Clock;
}

/** Option with the time at which an import into this database ended. */
const IMPORT_DONE = "ImportDone";

/** Imports, or only counts. Throws: ImportError, StoreError, MasterKeyError with what the operator should do. */
export async function importOneApi(order: ImportOrder, tools: ImportTools): Promise<ImportResult> {
  const source = await openSource(order.address);
  const logs = order.logsAddress === undefined ? source : await openSource(order.logsAddress);
  try {
    const family = familyOf(source);
    tools.say(`source: ${family.name} (${source.engine})`);
    const plan = { source, logs, family };
    return order.isDryRun ? await rehearse(plan, tools) : await perform(plan, tools);
  } finally {
    await source.close();
    if (logs !== source) await logs.close();
  }
}

interface Plan {
  readonly source: Source;
  readonly logs: Source;
  readonly family: Family;
}

/** Reads and converts everything and writes nothing, not even a database. */
async function rehearse(plan: Plan, { progress, clock = systemClock }: ImportTools): Promise<ImportResult> {
  const tally = new Tally();
  const secrets = createSecrets(Buffer.from(randomHex(64)));
  await copy(
    plan,
    { secrets, tally, nowSec: clock.seconds(), store: undefined },
    { options: undefined, progress },
  );
  return { report: tally.render(), isExact: tally.isExact };
}

async function perform(plan: Plan, tools: ImportTools): Promise<ImportResult> {
  const { config, say, progress, clock = systemClock } = tools;
  const masterKey = await readMasterKey(config);
  const store = await openStore({ ...config, beforeMigration: (db) => openDataKey(db, masterKey) });
  try {
    await begin(store, clock);
    const secrets = await unlockSecrets(store.db, masterKey);
    if (masterKey.isNew)
      say(`master key: ${masterKey.file} was made; keep a copy, without it the sealed keys are lost`);
    const tally = new Tally();
    const target = { secrets, tally, nowSec: clock.seconds(), store };
    await withOptions(target, store, clock, (options) => copy(plan, target, { options, progress }));
    await resetSequences(store);
    tally.after = await readSums(store.patient);
    const mismatches = await checkLedger(store.patient);
    await saveOption(store.db, IMPORT_DONE, String(clock.seconds()));
    await saveOption(store.db, IMPORT_UNFINISHED, "");
    const books =
      mismatches.length === 0
        ? "books: exact"
        : `books: ${mismatches.length} balances differ from the ledger`;
    return { report: `${tally.render()}\n\n${books}`, isExact: tally.isExact && mismatches.length === 0 };
  } finally {
    await store.close();
  }
}

/** Throws: ImportError when the database has been used. */
async function begin({ db }: Store, clock: Clock): Promise<void> {
  const done = Number((await findOption(db, IMPORT_DONE)) ?? 0);
  if (done !== 0) {
    const date = new Date(done * 1000).toISOString().slice(0, 10);
    throw new ImportError(`this database was filled by an import on ${date}: there is nothing left to do`);
  }
  if ((await findOption(db, IMPORT_UNFINISHED)) ?? "") return;
  if ((await countUsers(db, {})) > 0) {
    throw new ImportError(
      "this database has users already, and an import keeps the ids of the source: give it an empty DATA_DIR or database",
    );
  }
  await saveOption(db, IMPORT_UNFINISHED, String(clock.seconds()));
}

async function withOptions(
  { secrets }: Target,
  store: Store,
  clock: Clock,
  work: (options: Options) => Promise<void>,
): Promise<void> {
  const events = createEvents(createLogger({ logLevel: "silent", pretty: false, now: systemClock.now }));
  const coord = await openCoord({ store, clock, node: randomHex(16) });
  const options = await createOptions({ db: store.db, secrets, coord, events });
  try {
    await work(options);
  } finally {
    options.close();
    await coord.close();
  }
}

/** In an order in which everything finds what it refers to. */
async function copy(
  { source, logs, family }: Plan,
  target: Target,
  { options, progress }: { options: Options | undefined; progress(rows: number): void },
): Promise<void> {
  const users = await importUsers(source, target);
  const found = await readFound(source);
  const groups = await readGroups(source, found, { family, tally: target.tally });
  tellUnknown(users, groups, target.tally);
  await importTokens(source, target, { users, groups });
  const passesAll = found.get("global.pass_through_request_enabled") === "true";
  const serving = await importChannels(source, target, { family, passesAll });
  await importRedemptions(source, target);
  const settings = await importSettings({ found, made: groups.made }, target, options);
  tellPrices(serving, { settings, family, tally: target.tally });
  await importLogs(logs, target, { family, onProgress: progress });
  if (source.tables.has("abilities"))
    target.tally.remark("the table abilities is not needed: it is derived from the channels");
  await tellOthers(source, target.tally);
}

const KNOWN = /^(?:users|tokens|channels|redemptions|options|logs|abilities|sqlite_.*)$/;

/** What forks keep beside (second factors, orders, subscriptions) has no place here; the operator must hear of it. */
async function tellOthers(source: Source, tally: Tally): Promise<void> {
  for (const table of source.tables.keys()) {
    if (KNOWN.test(table) || (table === "user_groups" && hasGroupTable(source))) continue;
    const rows = await source.count(table);
    if (rows > 0)
      tally.remark("tables that hold rows and have no place here were left out", `${table} (${rows})`);
  }
}
