// Adding an authenticator app. Its secret waits, sealed and bound to the session that asked for it, until a code of it proves that it
// was read; it is shown once (requirements I27).
import { faults } from "#server/errors.ts";
import { randomId } from "#server/secrets.ts";
import type { Db } from "#server/store/db.ts";
import { distrustDevices } from "#server/store/devices.ts";
import { countFactors, saveTotp } from "#server/store/factors.ts";
import type { SessionRow } from "#server/store/sessions.ts";
import type { Actor } from "./actors.ts";
import { type CodeRef, issueCode, peekCode, redeemCode } from "./codes.ts";
import { type FactorTools, RECOVERY_REST_SEC, renewRecoveryCodes, TOTP_SEAL } from "./factors.ts";
import { base32, matchStep, plainCode, provisioningUri } from "./totp.ts";

const SECRET_BYTES = 20;

function refOf(userId: number): CodeRef {
  return { purpose: "totp", subject: String(userId) };
}

/** From when on a factor that is added in this session proves more than a login. Unit: seconds. */
export function trustedFrom({ recovered_at }: Pick<SessionRow, "recovered_at">, now: number): number {
  return recovered_at === 0 ? now : Math.max(now, recovered_at + RECOVERY_REST_SEC);
}

/** Begins: a new secret as text, and what an app reads from the picture. */
export async function beginTotp(
  tools: FactorTools,
  actor: Pick<Actor, "id" | "username">,
  sessionId: string,
): Promise<{ secret: string; uri: string }> {
  const bytes = Buffer.from(randomId(SECRET_BYTES), "base64url");
  await issueCode(tools, refOf(actor.id), {
    text: sessionId,
    userId: actor.id,
    detail: bytes.toString("base64url"),
  });
  const secret = base32(bytes);
  const system = tools.options.get("SystemName");
  return { secret, uri: provisioningUri({ system, username: actor.username, secret }) };
}

/**
 * Ends: the code of the app that was set up. Returns recovery codes when the account had none, else an empty list. `beside` is written
 * last in the transaction. Throws: AppError for a wrong code, or when nothing was begun in this session.
 */
export async function finishTotp(
  tools: FactorTools,
  asked: { userId: number; sessionId: string; session: SessionRow; typed: string },
  beside: (tx: Db) => Promise<void>,
): Promise<string[]> {
  const { userId, sessionId, session, typed } = asked;
  const ref = refOf(userId);
  const begun = await peekCode(tools, ref, sessionId);
  if (!begun) throw faults.refused("设置已超时，请重新开始");
  const now = tools.clock.seconds();
  const code = plainCode(typed) ?? "";
  const step = matchStep(Buffer.from(begun.detail, "base64url"), code, now);
  if (step === undefined) throw faults.refused("验证码不正确，请确认手机时间准确后重试");
  return tools.db.transaction().execute(async (tx) => {
    // Of two windows one ends it.
    if (!(await redeemCode(tools, tx, ref, sessionId))) throw faults.refused("设置已超时，请重新开始");
    await saveTotp(tx, {
      user_id: userId,
      secret_sealed: tools.secrets.seal(begun.detail, TOTP_SEAL),
      // The code that ended the setup counts as used.
      last_step: step,
      created_at: now,
      last_used_at: now,
      trusted_from: trustedFrom(session, now),
    });
    const codes = await codesForFirst(tools, tx, userId);
    await distrustDevices(tx, userId);
    await beside(tx);
    return codes;
  });
}

/** Recovery codes for an account that has none left: without them a lost phone would be the end. */
export async function codesForFirst(
  tools: Pick<FactorTools, "secrets">,
  tx: Db,
  userId: number,
): Promise<string[]> {
  const { recovery } = await countFactors(tx, userId);
  return recovery === 0 ? renewRecoveryCodes(tools, tx, userId) : [];
}
