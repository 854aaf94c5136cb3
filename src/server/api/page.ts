// The query of a list in the words of the store.
import type { SortedPage } from "#server/store/page.ts";

/** Reads page, size and sort column of a list's query. */
export function sortedPage(query: { p: number; size: number; order: string; desc: boolean }): SortedPage {
  return { page: query.p, size: query.size, order: query.order, desc: query.desc };
}
