// The query of a list as the store takes it.
import type { SortedPage } from "#server/store/page.ts";

interface PageQuery {
  readonly p: number;
  readonly size: number;
  readonly order: string;
  readonly desc?: boolean | undefined;
  readonly export?: boolean;
  readonly before?: number;
}

/**
 * Reads page, size and sort column of a list's query, or the block of a file. `downwards` = the columns that sort downwards unless the
 * client says otherwise: One API's, which has no other direction.
 */
export function sortedPage(
  { p, size, order, desc, export: isExport = false, before = 0 }: PageQuery,
  downwards: readonly string[] = [],
): SortedPage {
  const page = { page: p, size, order, desc: desc ?? downwards.includes(order) };
  return isExport ? { ...page, before } : page;
}
