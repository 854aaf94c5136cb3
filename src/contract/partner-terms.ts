// What the partner plan brings, by the options of its operator; the defaults are the product's (requirements Y53).
import { z } from "zod";

/** What commission of a payment is a percentage of: its quota at 0.5 yuan a dollar, or the money without its fee. */
export const COMMISSION_BASES = ["quota", "money"] as const;

export const PartnerTerms = z.object({
  /** Of quota, for both sides of a gift code. */
  gift_percent: z.int().default(5),
  /** For the inviter: of what redemption codes, payments and plans bring in. */
  redeem_percent: z.int().default(5),
  pay_percent: z.int().default(5),
  pay_base: z.enum(COMMISSION_BASES).default("quota"),
  plan_percent: z.int().default(0),
  /** Bounds, 0 = none: orders of each invited user, days since the registration, yuan of an inviter in a month. */
  first_orders: z.int().default(0),
  first_days: z.int().default(0),
  month_yuan: z.int().default(0),
  /** What has to be asked for at once, yuan. */
  least_withdrawal: z.int().default(100),
});
export type PartnerTerms = z.output<typeof PartnerTerms>;
