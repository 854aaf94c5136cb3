// The query of a list as the store takes it.
import type { SortedPage } from "#server/store/page.ts";

/**
 * Reads page, size and sort column of a list's query. `downwards` = the columns that sort downwards unless the client says otherwise: One
 * API's, which has no other direction.
 */
export function sortedPage(
  { p, size, order, desc }: { p: number; size: number; order: string; desc?: boolean | undefined },
  downwards: readonly string[] = [],
): SortedPage {
  return { page: p, size, order, desc: desc ?? downwards.includes(order) };
}
