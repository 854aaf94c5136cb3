// The address of a part of the usage log, for links to it.
import type { User } from "#contract/user.ts";
import { may } from "./session.ts";

type Filters = Readonly<Record<string, string | number>>;

/** The log with these filters, named as its page has them in the address. */
export function logPath(filters: Filters): string {
  const named = Object.entries(filters).map(([name, value]) => [name, String(value)]);
  return `/log?${new URLSearchParams(named)}`;
}

/** The same for this user's own calls: an administrator's log shows all users, and other users may have tokens of the same name. */
export function ownLogPath(
  user: Pick<User, "role" | "username" | "permissions"> | undefined,
  filters: Filters,
): string {
  return logPath(
    user !== undefined && may(user, "log.read") ? { ...filters, username: user.username } : filters,
  );
}
