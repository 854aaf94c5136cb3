// The end of every successful login: a new session, and the user as the family's clients expect it.
import type { User } from "#contract/user.ts";
import type { Context } from "#server/context.ts";
import type { UserRow } from "#server/store/users.ts";
import type { SessionHandle } from "./call.ts";
import { blankUser } from "./users.ts";

/** Opens a session for a user who has proven to be one. Data: five fields, all others zero (contract 3.3). */
export async function signIn(
  ctx: Pick<Context, "sessions" | "events">,
  call: { session: SessionHandle; address: string },
  user: UserRow,
): Promise<User> {
  const { session, address } = call;
  // A session that was there before is not carried on (reliability A04).
  if (session.id !== undefined) await ctx.sessions.end(session.id);
  session.set(await ctx.sessions.start(user.id));
  ctx.events.loginDone({ userId: user.id, address });
  const { id, username, display_name, role, status } = user;
  return { ...blankUser, id, username, display_name, role, status };
}
