// The ten minutes a second belongs to. Apart from log-spans.ts, so that the writer thread can use it without Kysely.

/** Seconds. A shorter span reads fewer rows at the edges of a filter, a longer one has fewer spans: 52,560 a year. */
export const SPAN_SEC = 600;

/** Start of the span, seconds. */
export function spanOf(createdAt: number): number {
  return createdAt - (createdAt % SPAN_SEC);
}
