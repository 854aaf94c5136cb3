// Shared by the ways whose answers are not streamed and are rendered in OpenAI's format. Pure.

import { NOTHING, type Plan, type Prepared } from "#server/upstream/call/call.ts";
import type { Encoded } from "#server/upstream/dialects/dialect.ts";
import { WholeHandler, type WholeOptions } from "#server/upstream/handlers/whole.ts";

/** `read` = decodes the upstream's reply. */
export function prepared(
  { dialect, quirks, secrets }: Plan,
  encoded: Encoded,
  dropped: readonly string[],
  read: WholeOptions["read"],
): Prepared {
  return { ...written(encoded, dropped), handler: new WholeHandler({ dialect, quirks, secrets, read }) };
}

/** A prepared call without its response handler. */
export function written(encoded: Encoded, dropped: readonly string[]): Omit<Prepared, "handler"> {
  return {
    kind: "prepared",
    bytes: Buffer.from(JSON.stringify(encoded.body)),
    headers: encoded.headers ?? NOTHING,
    dropped: [...dropped, ...(encoded.dropped ?? NOTHING)],
  };
}

/** The dialect's own encoding, which the plan found to exist. */
export function known<T>(wire: T | undefined): T {
  if (wire === undefined) throw new Error("planned without a wire for it");
  return wire;
}
