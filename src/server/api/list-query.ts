// What lists are asked for besides a page, and what stands beside their rows.
import type { Made } from "#server/store/page.ts";

/** When the rows were made that are asked for. */
export function madeOf({
  start_timestamp: start,
  end_timestamp: end,
}: {
  readonly start_timestamp: number;
  readonly end_timestamp: number;
}): Made {
  return { start, end };
}

/** How many rows a list has, to stand beside them; of a file they are counted once. */
export async function totalBeside(
  { before = 0 }: { readonly before?: number },
  count: () => Promise<number>,
): Promise<{ total?: number }> {
  return before === 0 ? { total: await count() } : {};
}
