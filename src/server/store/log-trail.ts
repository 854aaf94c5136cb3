// Which channels failed before one answered, kept between two marks behind a log entry's text: no column and no byte for the many calls
// that had no failure. Whoever shows an entry takes the trail out first: users do not learn of channels (reliability P06).

/** A channel that was called in vain. */
export interface Failure {
  readonly channelId: number;
  /** A name from a small fixed set, e.g. `upstream_500`; never an upstream's own words (reliability P01). */
  readonly error: string;
}

/** What no keyboard types. */
export const TRAIL_MARK = "\u001f";
const STEP = String.raw`\d+:[a-z0-9_]+`;
const TRAIL = new RegExp(`${TRAIL_MARK}(${STEP}(?:,${STEP})*)${TRAIL_MARK}`);

/** The text with the trail behind it, in the order of the calls. */
export function withTrail(content: string, trail: readonly Failure[]): string {
  if (trail.length === 0) return content;
  const steps = trail.map(
    ({ channelId, error }) => `${channelId}:${error.replace(/[^a-z0-9_]/g, "") || "error"}`,
  );
  return `${content}${TRAIL_MARK}${steps.join(",")}${TRAIL_MARK}`;
}

/** The text and the trail apart again. */
export function splitTrail(kept: string): { readonly content: string; readonly trail: readonly Failure[] } {
  const found = kept.includes(TRAIL_MARK) ? TRAIL.exec(kept) : null;
  if (found === null) return { content: kept, trail: [] };
  const trail = (found[1] ?? "").split(",").map((step) => {
    const [id = "", error = ""] = step.split(":");
    return { channelId: Number(id), error };
  });
  return { content: kept.replace(found[0], ""), trail };
}
