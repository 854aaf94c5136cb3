// Where a login may send the user: pages of this site only (requirements H07). Pure.

export interface Origin {
  readonly pathname: string;
  readonly search: string;
  readonly hash: string;
}

function isOrigin(value: unknown): value is Origin {
  if (typeof value !== "object" || value === null) return false;
  const { pathname, search, hash } = value as Partial<Record<keyof Origin, unknown>>; // every field is judged below
  return typeof pathname === "string" && typeof search === "string" && typeof hash === "string";
}

/** The path of a remembered location, e.g. `/log?type=2`; undefined when it is absent, foreign or a login page itself. */
export function safePath(from: unknown): string | undefined {
  if (!isOrigin(from)) return undefined;
  const path = from.pathname + from.search + from.hash;
  // Two leading slashes or a backslash make a browser leave the site.
  if (!/^\/(?![/\\])/.test(path) || /[\\\s]/.test(from.pathname)) return undefined;
  return from.pathname.startsWith("/login") ? undefined : path;
}
