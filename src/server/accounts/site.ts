// The URL of this site, for links in letters. Never taken from a request: there the client chooses it.
import type { Tools } from "#server/tools.ts";

/** ServerAddress, or this machine while none is set (requirements W6.2). Without a trailing slash. */
export function siteUrl({ options, config }: Pick<Tools, "options" | "config">): string {
  return options.get("ServerAddress") || `http://localhost:${config.port}`;
}
