// Sets of the keys of a channel by their places, as bits: ten thousand are looked through in some hundred steps. Pure.

export type Mask = Uint32Array;

/** The empty set, of so many places. */
export function maskOf(count: number): Mask {
  return new Uint32Array(Math.max(1, Math.ceil(count / 32)));
}

export function isIn(mask: Mask, place: number): boolean {
  return ((mask[place >>> 5] ?? 0) & (1 << (place & 31))) !== 0;
}

export function putIn(mask: Mask, place: number): void {
  mask[place >>> 5] = (mask[place >>> 5] ?? 0) | (1 << (place & 31));
}

export function takeOut(mask: Mask, place: number): void {
  mask[place >>> 5] = (mask[place >>> 5] ?? 0) & ~(1 << (place & 31));
}

/** The first place from this one on, in a circle, that is in `all` and in none of `but`; -1 = there is none. */
export function nextPlace(all: Mask, but: readonly Mask[], from: number): number {
  const { length } = all;
  const start = from >>> 5;
  const behind = -1 << (from & 31);
  let at = start < length ? start : 0;
  // The word that the circle begins in is looked at twice: behind the place at first, before it at last.
  for (let step = 0; step <= length; step += 1) {
    let word = all[at] ?? 0;
    for (let which = 0; which < but.length && word !== 0; which += 1) word &= ~(but[which]?.[at] ?? 0);
    if (step === 0) word &= behind;
    else if (step === length) word &= ~behind;
    if (word !== 0) return at * 32 + 31 - Math.clz32(word & -word);
    at += 1;
    if (at === length) at = 0;
  }
  return -1;
}
