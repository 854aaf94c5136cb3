// How long a test goes on that tries the same thing at random moments or in every way: briefly in `npm test`, long in `npm run soak`.

export const IS_SOAK = process.env["SOAK"] === "1";

/** Rounds, calls or kills of one run. */
export function rounds(few: number, many: number): number {
  return IS_SOAK ? many : few;
}
