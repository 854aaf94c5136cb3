// The files of a ZIP archive (APPNOTE 6.3.10), as far as providers make them: whole, not encrypted, stored or deflated. Bounded.
import { promisify } from "node:util";
import { inflateRaw } from "node:zlib";

const END = 0x06054b50;
const ENTRY = 0x02014b50;
const END_BYTES = 22;
const ENTRY_BYTES = 46;
/** The local header of a file, before its name and extra field. */
const LOCAL_BYTES = 30;
const LONGEST_COMMENT = 65_535;
const [STORED, DEFLATED] = [0, 8];

const inflate = promisify(inflateRaw);

/** Contents in the order of the archive's own list; undefined = it is broken, or has more than so many bytes. */
export async function unzip(archive: Buffer, limitBytes: number): Promise<readonly Buffer[] | undefined> {
  try {
    const files: Buffer[] = [];
    let rest = limitBytes;
    for (const entry of entries(archive)) {
      const file = await fileOf(archive, entry, rest);
      rest -= file.length;
      files.push(file);
    }
    return files;
  } catch {
    // Reads beyond the end and streams that do not inflate throw.
    return undefined;
  }
}

interface Entry {
  readonly method: number;
  readonly packed: number;
  readonly size: number;
  readonly at: number;
}

/** Throws: when there is no list. */
function entries(archive: Buffer): Entry[] {
  const first = Math.max(0, archive.length - END_BYTES - LONGEST_COMMENT);
  let end = archive.length - END_BYTES;
  while (end >= first && archive.readUInt32LE(end) !== END) end -= 1;
  if (end < first) throw new Error("no end of the archive");
  const count = archive.readUInt16LE(end + 10);
  let at = archive.readUInt32LE(end + 16);
  const found: Entry[] = [];
  for (let index = 0; index < count; index++) {
    if (archive.readUInt32LE(at) !== ENTRY) throw new Error("no entry");
    found.push({
      method: archive.readUInt16LE(at + 10),
      packed: archive.readUInt32LE(at + 20),
      size: archive.readUInt32LE(at + 24),
      at: archive.readUInt32LE(at + 42),
    });
    const [name, extra, comment] = [28, 30, 32].map((place) => archive.readUInt16LE(at + place));
    at += ENTRY_BYTES + (name ?? 0) + (extra ?? 0) + (comment ?? 0);
  }
  return found;
}

/** Throws: when it is not what its entry says. */
async function fileOf(
  archive: Buffer,
  { method, packed, size, at }: Entry,
  limitBytes: number,
): Promise<Buffer> {
  const from = at + LOCAL_BYTES + archive.readUInt16LE(at + 26) + archive.readUInt16LE(at + 28);
  const bytes = archive.subarray(from, from + packed);
  if (size > limitBytes || bytes.length !== packed) throw new Error("too large, or cut off");
  if (method !== STORED && method !== DEFLATED) throw new Error("another way of packing");
  // The bound holds whatever the entry claims.
  const file = method === STORED ? bytes : await inflate(bytes, { maxOutputLength: Math.max(1, size) });
  if (file.length !== size) throw new Error("another size");
  return file;
}
