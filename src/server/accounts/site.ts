// Where this site is, for links in letters. Never what a request says: that is anybody's to choose.
import type { Context } from "#server/context.ts";

/** ServerAddress, or this machine while none is set (contract 6.2). Without a trailing slash. */
export function siteUrl({ options, config }: Pick<Context, "options" | "config">): string {
  return options.get("ServerAddress") || `http://localhost:${config.port}`;
}
