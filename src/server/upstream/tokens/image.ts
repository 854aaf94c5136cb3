// How many tokens an image costs (requirements W11.3). Its size is read from a data URL's first bytes; addresses are not fetched
// (requirements S05). Pure.

export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** The assumed size of an image of unknown size: 1024 × 1024. */
const UNKNOWN: ImageSize = { width: 1024, height: 1024 };
const LOW_TOKENS = 85;
const TILE_TOKENS = 170;
/** Headers are in the first bytes; JPEG's size can come after an embedded preview. */
const HEAD_CHARS = 87_384;

/** Tokens of one image: 85 in low detail, else 85 + 170 for each tile of 512 after scaling. */
export function imageTokens(size: ImageSize | undefined, isLow: boolean): number {
  if (isLow) return LOW_TOKENS;
  let { width, height } = size ?? UNKNOWN;
  const longer = Math.max(width, height);
  if (longer > 2048) {
    width = Math.trunc((width * 2048) / longer);
    height = Math.trunc((height * 2048) / longer);
  }
  const shorter = Math.min(width, height);
  if (shorter > 768) {
    width = Math.trunc((width * 768) / shorter);
    height = Math.trunc((height * 768) / shorter);
  }
  return LOW_TOKENS + TILE_TOKENS * Math.ceil(width / 512) * Math.ceil(height / 512);
}

/** The size in a data URL; undefined = no data URL, or a format whose size cannot be read. */
export function imageSize(url: string): ImageSize | undefined {
  const comma = url.indexOf(",");
  if (!url.startsWith("data:") || comma < 0 || !url.slice(0, comma).endsWith(";base64")) return undefined;
  const head = Buffer.from(url.slice(comma + 1, comma + 1 + HEAD_CHARS), "base64");
  const size = pngSize(head) ?? gifSize(head) ?? webpSize(head) ?? jpegSize(head);
  return size !== undefined && size.width > 0 && size.height > 0 ? size : undefined;
}

function pngSize(head: Buffer): ImageSize | undefined {
  if (head.length < 24 || head.readUInt32BE(0) !== 0x89504e47) return undefined;
  return { width: head.readUInt32BE(16), height: head.readUInt32BE(20) };
}

function gifSize(head: Buffer): ImageSize | undefined {
  if (head.length < 10 || head.toString("latin1", 0, 4) !== "GIF8") return undefined;
  return { width: head.readUInt16LE(6), height: head.readUInt16LE(8) };
}

function webpSize(head: Buffer): ImageSize | undefined {
  if (
    head.length < 30 ||
    head.toString("latin1", 0, 4) !== "RIFF" ||
    head.toString("latin1", 8, 12) !== "WEBP"
  )
    return undefined;
  switch (head.toString("latin1", 12, 16)) {
    case "VP8X":
      return { width: head.readUIntLE(24, 3) + 1, height: head.readUIntLE(27, 3) + 1 };
    case "VP8L": {
      const bits = head.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case "VP8 ":
      return { width: head.readUInt16LE(26) & 0x3fff, height: head.readUInt16LE(28) & 0x3fff };
    default:
      return undefined;
  }
}

/** Walks JPEG's segments to the frame header: C0–CF except tables (C4), JPG (C8) and arithmetic coding (CC). */
function jpegSize(head: Buffer): ImageSize | undefined {
  if (head.length < 4 || head.readUInt16BE(0) !== 0xffd8) return undefined;
  let at = 2;
  while (at + 9 <= head.length && head[at] === 0xff) {
    const marker = head[at + 1] ?? 0;
    if (marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc) {
      return { width: head.readUInt16BE(at + 7), height: head.readUInt16BE(at + 5) };
    }
    at += 2 + head.readUInt16BE(at + 2);
  }
  return undefined;
}
