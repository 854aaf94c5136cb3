// A database whose answers can be held back: what is asked is read at once and told later, as over a slow line.
import type { Db } from "#server/store/db.ts";

export interface HeldReads {
  /** The same database; what `hold` says is of this one alone. */
  readonly db: Db;
  /** Holds back the next answer. Resolves when it was read; then `tell` lets it go, or makes it an error. */
  hold(): Promise<{ tell(error?: Error): void }>;
}

export function holdReads(db: Db): HeldReads {
  const holders: ((held: { tell(error?: Error): void }) => void)[] = [];
  return {
    db: db.withPlugin({
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        const holder = holders.shift();
        if (holder === undefined) return result;
        return new Promise((resolve, reject) => {
          holder({ tell: (error) => (error === undefined ? resolve(result) : reject(error)) });
        });
      },
    }),
    hold: () => new Promise((resolve) => holders.push(resolve)),
  };
}
