// One-time codes: what was mailed, handed to a browser, or earned by a human check. Only hashes are stored; each code is
// bound to a purpose and a subject, lives ten minutes, and the newest of a subject is the only one (requirements A13, A15).

import { AHEAD_SEC } from "#server/clock.ts";
import {
  type CodeQuery,
  deleteCode,
  deleteExpiredCodes,
  type FoundCode,
  guessCode,
  hasCode,
  saveCode,
  spendCode,
  takeCode,
} from "#server/store/codes.ts";
import type { Db } from "#server/store/db.ts";
import type { Tools } from "#server/tools.ts";

export type CodePurpose = "register" | "bind-email" | "reset" | "oauth" | "human";

/** What a code is for, and what it is bound to: an address, an account, a state, a browser. */
export interface CodeRef {
  readonly purpose: CodePurpose;
  readonly subject: string;
}

export type CodeTools = Pick<Tools, "db" | "clock" | "secrets">;

/** Ten minutes (requirements W4.2). */
const LIFE_SEC = 600;
/** Wrong tries after which a code that was mailed is worth nothing (requirements A15). */
const MAX_TRIES = 5;

function keyOf({ secrets }: CodeTools, { purpose, subject }: CodeRef): string {
  return `${purpose}:${secrets.hash(`code ${purpose} ${subject}`)}`;
}

/** Bound to its purpose too, so that the same digits for another one have another hash. */
function queryOf(tools: CodeTools, ref: CodeRef, code: string): CodeQuery {
  const now = tools.clock.seconds();
  return {
    key: keyOf(tools, ref),
    codeHash: tools.secrets.hash(`code ${ref.purpose} ${ref.subject} ${code}`),
    now,
    // One that ends later was made while the clock was wrong, and counts for nothing.
    latest: now + LIFE_SEC + AHEAD_SEC,
    maxTries: MAX_TRIES,
  };
}

/** Stores a code; the one before it of the same subject is worth nothing from now on. */
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
  const found = await takeCode(db, queryOf(tools, ref, text));
  if (found === undefined || found.detail === "") return found;
  return { ...found, detail: tools.secrets.open(found.detail, "codes.detail") };
}

/**
 * Whether few digits that anybody may guess at are the code: ask this before taking it. A wrong guess costs a try, at once and
 * outside any transaction that may be undone (requirements A15).
 */
export function tryCode(tools: CodeTools, ref: CodeRef, text: string): Promise<boolean> {
  return guessCode(tools.db, queryOf(tools, ref, text));
}

/** Whether a code that nobody can guess would be taken now. */
export function isCode(tools: CodeTools, ref: CodeRef, text: string): Promise<boolean> {
  return hasCode(tools.db, queryOf(tools, ref, text));
}

/** Uses a code that may be used a few times. Returns whether it may. */
export function spendUse(tools: CodeTools, ref: CodeRef, text: string): Promise<boolean> {
  return spendCode(tools.db, queryOf(tools, ref, text));
}

/** Takes the code of a subject away, in the caller's transaction. Returns false when there is none, or another took it. */
export function dropCode(tools: CodeTools, tx: Db, ref: CodeRef): Promise<boolean> {
  return deleteCode(tx, keyOf(tools, ref));
}
