// One-time codes: mailed, handed to a browser, or given after a human check. Only hashes are stored; each code is bound to
// a purpose and a subject, is valid for ten minutes, and replaces the subject's older one (requirements A13, A15).
import { AHEAD_SEC } from "#server/clock.ts";
import {
  type CodeQuery,
  deleteCode,
  deleteExpiredCodes,
  type FoundCode,
  guessCode,
  readCode,
  saveCode,
  spendCode,
  takeCode,
} from "#server/store/codes.ts";
import type { Db } from "#server/store/db.ts";
import type { Tools } from "#server/tools.ts";

export type CodePurpose =
  | "register"
  | "bind-email"
  | "reset"
  | "oauth"
  /** The way to a login provider. */
  | "sign-on"
  | "human"
  /** A login that still needs its second factor. */
  | "half"
  /** An authenticator app that is being set up. */
  | "totp"
  /** Challenges of passkeys: for a new one, for a login, to confirm that the owner is there. */
  | "passkey-new"
  | "passkey-login"
  | "passkey-confirm";

/** What a code is for, and what it is bound to: an address, an account, a state, a browser. */
export interface CodeRef {
  readonly purpose: CodePurpose;
  readonly subject: string;
}

export type CodeTools = Pick<Tools, "db" | "clock" | "secrets">;

/** Ten minutes (requirements W4.2). */
const LIFE_SEC = 600;
/** Wrong tries after which a mailed code is invalid (requirements A15). */
const MAX_TRIES = 5;

function keyOf({ secrets }: CodeTools, { purpose, subject }: CodeRef): string {
  return `${purpose}:${secrets.hash(`code ${purpose} ${subject}`)}`;
}

/** Includes the purpose, so that the same digits have another hash for another purpose. */
function queryOf(tools: CodeTools, ref: CodeRef, code: string): CodeQuery {
  const now = tools.clock.seconds();
  return {
    key: keyOf(tools, ref),
    codeHash: tools.secrets.hash(`code ${ref.purpose} ${ref.subject} ${code}`),
    now,
    // A code that ends later was made while the clock was wrong, and is invalid.
    latest: now + LIFE_SEC + AHEAD_SEC,
    maxTries: MAX_TRIES,
  };
}

/** Stores a code; the older one of the same subject is invalid from now on. */
export async function issueCode(
  tools: CodeTools,
  ref: CodeRef,
  code: { text: string; userId?: number; detail?: string },
): Promise<void> {
  const { key, codeHash, now } = queryOf(tools, ref, code.text);
  await deleteExpiredCodes(tools.db, now);
  await saveCode(tools.db, {
    key,
    code_hash: codeHash,
    user_id: code.userId ?? 0,
    detail: code.detail === undefined ? "" : tools.secrets.seal(code.detail, "codes.detail"),
    expires_at: now + LIFE_SEC,
  });
}

/** Takes a code, in the caller's transaction when `db` is one. Undefined = wrong, used, too old, or too many tries. */
export async function redeemCode(
  tools: CodeTools,
  db: Db,
  ref: CodeRef,
  text: string,
): Promise<FoundCode | undefined> {
  return opened(tools, await takeCode(db, queryOf(tools, ref, text)));
}

function opened({ secrets }: CodeTools, found: FoundCode | undefined): FoundCode | undefined {
  if (found === undefined || found.detail === "") return found;
  return { ...found, detail: secrets.open(found.detail, "codes.detail") };
}

/** What a long code stands for, without taking it. */
export async function peekCode(tools: CodeTools, ref: CodeRef, text: string): Promise<FoundCode | undefined> {
  return opened(tools, await readCode(tools.db, queryOf(tools, ref, text)));
}

/**
 * Whether a short code, which can be guessed, is right: ask this before taking it. A wrong guess costs a try, at once and
 * outside any transaction that may be rolled back (requirements A15).
 */
export function tryCode(tools: CodeTools, ref: CodeRef, text: string): Promise<boolean> {
  return guessCode(tools.db, queryOf(tools, ref, text));
}

/** Whether a long code, which cannot be guessed, is valid now. */
export async function isCode(tools: CodeTools, ref: CodeRef, text: string): Promise<boolean> {
  return (await readCode(tools.db, queryOf(tools, ref, text))) !== undefined;
}

/** Uses a code that is valid for a few uses. Returns whether it still was. */
export function spendUse(tools: CodeTools, ref: CodeRef, text: string): Promise<boolean> {
  return spendCode(tools.db, queryOf(tools, ref, text));
}

/** Deletes the code of a subject, in the caller's transaction. Returns false when there is none, or another call took it. */
export function dropCode(tools: CodeTools, tx: Db, ref: CodeRef): Promise<boolean> {
  return deleteCode(tx, keyOf(tools, ref));
}
