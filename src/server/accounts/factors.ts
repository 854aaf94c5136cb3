// Second factors of an account: authenticator app, passkeys, recovery codes. Who needs one, and whether what was typed is one
// (requirements I27, I28, I30, I31). Passkeys are judged in passkeys.ts.

import { DAY_SEC } from "#server/clock.ts";
import { LIMITS } from "#server/limits/table.ts";
import { newRecoveryCode, type Secrets } from "#server/secrets.ts";
import type { Db } from "#server/store/db.ts";
import type { FactorCount } from "#server/store/factors.ts";
import {
  countFactors,
  findFactorDue,
  findTotp,
  noteFactorDue,
  replaceRecoveryCodes,
  takeRecoveryCode,
  takeTotpStep,
} from "#server/store/factors.ts";
import { isPassing } from "#server/store/fault.ts";
import type { Tools } from "#server/tools.ts";
import { isStaff } from "./may.ts";
import { matchStep, plainCode } from "./totp.ts";

export type FactorTools = Pick<Tools, "db" | "clock" | "secrets" | "options" | "limits" | "events">;

const RECOVERY_CODES = 10;
/** How long after a recovery code what it led to proves no more than a login (requirements I28). Unit: seconds. */
export const RECOVERY_REST_SEC = DAY_SEC;
export const TOTP_SEAL = "totp.secret";

/** Whether an account has a second factor; recovery codes alone are none. */
export function isProtected({ totp, passkeys }: Pick<FactorCount, "totp" | "passkeys">): boolean {
  return totp + passkeys > 0;
}

/** Whether the operator asks accounts of this role for a second factor. */
export function mustHaveFactor({ options }: Pick<Tools, "options">, role: number): boolean {
  const whom = options.get("MfaRequiredFor");
  return whom === "all" || (whom === "staff" && isStaff({ role }));
}

/**
 * Until when an account that needs a factor may go on without one, in seconds; it begins when the account is first seen so. 0 = it may
 * for ever, or has one.
 */
export async function factorDue(
  tools: Pick<Tools, "db" | "clock" | "options">,
  { id, role }: { readonly id: number; readonly role: number },
): Promise<number> {
  const { db, clock, options } = tools;
  if (!mustHaveFactor(tools, role) || isProtected(await countFactors(db, id))) return 0;
  const known = await findFactorDue(db, id);
  if (known !== undefined) return known;
  const dueAt = clock.seconds() + options.get("MfaGraceDays") * DAY_SEC;
  // While the database cannot be written, reads still work (requirements F02).
  await noteFactorDue(db, id, dueAt).catch((error: unknown) => {
    if (!isPassing(error)) throw error;
  });
  return dueAt;
}

/** A typed recovery code as it was shown: without blanks and dashes, and with what is easily misread put right (Crockford). */
function plainRecoveryCode(typed: string): string {
  return typed.toUpperCase().replaceAll(/[\s-]/g, "").replaceAll("O", "0").replaceAll(/[IL]/g, "1");
}

function recoveryHash(secrets: Secrets, userId: number, code: string): string {
  return secrets.hash(`recovery ${userId} ${code}`);
}

/** Makes new recovery codes, which are to be shown once; the ones before are void. */
export async function renewRecoveryCodes(
  { secrets }: Pick<Tools, "secrets">,
  tx: Db,
  userId: number,
): Promise<string[]> {
  const codes = Array.from({ length: RECOVERY_CODES }, newRecoveryCode);
  await replaceRecoveryCodes(
    tx,
    userId,
    codes.map((code) => recoveryHash(secrets, userId, code)),
  );
  return codes.map((code) => `${code.slice(0, 5)}-${code.slice(5)}`);
}

/** What a typed code was; `trustedFrom` as in the row of the factor. */
export type TypedFactor =
  | { readonly kind: "totp"; readonly trustedFrom: number }
  | { readonly kind: "recovery" };

/**
 * Accepts the code of an authenticator app, or a recovery code unless `noRecovery`; each works once, however many come with it at the
 * same time. Undefined = wrong. Throws: 429 when there were too many wrong ones.
 */
export function acceptCode(
  tools: FactorTools,
  asked: { userId: number; typed: string; address: string; noRecovery?: true },
): Promise<TypedFactor | undefined> {
  const { userId, address } = asked;
  const subject = String(userId);
  return tools.limits.guess({
    limits: [
      { limit: LIMITS.factor, subject },
      { limit: LIMITS.factorDay, subject },
    ],
    onRefused: () => tools.events.loginFailed({ reason: "limited", address }),
    evaluate: () => judge(tools, asked),
    isWrong: (found) => found === undefined,
  });
}

async function judge(
  { db, clock, secrets }: FactorTools,
  { userId, typed, noRecovery }: { userId: number; typed: string; noRecovery?: true },
): Promise<TypedFactor | undefined> {
  const code = plainCode(typed);
  if (code === undefined) {
    if (noRecovery) return undefined;
    const hash = recoveryHash(secrets, userId, plainRecoveryCode(typed));
    return (await takeRecoveryCode(db, userId, hash)) ? { kind: "recovery" } : undefined;
  }
  const row = await findTotp(db, userId);
  if (!row) return undefined;
  const now = clock.seconds();
  const secret = Buffer.from(secrets.open(row.secret_sealed, TOTP_SEAL), "base64url");
  const step = matchStep(secret, code, now);
  if (step === undefined || !(await takeTotpStep(db, { userId, step, now }))) return undefined;
  return { kind: "totp", trustedFrom: row.trusted_from };
}
