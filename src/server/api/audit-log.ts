// Writes the audit log from a handler: the actor, the act, its target, the address. Never a secret, and never what a visitor typed.
import type { Actor } from "#server/accounts/actors.ts";
import type { Context } from "#server/context.ts";
import { appendAudit } from "#server/store/audit.ts";
import type { Db } from "#server/store/db.ts";

/** An act as the audit log stores it. */
export interface Act {
  /** `resource.verb`, e.g. `channel.update`. */
  readonly action: string;
  /** Id or name of what was acted on. */
  readonly target: string | number;
  /** What changed, readable; stored as JSON, cut at 2,000 characters. No secrets. */
  readonly detail?: Readonly<Record<string, unknown>>;
}

/** The part of a call that the audit log stores. */
export interface ActCall {
  readonly actor: Pick<Actor, "id" | "username">;
  readonly address: string;
  readonly requestId: string;
}

/** The actor of a call that is not signed in. */
export const unknownActor: ActCall["actor"] = { id: 0, username: "" };

const DETAIL_CHARS = 2_000;

/** Appends an act in the transaction `tx` of the act itself; call it last there (requirements Z13). */
export async function audit(ctx: Pick<Context, "clock">, tx: Db, call: ActCall, act: Act): Promise<void> {
  await appendAudit(tx, {
    created_at: ctx.clock.seconds(),
    actor_id: call.actor.id,
    actor_name: call.actor.username,
    action: act.action,
    target: String(act.target),
    detail: act.detail === undefined ? "" : JSON.stringify(act.detail).slice(0, DETAIL_CHARS),
    address: call.address,
    request_id: call.requestId,
  });
}
