// Files of ours on the disk: for their owner alone, and there after a loss of power. Knows nothing of what is in them.
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";

/** There the rights of a file are those of its directory, and modes say nothing. */
const hasModes = process.platform !== "win32";
const OTHERS = 0o077;

/**
 * Makes a folder for its owner alone, and what is missing above it. Not by Node's `recursive`, which never ends where nothing can be made
 * (/proc). Throws: what the system says.
 */
export function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  const above = dirname(folder);
  if (above !== folder) makeFolder(above);
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Unless another process was faster.
    if (!existsSync(folder)) throw error;
  }
}

/** Makes an empty file for its owner alone, or takes others' rights to the one that is there away. */
export function makePrivate(file: string): void {
  // One that is there is not opened: closing it would drop the locks that SQLite may hold on it in this process.
  if (!existsSync(file)) closeSync(openSync(file, "a", 0o600));
  tighten(file);
}

/** Takes others' rights to a file away, if it is there and its file system lets us. Returns whether others had any. */
export function tighten(file: string): boolean {
  const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0;
  if (!hasModes || (mode & OTHERS) === 0) return false;
  try {
    chmodSync(file, mode & ~OTHERS & 0o777);
  } catch {
    // It is another user's, or on a disk that is read-only or has no modes.
  }
  return true;
}

/** Gives a file to the owner of another: what root makes for a server of another user must be that user's. Throws: when we may not. */
export function giveToOwnerOf(like: string, file: string): void {
  const { uid, gid } = statSync(like);
  if (statSync(file).uid !== uid) chownSync(file, uid, gid);
}

/** Makes a file survive a loss of power. */
export function flush(file: string): void {
  sync(file, "r+");
}

/** Makes the names in a directory survive a loss of power; Windows opens no directories. */
export function flushNames(directory: string): void {
  if (hasModes) sync(directory, "r");
}

function sync(path: string, flags: "r" | "r+"): void {
  const handle = openSync(path, flags);
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
