// What a new account brings by the options of this moment: the quota for new users, and the gifts of an invitation. Promised in
// the transaction that makes the account, booked right after, exactly once: what a dead process left is booked by the next.
import type { QuotaDisplay } from "#contract/quota.ts";
import type { Options } from "#server/options.ts";
import type { Db } from "#server/store/db.ts";
import { insertSignup, listSignups, removeSignup, type SignupRow } from "#server/store/signups.ts";
import type { Ledger } from "./ledger.ts";

/** How quota is written in log entries, by the options of this moment. */
export function quotaDisplay(options: Pick<Options, "get">): QuotaDisplay {
  return { quotaPerUnit: options.get("QuotaPerUnit"), inCurrency: options.get("DisplayInCurrencyEnabled") };
}

export interface SignupParts {
  readonly db: Db;
  readonly ledger: Pick<Ledger, "grantSignup">;
  readonly options: Pick<Options, "get">;
}

/** Promises read at once. */
const PAGE = 500;

interface NewUser {
  readonly userId: number;
  /** 0 = no inviter. */
  readonly inviterId: number;
  /** false = the person has had the gifts of a registration before. */
  readonly isFirst?: boolean;
  /** What an administrator's invitation brings; it counts uses itself. Unit: quota. */
  readonly gift?: number;
}

/**
 * Promises a new account its gifts, in the transaction `tx` that inserts it: the quota for new users, and with an inviter the
 * gifts for both. `inviterId` 0 = no inviter. The amounts are those of the options now; 0 for a user who had them before.
 */
export async function promiseSignup(
  { options }: Pick<SignupParts, "options">,
  tx: Db,
  { userId, inviterId, isFirst = true, gift = 0 }: NewUser,
): Promise<SignupRow> {
  const promise = {
    user_id: userId,
    inviter_id: inviterId,
    for_new_user: (isFirst ? options.get("QuotaForNewUser") : 0) + gift,
    for_invitee: isFirst ? options.get("QuotaForInvitee") : 0,
    for_inviter: isFirst ? options.get("QuotaForInviter") : 0,
  };
  await insertSignup(tx, promise);
  return promise;
}

/**
 * Books a promise with its log entries (type 4) and forgets it; repeating it does nothing. An inviter who is not enabled
 * counts as none. Throws: StoreError; the promise stays then.
 */
export async function grantSignup({ db, ledger, options }: SignupParts, promise: SignupRow): Promise<void> {
  await ledger.grantSignup({
    userId: promise.user_id,
    inviterId: promise.inviter_id,
    forNewUser: BigInt(promise.for_new_user),
    forInvitee: BigInt(promise.for_invitee),
    forInviter: BigInt(promise.for_inviter),
    display: quotaDisplay(options),
  });
  await removeSignup(db, promise.user_id);
}

/**
 * Books every promise that was left: by a process that died, or while the database was in trouble. Several nodes may do it at
 * once, and beside registrations. Returns how many it booked. Throws: StoreError.
 */
export async function grantPromised(parts: SignupParts): Promise<number> {
  let granted = 0;
  for (let after = 0; ; ) {
    const promises = await listSignups(parts.db, after, PAGE);
    await Promise.all(promises.map((promise) => grantSignup(parts, promise)));
    granted += promises.length;
    const last = promises.at(-1);
    if (!last || promises.length < PAGE) return granted;
    after = last.user_id;
  }
}
