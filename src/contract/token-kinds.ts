// The kinds of tokens that a call can have beside plain ones, and how they are kept with its row of the log. Without schemas, because the
// rules of the ledger run in the SQLite writer, which should stay small.

/** Parts of the prompt, then of the completion. `cache_write_hour` is part of `cache_write`; reasoning may be of any kind. */
export const TOKEN_KINDS = [
  "cache_write",
  "cache_write_hour",
  "audio_input",
  "image_input",
  "reasoning",
  "audio_output",
  "image_output",
] as const;
export type TokenKind = (typeof TOKEN_KINDS)[number];

export interface KindCount {
  readonly kind: TokenKind;
  readonly tokens: number;
}

/** `cache_write:12 reasoning:40`, those that a call had; "" = none. */
export function kindsText(counts: Readonly<Record<TokenKind, number | undefined>>): string {
  let text = "";
  for (const kind of TOKEN_KINDS) {
    const tokens = counts[kind];
    if (tokens !== undefined && tokens > 0) text += `${text === "" ? "" : " "}${kind}:${tokens}`;
  }
  return text;
}

/** Reads a text of `kindsText`; what an older or newer version wrote and is no kind here is left out. */
export function kindsOf(text: string): KindCount[] {
  const counts = new Map(text.split(" ").map((part) => [part.split(":")[0], Number(part.split(":")[1])]));
  return TOKEN_KINDS.flatMap((kind) => {
    const tokens = counts.get(kind);
    return tokens === undefined || !Number.isSafeInteger(tokens) ? [] : [{ kind, tokens }];
  });
}
