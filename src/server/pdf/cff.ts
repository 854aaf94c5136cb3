// The character ids of a CFF program: what a PDF calls its glyphs by. Adobe Technical Note 5176: DICT data (4), INDEX data (5), charsets (13).

const CHARSET = 15;
/** Operands, and what they are in a DICT: the first byte of each kind. */
const SHORT = 28;
const LONG = 29;
const REAL = 30;

/** CID by glyph number. Throws: when the program has no charset of its own. */
export function cidsOf(program: Buffer, glyphCount: number): Uint16Array {
  // Header, names, then the one top DICT.
  const names = program.readUInt8(2);
  const top = indexAt(program, indexAt(program, names).end);
  let at = operandOf(program.subarray(top.first, top.second), CHARSET);
  const format = program.readUInt8(at);
  if (at < 3 || format > 2) throw new Error("the font of documents has no charset");
  const cids = new Uint16Array(glyphCount);
  at += 1;
  for (let glyph = 1; glyph < glyphCount; ) {
    const first = program.readUInt16BE(at);
    const more = format === 0 ? 0 : format === 1 ? program.readUInt8(at + 2) : program.readUInt16BE(at + 2);
    at += 2 + format;
    for (let next = 0; next <= more && glyph < glyphCount; next++) cids[glyph++] = first + next;
  }
  return cids;
}

/** Where the first object of an INDEX is, and where the INDEX ends. */
function indexAt(program: Buffer, at: number): { first: number; second: number; end: number } {
  const count = program.readUInt16BE(at);
  const size = program.readUInt8(at + 2);
  const base = at + 3 + (count + 1) * size - 1;
  const offset = (index: number) => base + program.readUIntBE(at + 3 + index * size, size);
  return { first: offset(0), second: offset(1), end: offset(count) };
}

/** The whole number before an operator of a DICT; 0 = the operator is not there. */
function operandOf(dict: Buffer, operator: number): number {
  let last = 0;
  for (let at = 0; at < dict.length; ) {
    if (dict.readUInt8(at) === operator) return last;
    const { value, end } = readItem(dict, at);
    last = value ?? last;
    at = end;
  }
  return 0;
}

/** One operator or operand of a DICT: its value, if it is a whole number, and where it ends. */
function readItem(dict: Buffer, at: number): { readonly value?: number; readonly end: number } {
  const byte = dict.readUInt8(at);
  if (byte === 12) return { end: at + 2 };
  if (byte < SHORT) return { end: at + 1 };
  if (byte === SHORT) return { value: dict.readInt16BE(at + 1), end: at + 3 };
  if (byte === LONG) return { value: dict.readInt32BE(at + 1), end: at + 5 };
  if (byte === REAL) return { end: afterReal(dict, at + 1) };
  if (byte < 247) return { value: byte - 139, end: at + 1 };
  const rest = dict.readUInt8(at + 1) + 108;
  return { value: byte < 251 ? (byte - 247) * 256 + rest : -(byte - 251) * 256 - rest, end: at + 2 };
}

/** Real numbers end with a half byte of ones. */
function afterReal(dict: Buffer, start: number): number {
  let at = start;
  while ((dict.readUInt8(at) & 0x0f) !== 0x0f && dict.readUInt8(at) >> 4 !== 0x0f) at += 1;
  return at + 1;
}
