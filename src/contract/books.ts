// Reconciliation (对账): what all balances are and what the ledger says they are, side by side (requirements Y64).
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { Quota } from "./wire.ts";

export const OpenReservation = z.object({
  request_id: z.string(),
  user_id: z.int(),
  model_name: z.string(),
  amount: Quota,
  created_at: z.int(),
});
export type OpenReservation = z.output<typeof OpenReservation>;

export const BookMismatch = z.object({
  table: z.string(),
  id: z.int(),
  column: z.string(),
  stored: z.number(),
  expected: z.number(),
});
export type BookMismatch = z.output<typeof BookMismatch>;

/** What came in through one merchant account, as our orders say. */
export const InstanceSums = z.object({
  instance_id: z.int(),
  name: z.string(),
  currency: z.string(),
  orders: z.int(),
  paid_minor: z.int(),
  refunded_minor: z.int(),
  disputed_minor: z.int(),
  /** Orders that wait for a person. */
  in_review: z.int(),
});
export type InstanceSums = z.output<typeof InstanceSums>;

/** A day of a merchant account against the provider's own list (requirements Y43). */
export const ComparedDay = z.object({
  instance_id: z.int(),
  name: z.string(),
  /** By Beijing time, `2026-11-24`. */
  day: z.string(),
  /** Payments of ours that the provider lists. */
  listed: z.int(),
  /** What only the provider had. */
  brought: z.int(),
  /** What only we have. */
  missing: z.int(),
  state: z.enum(["compared", "later", "unclear"]),
  compared_at: z.int(),
});
export type ComparedDay = z.output<typeof ComparedDay>;

export const Books = z.object({
  /** When it was looked, seconds. */
  checked_at: z.int(),
  entries: Quota,
  reserved: Quota,
  balances: Quota,
  /** entries − reserved − balances; anything but 0 is a fault. */
  difference: Quota,
  debt: Quota,
  open_count: z.int(),
  /** The oldest of them. */
  open: z.array(OpenReservation),
  mismatch_count: z.int(),
  /** The first of them. */
  mismatches: z.array(BookMismatch),
  chain: z.object({ checked: z.int(), broken_id: z.int() }),
  payments: z.array(InstanceSums),
  /** The newest. */
  days: z.array(ComparedDay),
});
export type Books = z.output<typeof Books>;

export const booksApi = {
  check: endpoint({
    method: "GET",
    path: "/api/reconciliation",
    level: "admin",
    permission: "money.read",
    summary: "对账：账本合计、预扣、余额、审计链与各支付渠道的合计，现查现算",
    data: Books,
  }),
};
