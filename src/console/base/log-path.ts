// The address of a part of the usage log, for whoever leads there.

/** The log with these filters, named as its page has them in the address. */
export function logPath(filters: Readonly<Record<string, string | number>>): string {
  const named = Object.entries(filters).map(([name, value]) => [name, String(value)]);
  return `/log?${new URLSearchParams(named)}`;
}
