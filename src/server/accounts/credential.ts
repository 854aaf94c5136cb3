/** What a header holds: the key, and the channel that follows it (requirements W8.2). */
export interface Credential {
  readonly key: string;
  readonly pin: string | undefined;
}

/** Parses a header: `Bearer `, `sk-`, key, `-channel`. */
export function parseCredential(text: string): Credential {
  const bare = text
    .trim()
    .replace(/^Bearer\s+/i, "")
    .trim()
    .replace(/^sk-/, "");
  const dash = bare.indexOf("-");
  return dash < 0 ? { key: bare, pin: undefined } : { key: bare.slice(0, dash), pin: bare.slice(dash + 1) };
}
