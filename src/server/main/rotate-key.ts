// The command `tollgate rotate-key`: a new master key for the same data. Only the data key is sealed anew, in one row, so
// no other row can be left behind; at every moment at least one of the two master keys on disk opens the database.
import { copyFileSync, existsSync, renameSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import {
  DATA_KEY,
  type MasterKey,
  openDataKey,
  readMasterKey,
  sealDataKey,
  writeKeyFile,
} from "#server/accounts/master-key.ts";
import type { Config } from "#server/config.ts";
import { randomHex } from "#server/secrets.ts";
import { type Db, openStore } from "#server/store/db.ts";
import { saveOption } from "#server/store/options.ts";
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
      ? await rotateInEnvironment(store.db, dataKey, config)
      : await rotateInFile(store.db, dataKey, { ...current, file: resolve(current.file) });
  } finally {
    await store.close();
  }
}

/** The new key comes from NEW_MASTER_KEY; the operator puts it into MASTER_KEY. */
async function rotateInEnvironment(db: Db, dataKey: Uint8Array, config: Config): Promise<string> {
  if (config.newMasterKey === undefined || config.newMasterKey === config.masterKey) {
    throw new CommandError("the master key comes from MASTER_KEY: give the new one in NEW_MASTER_KEY");
  }
  await saveOption(db, DATA_KEY.current, sealDataKey(dataKey, { bytes: Buffer.from(config.newMasterKey) }));
  return "the data key is sealed with NEW_MASTER_KEY now: start every server with that as MASTER_KEY. Backups made before need the old one";
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
  if (begun === undefined && existsSync(old))
    throw new CommandError(`${old} is of an earlier exchange: put it away with the backups it belongs to`);
  const bytes = begun ?? Buffer.from(randomHex(64));
  if (begun === undefined) {
    rmSync(next, { force: true });
    await writeKeyFile(next, bytes);
  }
  // The key on disk opens `current`, also after an exchange that was interrupted at its end.
  await saveOption(db, DATA_KEY.current, sealDataKey(dataKey, current));
  const sealed = sealDataKey(dataKey, { bytes });
  await saveOption(db, DATA_KEY.next, sealed);
  // From here both keys open the database.
  copyFileSync(file, old);
  renameSync(next, file);
  await saveOption(db, DATA_KEY.current, sealed);
  await saveOption(db, DATA_KEY.next, "");
  return `${file} is new. ${old} opens backups made before now: put it away with them, then remove it`;
}

/** undefined = there is none, or one that was not written to its end. */
async function readKeyFile(file: string): Promise<Uint8Array | undefined> {
  const text = existsSync(file) ? (await readFile(file, "utf8")).trim() : "";
  return text.length < 32 ? undefined : Buffer.from(text);
}
