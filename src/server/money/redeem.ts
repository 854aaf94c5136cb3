// From what a user typed to an order the ledger can carry out: finds the code, the owner of the gift code, and the inviter of the
// user. Changes nothing itself; the ledger looks at all of it again in its transaction.
import type { Clock } from "#server/clock.ts";
import type { Options } from "#server/options.ts";
import { randomId, type Secrets } from "#server/secrets.ts";
import type { Db } from "#server/store/db.ts";
import { findAffOwner } from "#server/store/partners.ts";
import { findRedemptionIdByKey } from "#server/store/redemptions.ts";
import { findUserById } from "#server/store/users.ts";
import { boundsOf, percentFor } from "./commission-terms.ts";
import type { Ledger } from "./ledger.ts";
import type { Redeemed } from "./partner-operations.ts";
import { quotaDisplay } from "./signup.ts";

export interface RedeemParts {
  readonly db: Db;
  readonly secrets: Secrets;
  readonly ledger: Ledger;
  readonly options: Options;
  readonly clock: Clock;
}

export interface Redemption {
  readonly userId: number;
  /** As typed, trimmed. */
  readonly key: string;
  /** As typed, trimmed; "" = none. */
  readonly giftCode: string;
  /** Natural key of this attempt; made up when absent. */
  readonly operationId?: string | undefined;
}

/** Redeems a code, with or without a gift code (requirements W3.8, W17.3). Throws: StoreError. */
export async function redeem(parts: RedeemParts, redemption: Redemption): Promise<Redeemed> {
  const { db, ledger, options, clock } = parts;
  const { userId, key, giftCode } = redemption;
  const [redemptionId, giver, user] = await Promise.all([
    codeOf(parts, key),
    findAffOwner(db, giftCode),
    findUserById(db, userId),
  ]);
  const since = { createdAt: user?.created_at ?? 0, nowSec: clock.seconds() };
  return ledger.redeem({
    operationId: redemption.operationId ?? `redeem-${randomId(16)}`,
    userId,
    redemptionId: redemptionId ?? 0,
    giverId: giftCode === "" ? null : (giver?.id ?? 0),
    inviterId: user?.inviter_id ?? 0,
    terms: {
      ...boundsOf(options),
      giftPercent: options.get("GiftPercent"),
      soldYuan: options.get("SoldDollarYuan"),
      commissionPercent: percentFor(options, "RedeemCommissionPercent", since),
    },
    display: quotaDisplay(options),
  });
}

/** The code that was meant: capitals and blanks are slips of a user who copied one of ours; imported codes may have their own. */
async function codeOf({ db, secrets }: RedeemParts, key: string): Promise<number | undefined> {
  const find = (text: string) => findRedemptionIdByKey(db, secrets.hash(text));
  const plain = key.replaceAll(/\s/g, "").toLowerCase();
  return (await find(key)) ?? (plain === key ? undefined : find(plain));
}
