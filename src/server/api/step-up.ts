// Whether the owner of an account is there: asked again before secrets, money and changes of staff (requirements I32), and whether an
// account that needs a second factor has one (requirements I31). What is asked of whom is data on the endpoint.
import type { Endpoint } from "#contract/endpoint.ts";
import type { Actor } from "#server/accounts/actors.ts";
import { factorDue, isProtected, RECOVERY_REST_SEC } from "#server/accounts/factors.ts";
import type { Context } from "#server/context.ts";
import { faults } from "#server/errors.ts";
import { countFactors } from "#server/store/factors.ts";
import type { SessionRow } from "#server/store/sessions.ts";

/** How long a proof counts. Unit: seconds. */
const STEP_UP_SEC = 300;
/** A proof that lies further ahead was noted before the clock was set back. Unit: seconds. */
const SLACK_SEC = 5;

/** Throws: 403 for an account that must have a second factor, has none, and whose time for adding one is over. */
export async function refuseUnprotected(
  ctx: Pick<Context, "db" | "clock" | "options">,
  endpoint: Endpoint,
  actor: Actor,
): Promise<void> {
  if (endpoint.enrols || endpoint.level === "public") return;
  const dueAt = await factorDue(ctx, actor);
  if (dueAt !== 0 && dueAt <= ctx.clock.seconds()) throw faults.enrolmentRequired();
}

/** Throws: 403 when the endpoint wants a proof and this session has none, or an old one; an access token never has one. */
export async function askAgain(
  ctx: Pick<Context, "db" | "clock" | "options" | "sessions">,
  endpoint: Endpoint,
  { actor, sessionId }: { actor: Actor; sessionId: string | undefined },
): Promise<void> {
  const { stepUp } = endpoint;
  // A machine has nothing to prove with: that it may do this was said when its account was made.
  if (stepUp === undefined || actor.service !== undefined) return;
  if (stepUp === "guarded" && !ctx.options.get("StepUpForAllEnabled")) {
    if (!isProtected(await countFactors(ctx.db, actor.id))) return;
  }
  const session = sessionId === undefined ? undefined : await ctx.sessions.get(sessionId, actor.id);
  if (!session)
    throw faults.verification("VERIFICATION_REQUIRED", "该操作需要再次验证，不能使用系统访问令牌");
  const now = ctx.clock.seconds();
  if (endpoint.enrols && isRecovered(session, now)) return;
  if (session.stepup_at === 0) throw faults.verification("VERIFICATION_REQUIRED", "该操作需要再次验证身份");
  const age = now - session.stepup_at;
  if (age > STEP_UP_SEC || age < -SLACK_SEC)
    throw faults.verification("VERIFICATION_EXPIRED", "身份验证已过期，请再次验证");
}

/** Whether a recovery code let this session in a short while ago. */
function isRecovered({ recovered_at }: SessionRow, now: number): boolean {
  return recovered_at > 0 && now - recovered_at < RECOVERY_REST_SEC;
}
