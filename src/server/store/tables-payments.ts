// The tables of payments, one interface each; see tables.ts. Amounts of money are minor units (fen, cents), times are seconds.
import type { Generated } from "kysely";

/** A merchant account at a provider. Provider, merchant and currency never change: another account is another row. */
export interface PaymentInstancesTable {
  id: Generated<number>;
  /** 128 random bits; the address of callbacks ends with it (requirements Y06). */
  slug: string;
  provider: string;
  name: string;
  merchant_id: string;
  currency: string;
  /** JSON without secrets. */
  settings: string;
  /** Sealed JSON; "" = none, so that the instance is off (requirements Y07). */
  secrets_sealed: string;
  /** What the secrets were before the last change; callbacks signed with them count until `before_until`. */
  secrets_before: Generated<string>;
  before_until: Generated<number>;
  /** 0 or 1. 0 = no new orders; callbacks and questions about old ones go on. */
  enabled: number;
  sort: Generated<number>;
  /** Answers in a row that said nothing. */
  unclear: Generated<number>;
  /** Notices that did not verify: forged, too old, or signed with other keys. */
  refused_notices: Generated<number>;
  /** When the last of them came. Seconds; 0 = none did. */
  refused_at: Generated<number>;
  created_at: number;
  updated_at: number;
}

export type OrderStatus = "created" | "pending" | "paid" | "credited" | "closed";

/** What a user asked to pay for. Written before the provider is asked; quota and amounts never change (requirements Y02, Y03). */
export interface OrdersTable {
  id: Generated<number>;
  order_no: string;
  user_id: number;
  instance_id: number;
  method: string;
  /** JSON: what was sold, at which price. */
  product: string;
  quota: number;
  currency: string;
  amount_minor: number;
  /** Part of `amount_minor`. */
  fee_minor: number;
  /** 0 = no gift code was entered. */
  giver_id: number;
  inviter_id: number;
  gift_quota: number;
  /** Millionths of a yuan. */
  commission_micro: number;
  /** Bounds of it as they were when the order was made, 0 = none: of the invited user's orders, and of the inviter's month. */
  commission_orders: Generated<number>;
  commission_month_micro: Generated<number>;
  /** What it brings in without its fee, and what the platform keeps less that fee: billionths of a dollar. */
  income: Generated<number>;
  fees: Generated<number>;
  /** Written by `money` where quota follows from it. */
  status: OrderStatus;
  /** Why an administrator has to look; "" = no need. */
  review: Generated<string>;
  /** The provider's own number of the payment; unique per instance. */
  trade_no: Generated<string>;
  /** JSON: where to pay, what the provider calls the order. */
  provider_ref: Generated<string>;
  paid_minor: Generated<number>;
  credited_quota: Generated<number>;
  credited_gift: Generated<number>;
  credited_micro: Generated<number>;
  /** What refunds and disputes took back so far. */
  taken_quota: Generated<number>;
  taken_gift: Generated<number>;
  taken_micro: Generated<number>;
  refunded_minor: Generated<number>;
  disputed_minor: Generated<number>;
  created_at: number;
  expires_at: number;
  paid_at: Generated<number>;
  credited_at: Generated<number>;
  closed_at: Generated<number>;
  /** When the provider is asked next; 0 = never. */
  next_check: number;
  checks: Generated<number>;
  /** When the provider was asked last. */
  asked_at: Generated<number>;
  /** JSON of what is sold when it is a plan; "" = quota for the wallet. */
  plan_sale: Generated<string>;
}

/** What was heard about an order. Append-only but for `is_open` and the raw body, which goes after 90 days. */
export interface PaymentEventsTable {
  id: Generated<number>;
  instance_id: number;
  kind: string;
  /** Of the provider, with the status in it; unique per instance. */
  event_key: string;
  /** "" = of no order of ours. */
  order_no: string;
  verdict: string;
  /** 1 = an administrator has to look. */
  is_open: number;
  /** JSON without secrets. */
  facts: string;
  body_sealed: string;
  created_at: number;
}

export type RefundState = "held" | "asked" | "unknown" | "done" | "failed" | "won";

/** Money that goes back: refunds of ours, refunds made at the provider, and disputes. */
export interface OrderRefundsTable {
  id: Generated<number>;
  /** Sent to the provider; the same on every try. */
  refund_no: string;
  order_no: string;
  user_id: number;
  source: "admin" | "elsewhere" | "dispute";
  /** What the provider calls it; "" = not known. */
  provider_id: string;
  amount_minor: number;
  /** What it took from the user: of the quota and of the gift. */
  quota: number;
  gift: number;
  /** Commission that it took from the inviter, millionths of a yuan. */
  micro: number;
  state: RefundState;
  actor_id: number;
  reason: string;
  created_at: number;
  updated_at: number;
  next_check: Generated<number>;
  checks: Generated<number>;
}

/** A day of a merchant account, by Beijing time, as it was compared with the provider's list. */
export interface PaymentDaysTable {
  instance_id: number;
  /** `2026-11-24` */
  day: string;
  /** Payments of ours in the list. */
  listed: number;
  brought: number;
  missing: number;
  /** Why it will be compared again; "" = it will not. */
  problem: string;
  compared_at: number;
}

export interface PaymentTables {
  payment_instances: PaymentInstancesTable;
  orders: OrdersTable;
  payment_events: PaymentEventsTable;
  order_refunds: OrderRefundsTable;
  payment_days: PaymentDaysTable;
}
