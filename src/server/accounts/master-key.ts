// The master key: from MASTER_KEY, or from DATA_DIR/master.key, which is made on the first start. A database remembers by
// a keyed hash which key it was made with; another key ends the start before anything is written (reliability K02).
import { mkdir, open, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "#server/config.ts";
import { constantTimeEqual, randomHex, type Secrets } from "#server/secrets.ts";
import type { Db } from "#server/store/db.ts";
import { findOption, insertOptionOnce } from "#server/store/options.ts";

export interface MasterKey {
  readonly bytes: Uint8Array;
  /** Where it is kept; undefined when it comes from the environment. */
  readonly file: string | undefined;
  /** Made by this start and not on disk yet. */
  readonly isNew: boolean;
}

/** The master key is unusable; the message tells the operator what to do. */
export class MasterKeyError extends Error {
  override readonly name = "MasterKeyError";
}

const CHECK_OPTION = "MasterKeyCheck";
const CHECK_TEXT = "tollgate master key check";

/** Reads the key or makes one; writes nothing. Throws: MasterKeyError for a file that is too short to be a key. */
export async function readMasterKey(config: Pick<Config, "masterKey" | "dataDir">): Promise<MasterKey> {
  if (config.masterKey !== undefined) {
    return { bytes: Buffer.from(config.masterKey), file: undefined, isNew: false };
  }
  const file = join(config.dataDir, "master.key");
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw new MasterKeyError(`cannot read ${file}: ${error.message}`, { cause: error });
  });
  if (text === undefined) return { bytes: Buffer.from(randomHex(64)), file, isNew: true };
  if (text.trim().length < 32)
    throw new MasterKeyError(`${file} holds no master key; restore it from your backup`);
  return { bytes: Buffer.from(text.trim()), file, isNew: false };
}

/** Compares the key with the one this database was made with, or ties a new database to it. Throws: MasterKeyError. */
export async function confirmMasterKey(db: Db, secrets: Secrets, key: MasterKey): Promise<void> {
  const check = secrets.hash(CHECK_TEXT);
  const known = await findOption(db, CHECK_OPTION);
  if (known !== undefined) {
    if (!constantTimeEqual(known, check)) throw new MasterKeyError(wrongKey(key));
    return;
  }
  // The file first: a database tied to a key that no file holds would be lost.
  if (key.isNew && key.file !== undefined) await writeKey(key.file, key.bytes);
  if (await insertOptionOnce(db, CHECK_OPTION, check)) return;
  if (constantTimeEqual((await findOption(db, CHECK_OPTION)) ?? "", check)) return;
  // Another node tied the database to its own key a moment before.
  if (key.isNew && key.file !== undefined) await rm(key.file);
  throw new MasterKeyError(wrongKey(key));
}

function wrongKey({ file, isNew }: MasterKey): string {
  if (file === undefined) return "MASTER_KEY is not the key this database was made with";
  return isNew
    ? `this database was made with a master key, but ${file} is missing: restore the file, or set MASTER_KEY`
    : `${file} is not the master key this database was made with: restore the right file, or set MASTER_KEY`;
}

async function writeKey(file: string, bytes: Uint8Array): Promise<void> {
  await mkdir(join(file, ".."), { recursive: true, mode: 0o700 });
  const handle = await open(file, "wx", 0o600);
  try {
    await handle.writeFile(`${Buffer.from(bytes).toString("utf8")}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
