// What the ways share whose answers come whole and are told in OpenAI's words. Pure.

import { NOTHING, type Plan, type Prepared } from "#server/upstream/call/call.ts";
import type { Encoded } from "#server/upstream/dialects/dialect.ts";
import { WholeHandler, type WholeOptions } from "#server/upstream/handlers/whole.ts";

/** `read` = what becomes of the upstream's words. */
export function prepared(
  { dialect, quirks, secrets }: Plan,
  encoded: Encoded,
  dropped: readonly string[],
  read: WholeOptions["read"],
): Prepared {
  return { ...written(encoded, dropped), handler: new WholeHandler({ dialect, quirks, secrets, read }) };
}

/** All of a call but the handler of its answer. */
export function written(encoded: Encoded, dropped: readonly string[]): Omit<Prepared, "handler"> {
  return {
    kind: "prepared",
    bytes: Buffer.from(JSON.stringify(encoded.body)),
    headers: encoded.headers ?? NOTHING,
    dropped: [...dropped, ...(encoded.dropped ?? NOTHING)],
  };
}

/** A wire of the dialect's own that the plan found there. */
export function known<T>(wire: T | undefined): T {
  if (wire === undefined) throw new Error("planned without a wire for it");
  return wire;
}
