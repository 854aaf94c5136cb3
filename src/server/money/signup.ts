// What a new account brings by the options of this moment: the quota for new users, and the gifts of an invitation.
import type { QuotaDisplay } from "#contract/quota.ts";
import type { Options } from "#server/options.ts";
import type { Ledger } from "./ledger.ts";

/** How quota is written in log entries, by the options of this moment. */
export function quotaDisplay(options: Pick<Options, "get">): QuotaDisplay {
  return { quotaPerUnit: options.get("QuotaPerUnit"), inCurrency: options.get("DisplayInCurrencyEnabled") };
}

/**
 * Grants the quota for a new user, and with an inviter the gifts for both, in one transaction with their log entries (type
 * 4). Once per new user: repeating it does nothing. `inviterId` 0 = nobody; one who is not enabled counts as nobody.
 * Throws: StoreError.
 */
export function grantSignup(
  parts: { readonly ledger: Ledger; readonly options: Pick<Options, "get"> },
  { userId, inviterId }: { userId: number; inviterId: number },
): Promise<void> {
  const { ledger, options } = parts;
  return ledger.grantSignup({
    userId,
    inviterId,
    forNewUser: BigInt(options.get("QuotaForNewUser")),
    forInvitee: BigInt(options.get("QuotaForInvitee")),
    forInviter: BigInt(options.get("QuotaForInviter")),
    display: quotaDisplay(options),
  });
}
