// The master key: from MASTER_KEY, or from DATA_DIR/master.key, which is made on the first start. It opens the data key,
// which the database holds sealed and from which all hashes and seals are derived; so the master key can be exchanged
// without touching a row (rotate-key.ts). With a wrong one the start fails before anything is written (requirements K01, K02).
import { existsSync } from "node:fs";
import { link, open, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Config } from "#server/config.ts";
import { hideSecret } from "#server/log/texts.ts";
import {
  createSecrets,
  type Overhear,
  randomHex,
  randomId,
  SealError,
  type Secrets,
} from "#server/secrets.ts";
import type { Db } from "#server/store/db.ts";
import { flushNames, makeFolder, tighten } from "#server/store/files.ts";
import { findOptions, insertOptionOnce, replaceOption } from "#server/store/options.ts";
import { hasUsers } from "#server/store/users.ts";

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

/**
 * Options with the data key sealed by the master key. While that is exchanged `next` holds what the new one sealed, and both open the
 * database (requirements K03).
 */
export const DATA_KEY = { current: "DataKey", next: "DataKeyNext" } as const;
const SEAL_CONTEXT = "options.DataKey";

/**
 * Reads the key or makes one, and hides it from the logger from then on; writes nothing. A file that others can read is made private,
 * and `warn` is called. Throws: MasterKeyError for a file that is too short to be a key.
 */
export async function readMasterKey(
  config: Pick<Config, "masterKey" | "dataDir">,
  warn: (words: string) => void = () => undefined,
): Promise<MasterKey> {
  if (config.masterKey !== undefined) {
    hideSecret(config.masterKey);
    return { bytes: Buffer.from(config.masterKey), file: undefined, isNew: false };
  }
  const file = join(config.dataDir, "master.key");
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw new MasterKeyError(`cannot read ${file}: ${error.message}`, { cause: error });
  });
  if (text === undefined) {
    const made = randomHex(64);
    hideSecret(made);
    return { bytes: Buffer.from(made), file, isNew: true };
  }
  if (text.trim().length < 32)
    throw new MasterKeyError(`${file} holds no master key; restore it from your backup`);
  hideSecret(text.trim());
  if (tighten(file))
    warn(`${file} was not for its owner alone (mode 0600): exchange the key if somebody may have read it`);
  return { bytes: Buffer.from(text.trim()), file, isNew: false };
}

/**
 * Opens the data key of a database with the master key, or makes one for a new database; a new master key ends the one it replaces.
 * `overhear` is called with all that is opened and sealed, the data key included. Throws: MasterKeyError.
 */
export async function unlockSecrets(db: Db, key: MasterKey, overhear?: Overhear): Promise<Secrets> {
  const known = await openSeals(db, key, overhear);
  if (known !== undefined) {
    const { current, next, isNext } = known;
    if (isNext) {
      // Other nodes may do the same, or exchange the key again.
      await replaceOption(db, DATA_KEY.current, current, next);
      await replaceOption(db, DATA_KEY.next, next, "");
    }
    return createSecrets(known.dataKey, overhear);
  }
  // The file first: a database tied to a key that no file holds would be lost.
  if (key.isNew && key.file !== undefined) await writeKeyFile(key.file, key.bytes);
  await insertOptionOnce(db, DATA_KEY.current, sealDataKey(Buffer.from(randomId(), "base64url"), key));
  try {
    // Another node may have been first: the stored key counts.
    const stored = await openSeals(db, key, overhear);
    if (stored === undefined) throw new MasterKeyError("the database does not keep what is written to it");
    return createSecrets(stored.dataKey, overhear);
  } catch (error) {
    if (key.isNew && key.file !== undefined) await rm(key.file);
    throw error;
  }
}

/** The data key, or undefined when the database is new. Throws: MasterKeyError for another master key, or a lost data key. */
export async function openDataKey(db: Db, key: MasterKey): Promise<Uint8Array | undefined> {
  return (await openSeals(db, key))?.dataKey;
}

/** Both seals as they are at one moment, and what is in the one that the master key opens; undefined when the database is new. */
async function openSeals(db: Db, key: MasterKey, overhear?: Overhear) {
  const wrapping = createSecrets(key.bytes, overhear);
  // Read first: another node that starts for the first time writes the data key before any user.
  const isUsed = await hasUsers(db);
  const stored = await findOptions(db, [DATA_KEY.current, DATA_KEY.next]);
  const current = stored.get(DATA_KEY.current);
  if (current === undefined) {
    // A new one would open nothing that is sealed, and no token would be known any more.
    if (isUsed) throw new MasterKeyError(NO_DATA_KEY);
    return undefined;
  }
  const next = stored.get(DATA_KEY.next) ?? "";
  for (const sealed of [current, next]) {
    try {
      const dataKey = Buffer.from(wrapping.open(sealed, SEAL_CONTEXT), "base64url");
      return { dataKey, current, next, isNext: sealed !== current };
    } catch (error) {
      if (!(error instanceof SealError)) throw error;
    }
  }
  throw new MasterKeyError(wrongKey(key));
}

/** The data key as the database keeps it. */
export function sealDataKey(dataKey: Uint8Array, key: Pick<MasterKey, "bytes">): string {
  return createSecrets(key.bytes).seal(Buffer.from(dataKey).toString("base64url"), SEAL_CONTEXT);
}

const NO_DATA_KEY =
  "this database has users but no data key: a part of it is missing, and nothing sealed in it could be opened; restore a whole copy";

function wrongKey({ file, isNew }: MasterKey): string {
  if (file === undefined) return "MASTER_KEY is not the key this database was made with";
  return isNew
    ? `this database was made with a master key, but ${file} is missing: restore the file, or set MASTER_KEY`
    : `${file} is not the master key this database was made with: restore the right file, or set MASTER_KEY`;
}

/** Writes a key file that only its owner can read, durably, and whole or not at all. Throws: when the file exists. */
export async function writeKeyFile(file: string, bytes: Uint8Array): Promise<void> {
  makeFolder(dirname(file));
  const partial = `${file}.${randomHex(8)}`;
  try {
    const handle = await open(partial, "wx", 0o600);
    try {
      await handle.writeFile(`${Buffer.from(bytes).toString("utf8")}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    // Unlike a rename it replaces nothing.
    await link(partial, file).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "EEXIST" || existsSync(file)) throw error;
      // A file system without links.
      return rename(partial, file);
    });
  } finally {
    await rm(partial, { force: true });
  }
  flushNames(dirname(file));
}
