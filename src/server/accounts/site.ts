// Where this site is, for links in letters. Never what a request says: that is anybody's to choose.
import type { Tools } from "#server/tools.ts";

/** ServerAddress, or this machine while none is set (requirements W6.2). Without a trailing slash. */
export function siteUrl({ options, config }: Pick<Tools, "options" | "config">): string {
  return options.get("ServerAddress") || `http://localhost:${config.port}`;
}
