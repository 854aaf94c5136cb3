// Which channels failed before one answered, as the column `trail` of the log keeps it. Never decides who may see it: users do not
// learn of channels (reliability P06).

/** A channel that was called in vain. */
export interface Failure {
  readonly channelId: number;
  /** A name from a small fixed set, e.g. `upstream_500`; never an upstream's own words (reliability P01). */
  readonly error: string;
}

/** A trail as it is kept, in the order of the calls: `3:upstream_500,12:do_request_failed`; "" = nobody failed. */
export function printTrail(trail: readonly Failure[]): string {
  if (trail.length === 0) return "";
  return trail
    .map(({ channelId, error }) => `${channelId}:${error.replace(/[^a-z0-9_]/g, "") || "error"}`)
    .join(",");
}

/** Reads what `printTrail` wrote. */
export function parseTrail(kept: string): readonly Failure[] {
  if (kept === "") return [];
  return kept.split(",").map((step) => {
    const [id = "", error = ""] = step.split(":");
    return { channelId: Number(id), error };
  });
}
