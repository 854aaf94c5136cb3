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

/** The error of a call that was given up since another one beside it was answered; what it said is what its prompt may cost. */
export const OVERTAKEN = "overtaken";

/** Stands behind the failed attempts for why the channel was chosen; an older program reads it as an attempt at no channel. */
export const DECISION = "0:route:";

/**
 * The failed attempts as they are kept, in the order of the calls, and the decision behind them (channels/decision.ts; "" = none):
 * `3:upstream_500,12:upstream_401:No credit left,0:route:default/w/3t12t7c`.
 */
export function printAttempts(attempts: readonly FailedAttempt[], decision = ""): string {
  const kept = decision === "" ? "" : DECISION + escaped(decision);
  if (attempts.length === 0) return kept;
  return printed(attempts) + (kept === "" ? "" : `,${kept}`);
}

function printed(attempts: readonly FailedAttempt[]): string {
  return attempts
    .map(({ channelId, error, said }) => {
      const name = error.replace(/[^a-z0-9_]/g, "") || "error";
      return said === "" ? `${channelId}:${name}` : `${channelId}:${name}:${escaped(said)}`;
    })
    .join(",");
}

const SAFE = /^[\w ./;+-]*$/;

/** Without what separates, and without what PostgreSQL cannot store. */
function escaped(said: string): string {
  if (SAFE.test(said)) return said;
  return said.toWellFormed().replaceAll("\u0000", "").replace(/[%,:]/g, encodeURIComponent);
}

/** Reads the failed attempts that `printAttempts` wrote. */
export function parseAttempts(kept: string): readonly FailedAttempt[] {
  if (kept === "") return [];
  return kept.split(",").flatMap((step): FailedAttempt[] => {
    if (step.startsWith(DECISION)) return [];
    const [id = "", error = "", said = ""] = step.split(":");
    return [{ channelId: Number(id), error, said: decodeURIComponent(said) }];
  });
}

/** Reads the decision that `printAttempts` wrote; "" = there is none. */
export function parseDecision(kept: string): string {
  const step = kept.split(",").find((one) => one.startsWith(DECISION));
  return step === undefined ? "" : decodeURIComponent(step.slice(DECISION.length));
}
