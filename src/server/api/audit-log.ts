// Writes the audit log from a handler: the actor, the act, its target, the address. Never a secret, and never what a visitor typed.
import type { AuditAction } from "#contract/audit-actions.ts";
import type { Actor } from "#server/accounts/actors.ts";
import type { Joined } from "#server/accounts/mail-domains.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { appendAudit } from "#server/store/audit.ts";
import type { Db } from "#server/store/db.ts";
import { auditText } from "./audit-text.ts";

/** An act as the audit log stores it. */
export interface Act {
  readonly action: AuditAction;
  /** Id or name of what was acted on. */
  readonly target: string | number;
  /** What changed, readable; stored as JSON whose long values are cut. No secrets. */
  readonly detail?: Readonly<Record<string, unknown>>;
  /** The teams in whose own lists it stands too; an act on a team itself stands there by its target. */
  readonly teams?: readonly number[];
  /** The row, or its view, as it was: of the fields in `detail` that differ, the old values are stored too. */
  readonly before?: object;
}

/** The part of a call that the audit log stores. */
export interface ActCall {
  readonly actor: Pick<Actor, "id" | "username" | "service" | "viewer">;
  readonly address: string;
  readonly requestId: string;
}

/** The actor of a call that is not signed in. */
export const unknownActor: ActCall["actor"] = { id: 0, username: "" };

/**
 * Appends an act in the transaction `tx` of the act itself; call it last there (requirements Z13). Throws: for who only looks, so that a call
 * that is told of is refused, and never told of another (requirements Z24).
 */
export async function audit(ctx: Pick<Context, "clock">, tx: Db, call: ActCall, act: Act): Promise<void> {
  if (call.actor.viewer !== undefined) throw faults.viewOnly();
  await appendAudit(tx, {
    created_at: ctx.clock.seconds(),
    actor_id: call.actor.id,
    actor_name: nameOf(call.actor),
    action: act.action,
    target: String(act.target),
    detail: act.detail === undefined ? "" : auditText(act.detail, act.before),
    address: call.address,
    request_id: call.requestId,
    teams: act.action.startsWith("team.") ? [Number(act.target)] : act.teams,
  });
}

/** A service account stands behind its maker. */
function nameOf({ username, service }: ActCall["actor"]): string {
  return service === undefined ? username : `${username}/${service}`;
}

/** Logs that a user is in a team by the domain of his mail, if he is. */
export async function auditJoin(
  ctx: Pick<Context, "clock">,
  tx: Db,
  call: ActCall,
  joined: Joined | undefined,
): Promise<void> {
  if (joined?.team === undefined) return;
  const { domain, team } = joined;
  await audit(ctx, tx, call, { action: "team.join", target: team.id, detail: { domain, role: team.role } });
}
