// Orders, refunds and their history as the rules of the ledger see them. Types, and how a payment is named.
import type { PlanSale } from "#contract/plan-terms.ts";
import type { OrderRefundsTable, OrderStatus, RefundState } from "#server/store/tables-payments.ts";
import type { OrderEvent } from "./order-operations.ts";
import type { CommissionBounds } from "./partner-operations.ts";

export interface OrderBook {
  readonly id: number;
  readonly orderNo: string;
  readonly userId: number;
  readonly instanceId: number;
  readonly quota: bigint;
  readonly currency: string;
  readonly amountMinor: number;
  readonly giverId: number;
  readonly inviterId: number;
  readonly giftQuota: bigint;
  readonly commissionMicro: bigint;
  readonly commissionBounds: CommissionBounds;
  /** What it brings in without its fee, and what the platform keeps less that fee, of what was paid in the end: billionths of a dollar; 0 = not known. */
  income: bigint;
  fees: bigint;
  /** The plan that was bought; undefined = quota for the wallet. */
  readonly sale: PlanSale | undefined;
  status: OrderStatus;
  review: string;
  tradeNo: string;
  paidMinor: number;
  creditedQuota: bigint;
  creditedGift: bigint;
  creditedMicro: bigint;
  takenQuota: bigint;
  takenGift: bigint;
  takenMicro: bigint;
  refundedMinor: number;
  disputedMinor: number;
  paidAt: number;
  creditedAt: number;
  nextCheck: number;
}

export interface RefundBook {
  readonly refundNo: string;
  readonly orderNo: string;
  readonly userId: number;
  readonly source: OrderRefundsTable["source"];
  providerId: string;
  readonly amountMinor: number;
  readonly quota: bigint;
  readonly gift: bigint;
  micro: bigint;
  state: RefundState;
  readonly actorId: number;
  readonly reason: string;
  readonly createdAt: number;
  updatedAt: number;
  nextCheck: number;
}

/** An event with what was decided about it. */
export interface EventEntry extends OrderEvent {
  readonly orderNo: string;
  readonly verdict: string;
  readonly isOpen: boolean;
  readonly createdAt: number;
}

/** How a payment is named among the books: one completes one order (requirements Y15). */
export function tradeKey(instanceId: number, tradeNo: string): string {
  return `${instanceId} ${tradeNo}`;
}
