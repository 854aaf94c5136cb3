import { limitKey } from "#server/address.ts";
import type { Limit } from "./table.ts";

/** What is counted by a limit: `subject` is the address, or the id of what its scope names; "" where that is the server. */
export interface Counting {
  readonly limit: Limit;
  readonly subject: string;
}

/** The key that it is counted under. */
export function keyOf({ limit: { key, scope }, subject }: Counting): string {
  return key + (scope === "address" ? limitKey(subject) : subject);
}
