// Writes the audit log from a handler: the actor, the act, its target, the address. Never a secret, and never what a visitor typed.
import type { AuditAction } from "#contract/audit-actions.ts";
import type { Actor } from "#server/accounts/actors.ts";
import type { Joined } from "#server/accounts/mail-domains.ts";
import type { Context } from "#server/context.ts";
import { appendAudit } from "#server/store/audit.ts";
import type { Db } from "#server/store/db.ts";

/** An act as the audit log stores it. */
export interface Act {
  readonly action: AuditAction;
  /** Id or name of what was acted on. */
  readonly target: string | number;
  /** What changed, readable; stored as JSON, cut at 2,000 characters. No secrets. */
  readonly detail?: Readonly<Record<string, unknown>>;
  /** The row, or its view, as it was: of the fields in `detail` that differ, the old values are stored too. */
  readonly before?: object;
}

/** The part of a call that the audit log stores. */
export interface ActCall {
  readonly actor: Pick<Actor, "id" | "username" | "service">;
  readonly address: string;
  readonly requestId: string;
}

/** The actor of a call that is not signed in. */
export const unknownActor: ActCall["actor"] = { id: 0, username: "" };

const DETAIL_CHARS = 2_000;
/** Longer texts are cut, around where they begin to differ. */
const TEXT_CHARS = 240;
/** Stands for a secret that was changed. */
const CHANGED = "changed";

/** Appends an act in the transaction `tx` of the act itself; call it last there (requirements Z13). */
export async function audit(ctx: Pick<Context, "clock">, tx: Db, call: ActCall, act: Act): Promise<void> {
  await appendAudit(tx, {
    created_at: ctx.clock.seconds(),
    actor_id: call.actor.id,
    actor_name: nameOf(call.actor),
    action: act.action,
    target: String(act.target),
    detail: detailText(act),
    address: call.address,
    request_id: call.requestId,
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

/** The detail as JSON; `before` holds what the fields that changed were. A field that only says that it changed has no old value there. */
function detailText({ detail, before = {} }: Act): string {
  if (detail === undefined) return "";
  const known: Readonly<Record<string, unknown>> = { ...before };
  const after: Record<string, unknown> = {};
  const replaced: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(detail)) {
    const old = value === CHANGED ? undefined : known[name];
    const from = differsAt(old, value);
    after[name] = excerpt(value, from);
    if (old !== undefined && value !== undefined && JSON.stringify(old) !== JSON.stringify(value))
      replaced[name] = excerpt(old, from);
  }
  const whole = Object.keys(replaced).length === 0 ? after : { ...after, before: replaced };
  return JSON.stringify(whole).slice(0, DETAIL_CHARS);
}

/** Where two long texts begin to differ; 0 for anything else. */
function differsAt(left: unknown, right: unknown): number {
  if (typeof left !== "string" || typeof right !== "string") return 0;
  let index = 0;
  while (index < left.length && left[index] === right[index]) index += 1;
  return index;
}

function excerpt(value: unknown, from: number): unknown {
  if (typeof value !== "string" || value.length <= TEXT_CHARS) return value;
  const start = Math.max(0, Math.min(from - TEXT_CHARS / 4, value.length - TEXT_CHARS));
  const end = start + TEXT_CHARS;
  return `${start === 0 ? "" : "…"}${value.slice(start, end)}${end >= value.length ? "" : "…"}`;
}
