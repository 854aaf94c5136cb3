// The address of a part of the usage log, for whoever leads there.
import type { User } from "#contract/user.ts";
import { isAdmin } from "./session.ts";

type Filters = Readonly<Record<string, string | number>>;

/** The log with these filters, named as its page has them in the address. */
export function logPath(filters: Filters): string {
  const named = Object.entries(filters).map(([name, value]) => [name, String(value)]);
  return `/log?${new URLSearchParams(named)}`;
}

/** The same of what this user did: an administrator's log is everybody's, and others may have tokens of the same name. */
export function ownLogPath(user: Pick<User, "role" | "username"> | undefined, filters: Filters): string {
  return logPath(user !== undefined && isAdmin(user) ? { ...filters, username: user.username } : filters);
}

/** The log behind a figure of a board: its owner's, or everybody's. */
export function boardLogPath(
  user: Parameters<typeof ownLogPath>[0],
  isOwn: boolean,
  filters: Filters,
): string {
  return isOwn ? ownLogPath(user, filters) : logPath(filters);
}
