// A ZIP archive with files in it, and texts in GBK: what Alipay keeps its bills in.
import { crc32, deflateRawSync } from "node:zlib";

function header(sign: number, fields: readonly (readonly [bytes: 2 | 4, value: number])[]): Buffer {
  const parts = [[4, sign] as const, ...fields].map(([bytes, value]) => {
    const part = Buffer.alloc(bytes);
    part.writeUIntLE(value, 0, bytes);
    return part;
  });
  return Buffer.concat(parts);
}

/** Deflated, in the order of the names; as `zip` makes them. */
export function archiveOf(files: Readonly<Record<string, Uint8Array>>): Buffer {
  const bodies: Buffer[] = [];
  const entries: Buffer[] = [];
  let at = 0;
  for (const [name, bytes] of Object.entries(files)) {
    const [packed, title] = [deflateRawSync(bytes), Buffer.from(name)];
    const common = [
      [2, 20],
      [2, 0],
      [2, 8],
      [4, 0],
      [4, crc32(bytes)],
      [4, packed.length],
      [4, bytes.length],
      [2, title.length],
      [2, 0],
    ] as const;
    bodies.push(header(0x04034b50, common), title, packed);
    const place = [
      [2, 0],
      [2, 0],
      [2, 0],
      [4, 0],
      [4, at],
    ] as const;
    entries.push(header(0x02014b50, [[2, 20], ...common, ...place]), title);
    at += 30 + title.length + packed.length;
  }
  const list = Buffer.concat(entries);
  const count = Object.keys(files).length;
  const end = header(0x06054b50, [
    [2, 0],
    [2, 0],
    [2, count],
    [2, count],
    [4, list.length],
    [4, at],
    [2, 0],
  ]);
  return Buffer.concat([...bodies, list, end]);
}

/** The two-byte codes of GBK by character, from the decoder that the platform has. */
const codes = new Map<string, Buffer>();

function code(character: string): Buffer {
  if (codes.size === 0) {
    const decoder = new TextDecoder("gbk");
    for (let high = 0x81; high <= 0xfe; high++)
      for (let low = 0x40; low <= 0xfe; low++) {
        const bytes = Buffer.from([high, low]);
        const [one = "", more] = decoder.decode(bytes);
        if (more === undefined && one !== "\uFFFD") codes.set(one, bytes);
      }
  }
  const bytes = codes.get(character);
  if (!bytes) throw new Error(`GBK has no ${character}`);
  return bytes;
}

/** Throws: when GBK has no such character. */
export function gbk(text: string): Buffer {
  return Buffer.concat(Array.from(text, (one) => (one <= "\u007F" ? Buffer.from(one) : code(one))));
}
