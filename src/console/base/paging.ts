// The paging rule of lists (requirements W1.5, J3). Pure.

/** Rows per page that a server of the family gives when it ignores `size`. */
const FAMILY_PAGE = 10;

export interface PageFacts {
  /** 0-based page that was asked for. */
  readonly page: number;
  /** Rows per page that were asked for. */
  readonly size: number;
  /** Rows that came. */
  readonly received: number;
  /** Rows in all, where the server says so. */
  readonly total?: number | undefined;
}

/** Number of pages to offer: by `total`, else one more page while the last one is full. At least 1. */
export function pageCount({ page, size, received, total }: PageFacts): number {
  if (total !== undefined) return Math.max(1, Math.ceil(total / size));
  const isFull = received > 0 && (received >= size || received % FAMILY_PAGE === 0);
  return page + 1 + (isFull ? 1 : 0);
}
