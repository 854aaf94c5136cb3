// Who looks at the console of another user: the actor of the session's calls is that user then, who can do nothing and is shown no secret
// (requirements Z24). Nothing here is remembered: each call finds what its session says, and whether that is still allowed.
import type { Endpoint } from "#contract/endpoint.ts";
import { UserStatus } from "#contract/user.ts";
import { faults } from "#server/errors.ts";
import type { SessionRow } from "#server/store/sessions.ts";
import type { Actor, Actors } from "./actors.ts";
import { isSuper, may, outranks, type Ranked } from "./may.ts";

/** Whether an administrator may look at the console of this user: one below, and never a super administrator. */
export function mayView(actor: Actor, target: Ranked): boolean {
  return may(actor, "user.view_as") && outranks(actor, target) && !isSuper(target);
}

/** The session looks at another user's console, unless the time is over. */
export function isViewing({ view_of, view_until }: SessionRow, nowSec: number): boolean {
  return view_of !== 0 && nowSec < view_until;
}

/** The actor of a session: its user, or whom that looks at; as soon as it may not look any more, its user again. */
export async function actorOf(
  actors: Pick<Actors, "byId">,
  session: SessionRow,
  nowSec: number,
): Promise<Actor | undefined> {
  const owner = await actors.byId(session.user_id);
  if (owner?.status !== UserStatus.enabled || !isViewing(session, nowSec)) return owner;
  const target = await actors.byId(session.view_of);
  if (target === undefined || !mayView(owner, target)) return owner;
  const viewer = { id: owner.id, username: owner.username, until: session.view_until };
  // The console of one who is disabled can be looked at too.
  return { ...target, status: UserStatus.enabled, viewer };
}

/** Throws: 403 when the actor only looks, and the call is not for that. */
export function refuseInView(endpoint: Endpoint, actor: Actor | undefined, changesState: boolean): void {
  if (actor?.viewer === undefined || endpoint.endsView) return;
  if (changesState || endpoint.stepUp) throw faults.viewOnly();
}
