// Which channels failed before one answered, as the column `trail` of the log keeps it. Never decides who may see it: users do not
// learn of channels (requirements P06).

/** A channel that was called in vain. */
export interface FailedAttempt {
  readonly channelId: number;
  /** A name from a small fixed set, e.g. `upstream_500`. */
  readonly error: string;
  /** The upstream's own words without secrets and without those of the request (requirements P01); "" = none. */
  readonly said: string;
}

/** The failed attempts as they are kept, in the order of the calls: `3:upstream_500,12:upstream_401:No credit left`; "" = no channel failed. */
export function printAttempts(attempts: readonly FailedAttempt[]): string {
  return attempts
    .map(({ channelId, error, said }) => {
      const name = error.replace(/[^a-z0-9_]/g, "") || "error";
      return said === "" ? `${channelId}:${name}` : `${channelId}:${name}:${escaped(said)}`;
    })
    .join(",");
}

/** Without what separates, and without what PostgreSQL cannot store. */
function escaped(said: string): string {
  return said.toWellFormed().replaceAll("\u0000", "").replace(/[%,:]/g, encodeURIComponent);
}

/** Reads what `printAttempts` wrote. */
export function parseAttempts(kept: string): readonly FailedAttempt[] {
  if (kept === "") return [];
  return kept.split(",").map((step) => {
    const [id = "", error = "", said = ""] = step.split(":");
    return { channelId: Number(id), error, said: decodeURIComponent(said) };
  });
}
