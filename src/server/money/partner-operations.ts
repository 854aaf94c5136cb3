// What the ledger can be asked about codes, gifts, invitations and commission. Types only; amounts are quota units, yuan are
// millionths of a yuan, both bigint.
import type { QuotaDisplay } from "#contract/quota.ts";

/** An entry of the user's log, written in the same transaction as the change it reports (requirements W10.7). */
export interface LogNote {
  /** `LogType`: top-up, management or system. */
  readonly type: number;
  /** `{amount}`, `{before}` and `{after}` are filled in by the ledger: only it knows the balances. */
  readonly content: string;
  /** How quota is written in it. */
  readonly display: QuotaDisplay;
}

/** How far commission goes; 0 = without bound. */
export interface CommissionBounds {
  /** Only so many orders of an invited user bring some. */
  readonly firstOrders: number;
  /** An inviter earns no more in a month of Beijing time, millionths of a yuan. */
  readonly monthMicro: bigint;
}

/** What codes bring beside their quota, as the operator has set it. */
export interface CodeTerms extends CommissionBounds {
  /** Of a code's quota, for the user who entered a gift code and for the owner of the gift code. */
  readonly giftPercent: number;
  /** Of 0.5 yuan for each dollar of quota, for the inviter. */
  readonly commissionPercent: number;
  /** What a code's dollar of quota was sold for, for margins. Unit: yuan. */
  readonly soldYuan: number;
}

export interface RedeemOrder {
  /** Natural key: an order given twice is done once and answered twice. */
  readonly operationId: string;
  readonly userId: number;
  /** 0 = there is no such code. */
  readonly redemptionId: number;
  /** The user whose gift code was entered: null = none was, 0 = no user has it. */
  readonly giverId: number | null;
  /** The user who invited this one; 0 = none. */
  readonly inviterId: number;
  readonly terms: CodeTerms;
  /** Quota per dollar, for the commission, and how the log writes quota. */
  readonly display: QuotaDisplay;
}

/** `quota` is the code's, `bonus` what the gift code added. Anything else: nothing was changed. */
export type Redeemed =
  | { readonly outcome: "done"; readonly quota: bigint; readonly bonus: bigint }
  | {
      readonly outcome:
        | "unknown_code"
        | "disabled_code"
        | "used_code"
        | "unknown_gift"
        | "own_gift"
        | "user_disabled"
        | "too_large";
    };

/** `commission-adjust` is an administrator's correction, `withdraw` a payment that was made. */
export interface CommissionChange {
  readonly userId: number;
  readonly kind: "commission-adjust" | "withdraw";
  /** A change, or the balance there should be; the latter becomes a change of the balance of that moment. */
  readonly micro: { readonly delta: bigint } | { readonly target: bigint };
  /** What has to be left, because it is held. Only with `withdraw`; absent = nothing. */
  readonly keepMicro?: bigint | undefined;
  /** What has to be taken at least. Only with `withdraw`; absent = nothing. */
  readonly leastMicro?: bigint | undefined;
  /** User id of the actor. */
  readonly actorId: number;
  readonly reason: string;
  /** Natural key; made up when absent. */
  readonly operationId?: string | undefined;
  /** `{amount}`, `{before}`, `{after}` are yuan here. */
  readonly log?: LogNote | undefined;
}

/** `below_least`: less than may be withdrawn at once; `held`: less than `keepMicro` would be left. Unit of `before` and `after`: millionths of a yuan. */
export type CommissionChanged =
  | { readonly outcome: "done"; readonly before: bigint; readonly after: bigint }
  | { readonly outcome: "repeated" | "not_found" | "below_zero" | "below_least" | "held" | "too_large" };

/** What a registration brings to the new user and the inviter; once per new user, however often it is asked. */
export interface SignupGifts {
  readonly userId: number;
  /** 0 = came without an invitation. */
  readonly inviterId: number;
  readonly forNewUser: bigint;
  readonly forInvitee: bigint;
  readonly forInviter: bigint;
  readonly display: QuotaDisplay;
}

/** Quota that goes from one account to another: a person's and a team's wallet. */
export interface Transfer {
  /** Natural key: an order given twice is done once and answered twice. */
  readonly operationId: string;
  readonly fromId: number;
  readonly toId: number;
  /** null = all that is there. */
  readonly amount: bigint | null;
  /** User id of the actor. */
  readonly actorId: number;
  /** What both sides read in their logs, before the amount. */
  readonly sent: string;
  readonly received: string;
  readonly display: QuotaDisplay;
}

/** `short` = there is less, or nothing; `not_found` = an account is gone. Nothing was changed then. */
export type Transferred =
  | { readonly outcome: "done"; readonly amount: bigint }
  | { readonly outcome: "not_found" | "short" | "too_large" };
