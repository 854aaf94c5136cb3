// What updates have in common.
import type { UpdateResult } from "kysely";

/** Whether a change leaves every column as it is: `UPDATE … SET` with nothing to set is a syntax error. */
export function isNoChange(change: object): boolean {
  return Object.values(change).every((value) => value === undefined);
}

/** Runs an update that meets one row at the most. Returns whether there was one. */
export async function changesOne(query: { executeTakeFirst(): Promise<UpdateResult> }): Promise<boolean> {
  const { numUpdatedRows } = await query.executeTakeFirst();
  return numUpdatedRows === 1n;
}
