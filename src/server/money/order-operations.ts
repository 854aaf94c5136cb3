// What the ledger can be asked about paid orders and money that goes back. Types only; quota is bigint, money is whole minor units.
import type { QuotaDisplay } from "#contract/quota.ts";

/** A line of the history of an order, stored in the same transaction as what it tells of. */
export interface OrderEvent {
  readonly instanceId: number;
  readonly kind: string;
  /** Natural key at this instance: a repetition is not stored again. */
  readonly eventKey: string;
  readonly facts: string;
  readonly bodySealed: string;
}

/** A payment that a provider confirmed, with everything the rules compare. */
export interface Proof {
  readonly tradeNo: string;
  readonly amountMinor: number;
  readonly currency: string;
  /** Seconds; 0 = the provider did not say. */
  readonly paidSec: number;
  /** Of a plan: the time that the provider's invoice names. Unit: seconds. */
  readonly span?: { readonly startsAt: number; readonly endsAt: number };
  /** A payment that agrees with its order and yet needs a person, and why. */
  readonly doubt?: string;
}

/** What may happen to an order in the ledger. */
export type OrderAct =
  | { readonly verb: "prove"; readonly proof: Proof }
  /** An administrator decides a payment that did not fit. */
  | {
      readonly verb: "decide";
      readonly as: "paid" | "ordered";
      readonly actorId: number;
      readonly reason: string;
    }
  /** An administrator vouches for a payment that the provider cannot confirm. */
  | { readonly verb: "manual"; readonly proof: Proof; readonly actorId: number; readonly reason: string }
  /** Takes the quota of a refund before the provider is asked; null = as much money as the wallet still holds. */
  | {
      readonly verb: "hold";
      readonly refundNo: string;
      readonly amountMinor: number | null;
      readonly actorId: number;
      readonly reason: string;
    }
  /** The provider's last word about a refund. */
  | {
      readonly verb: "finish";
      readonly refundNo: string;
      readonly isDone: boolean;
      readonly providerId: string;
    }
  /** Money that went back without us: takes what the wallet has, the rest becomes debt. */
  | {
      readonly verb: "claw";
      readonly refundNo: string;
      readonly source: "elsewhere" | "dispute";
      readonly providerId: string;
      /** Of which payment; "" = the provider did not say. */
      readonly tradeNo: string;
      readonly amountMinor: number;
      /** The amount is what refunds of the order are in all, ours among them. */
      readonly isTotal?: true;
    }
  /** A dispute was won: gives back what it took. */
  | { readonly verb: "restore"; readonly refundNo: string };

export interface OrderChange {
  /** Natural key of the act. */
  readonly operationId: string;
  readonly orderNo: string;
  readonly userId: number;
  readonly giverId: number;
  readonly inviterId: number;
  readonly act: OrderAct;
  readonly event: OrderEvent;
  readonly display: QuotaDisplay;
}

/**
 * `credited` and `review` changed the order; `duplicate` = known already; `paid_twice` and `trade_used` were only noted for review.
 * Of refunds: `done` changed it, `short` = the wallet has less, `too_much` = more than was paid. `other_trade` = it is of another
 * payment than the one that the order has. `wrong_state` = nothing was changed.
 */
export interface OrderVerdict {
  readonly outcome:
    | "credited"
    | "review"
    | "duplicate"
    | "paid_twice"
    | "trade_used"
    | "done"
    | "short"
    | "too_much"
    | "other_trade"
    | "wrong_state"
    | "not_found";
  /** Why it needs a person; "" = it does not. */
  readonly review: string;
  /** Of a hold: what is refunded. */
  readonly amountMinor: number;
}
