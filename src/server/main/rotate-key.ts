// The command `tollgate rotate-key`: a new master key for the same data. Only the data key is sealed anew, so no other row can be left
// behind; at every moment what is on disk opens the database, and both keys do until the new one is started with (requirements K03).
import { copyFileSync, existsSync, renameSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import {
  DATA_KEY,
  type MasterKey,
  openDataKey,
  readMasterKey,
  sealDataKey,
  unlockSecrets,
  writeKeyFile,
} from "#server/accounts/master-key.ts";
import type { Config } from "#server/config.ts";
import { randomHex } from "#server/secrets.ts";
import { type Db, openStore } from "#server/store/db.ts";
import { flush, flushNames, giveToOwnerOf } from "#server/store/files.ts";
import { findOption, saveOption } from "#server/store/options.ts";
import { CommandError } from "./command-error.ts";

/** Exchanges the master key and says what to do with the old one. Throws: CommandError, MasterKeyError, StoreError. */
export async function rotateMasterKey(config: Config): Promise<string> {
  const current = await readMasterKey(config);
  if (current.isNew) throw new CommandError(`there is no master key at ${current.file} to exchange`);
  const store = await openStore({ ...config, beforeMigration: (db) => openDataKey(db, current) });
  try {
    const dataKey = await openDataKey(store.db, current);
    if (dataKey === undefined) throw new CommandError("this database holds nothing that is sealed yet");
    return current.file === undefined
      ? await rotateInEnvironment(store.db, dataKey, { ...config, current })
      : await rotateInFile(store.db, dataKey, { ...current, file: resolve(current.file) });
  } finally {
    await store.close();
  }
}

/** The new key comes from NEW_MASTER_KEY; the operator puts it into MASTER_KEY. */
async function rotateInEnvironment(
  db: Db,
  dataKey: Uint8Array,
  { current, masterKey, newMasterKey }: Pick<Config, "masterKey" | "newMasterKey"> & { current: MasterKey },
): Promise<string> {
  if (newMasterKey === undefined || newMasterKey === masterKey) {
    throw new CommandError("the master key comes from MASTER_KEY: give the new one in NEW_MASTER_KEY");
  }
  await saveSeals(db, dataKey, current, { bytes: Buffer.from(newMasterKey) });
  return "NEW_MASTER_KEY opens the data key too now: start every server with that as MASTER_KEY. The first start ends the old one, which backups made before need";
}

type Key = Pick<MasterKey, "bytes">;

/** Both keys open the database when it is done; `current` does already, perhaps as the next of an exchange that was not ended. */
async function saveSeals(db: Db, dataKey: Uint8Array, current: Key, next: Key): Promise<void> {
  await saveOption(db, DATA_KEY.current, sealDataKey(dataKey, current));
  await saveOption(db, DATA_KEY.next, sealDataKey(dataKey, next));
}

async function rotateInFile(
  db: Db,
  dataKey: Uint8Array,
  current: MasterKey & { file: string },
): Promise<string> {
  const { file } = current;
  const [old, next] = [`${file}.old`, `${file}.next`];
  // Left by an exchange that was interrupted: the database may know this key already, so it is the one to go on with.
  const begun = await readKeyFile(next);
  if (begun === undefined && existsSync(old)) {
    if (await endExchange(db, current)) return doneWith(file, old);
    throw new CommandError(`${old} is of an earlier exchange: put it away with the backups it belongs to`);
  }
  const bytes = begun ?? Buffer.from(randomHex(64));
  if (begun === undefined) {
    rmSync(next, { force: true });
    await writeKeyFile(next, bytes);
  }
  giveToOwnerOf(file, next);
  await saveSeals(db, dataKey, current, { bytes });
  // Each step is on the disk before the next relies on it.
  copyFileSync(file, old);
  flush(old);
  flushNames(dirname(file));
  renameSync(next, file);
  flushNames(dirname(file));
  await endExchange(db, { ...current, bytes });
  return doneWith(file, old);
}

function doneWith(file: string, old: string): string {
  return `${file} is new. ${old} opens backups made before now: put it away with them, then remove it`;
}

/** Ends the key that was exchanged for this one, as a start with this one does. Returns whether there was one to end. */
async function endExchange(db: Db, key: MasterKey): Promise<boolean> {
  const hasNext = async () => ((await findOption(db, DATA_KEY.next)) ?? "") !== "";
  if (!(await hasNext())) return false;
  await unlockSecrets(db, key);
  return !(await hasNext());
}

/** undefined = there is none, or one that was not written to its end. */
async function readKeyFile(file: string): Promise<Uint8Array | undefined> {
  const text = existsSync(file) ? (await readFile(file, "utf8")).trim() : "";
  return text.length < 32 ? undefined : Buffer.from(text);
}
