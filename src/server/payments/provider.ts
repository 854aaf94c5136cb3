// What the payments room asks of each provider, and what it is told. Types only; a client of a provider knows no database and no quota.
import type { PaymentProviderName } from "#contract/payment-provider.ts";
import type { PlanUnit } from "#contract/plan-terms.ts";
import type { Egress } from "#server/egress/dispatcher.ts";

/** A merchant account, opened. */
export interface Instance {
  readonly id: number;
  readonly slug: string;
  readonly provider: PaymentProviderName;
  readonly name: string;
  readonly merchantId: string;
  readonly currency: string;
  readonly isEnabled: boolean;
  readonly methods: readonly string[];
  readonly feeBp: number;
  /** What the platform keeps of a payment, for margins. Unit: basis points. */
  readonly costBp: number;
  readonly rate: string;
  readonly baseUrl: string;
  /** By key; "" when absent. */
  field(key: string): string;
  /** The secret of now, and for a while the one before it, never "" (requirements Y07). */
  secrets(key: string): readonly string[];
}

export interface ProviderDeps {
  readonly egress: Pick<Egress, "send">;
  readonly nowSec: number;
  /** Before each call: waits for its turn at this account. */
  readonly turn: () => Promise<void>;
  /** Hears the `Date` of each answer; "" = it had none. */
  readonly heardDate: (date: string) => void;
  /** Where the provider tells us; constants without user text (requirements Y10). */
  readonly notifyUrl: string;
  readonly returnUrl: string;
}

/** The part of an order that a provider needs. */
export interface OrderFacts {
  readonly orderNo: string;
  readonly method: string;
  readonly amountMinor: number;
  /** What was paid, which may be another sum; 0 = nothing yet. */
  readonly paidMinor: number;
  readonly currency: string;
  readonly expiresSec: number;
  readonly clientAddress: string;
  /** What `create` returned; "" = nothing yet. */
  readonly session: string;
  readonly tradeNo: string;
  /** Absent = it is paid for once. */
  readonly recurring?: Recurring;
}

/** What a plan that the provider renews by itself needs, beside the price. */
export interface Recurring {
  readonly unit: PlanUnit;
  readonly count: number;
  readonly userId: number;
  readonly versionId: number;
}

/** Where to pay. */
export interface PayRef {
  readonly qr: string;
  readonly url: string;
  /** The provider's name of the order. */
  readonly session: string;
}

/** A payment that a provider confirmed; the caller compares it with the order. */
export interface Payment {
  readonly orderNo: string;
  readonly tradeNo: string;
  /** -1 = the provider named no amount that can be read. */
  readonly amountMinor: number;
  readonly currency: string;
  readonly paidSec: number;
  /** Of a plan that the provider renews. */
  readonly invoice?: Invoiced;
}

/** The invoice behind a payment: which subscription it is of, and which time it pays for. Unit: seconds. */
export interface Invoiced {
  readonly id: string;
  readonly subscription: string;
  /** The order that began the subscription. */
  readonly firstOrderNo: string;
  readonly startsAt: number;
  readonly endsAt: number;
}

/** A subscription as the provider has it. Unit: seconds. */
export interface Subscription {
  readonly id: string;
  /** "" = it is none of ours. */
  readonly firstOrderNo: string;
  readonly status: "active" | "failed" | "ended";
  readonly renews: boolean;
  /** The end of the time that it runs for now. */
  readonly endsAt: number;
  /** 0 = it goes on. */
  readonly endedAt: number;
}

/** What a subscription is to be: what it charges from its next period on, and whether there is one. */
export interface SubscriptionWish extends Recurring {
  readonly renews: boolean;
  readonly amountMinor: number;
  readonly currency: string;
}

/** The subscriptions of a provider that renews by itself. */
export interface Renewing {
  /** What is so, and its paid invoices, oldest first. */
  look(
    instance: Instance,
    id: string,
    deps: ProviderDeps,
  ): Promise<
    | { readonly kind: "found"; readonly subscription: Subscription; readonly payments: readonly Payment[] }
    | { readonly kind: "gone" }
    | { readonly kind: "unclear"; readonly problem: string }
  >;
  /** Sets it; the same wish again changes nothing. */
  change(
    instance: Instance,
    { id, wish }: { readonly id: string; readonly wish: SubscriptionWish },
    deps: ProviderDeps,
  ): Promise<"done" | "gone" | "unclear">;
  /** A page of the provider where the payer changes the card, good for minutes; it leads back to `deps.returnUrl`. */
  cardPage(
    instance: Instance,
    id: string,
    deps: ProviderDeps,
  ): Promise<
    | { readonly kind: "ready"; readonly url: string }
    | { readonly kind: "gone" | "refused" | "unclear"; readonly problem: string }
  >;
}

/** `problem` is short and typed, for log and history: never a signature, a key or an account of a payer. */
export type Created =
  | ({ readonly kind: "ready" } & PayRef)
  | { readonly kind: "refused"; readonly problem: string }
  | { readonly kind: "unclear"; readonly problem: string };

/** `open` = not paid yet; `gone` = it cannot be paid any more; `odd` = an answer that can be read and says neither: the order stays open. */
export type Asked =
  | { readonly kind: "paid"; readonly payment: Payment }
  | { readonly kind: "open" }
  | { readonly kind: "gone" }
  | { readonly kind: "odd" | "unclear"; readonly problem: string };

/** What became of a question that only tests an account; `refused` = it was answered, and the account is not taken. */
export type Probed =
  | { readonly kind: "accepted" }
  | { readonly kind: "refused" | "unclear"; readonly problem: string };

export type Closed = "closed" | "unclear";

/** `taken` = the provider works on it. */
export type Refunded =
  | { readonly kind: "done"; readonly providerId: string }
  | { readonly kind: "taken" }
  | { readonly kind: "failed"; readonly problem: string }
  | { readonly kind: "unclear"; readonly problem: string };

export interface RefundFacts {
  readonly refundNo: string;
  readonly amountMinor: number;
}

/** A callback as it came. */
export interface CallbackRequest {
  readonly method: "GET" | "POST";
  /** Raw, without `?`. */
  readonly query: string;
  readonly body: Uint8Array;
  header(name: string): string;
}

/** Money that went back at the provider, by its own id. */
export interface Reversal {
  readonly source: "elsewhere" | "dispute";
  readonly providerId: string;
  readonly orderNo: string;
  readonly tradeNo: string;
  readonly amountMinor: number;
  /** The amount is the sum of all refunds of the order so far. */
  readonly isTotal: boolean;
  /** One refund of a list, at a provider whose notices tell sums: the listed ones of the order together are set against what is booked. */
  readonly isListed?: true;
  /** A dispute that was won. */
  readonly isUndone: boolean;
}

/** A refund that did not reach its payer, by the provider's id and, where it is one of ours, our number. */
export interface Bounced {
  readonly refundId: string;
  /** "" = it was made at the provider. */
  readonly refundNo: string;
  readonly tradeNo: string;
}

/** Money that went back, without an amount that counts. */
export type Unsure = Pick<Reversal, "providerId" | "orderNo" | "tradeNo">;

/** `foreign` = genuine, but of another merchant; `refused` leaves no trace but a counter. */
export type Notice =
  | { readonly kind: "refused"; readonly problem: string }
  | { readonly kind: "ignored" }
  | { readonly kind: "foreign"; readonly orderNo: string; readonly key: string }
  /** The notice names what to look at; the provider is asked what is so. */
  | { readonly kind: "look"; readonly orderNo: string; readonly key: string; readonly session: string }
  | { readonly kind: "paid"; readonly payment: Payment; readonly key: string }
  /** Something happened to a subscription. */
  | { readonly kind: "subscription"; readonly id: string; readonly key: string }
  | { readonly kind: "reversed"; readonly reversal: Reversal; readonly key: string }
  | ({ readonly kind: "bounced" } & Bounced)
  /** What to look at could not be fetched: the provider has to tell again. */
  | { readonly kind: "again" };

export interface Reply {
  readonly status: number;
  readonly body: string;
}

/** Payments of a span as the provider's own list has them. */
export type Listed =
  | {
      readonly kind: "listed";
      readonly payments: readonly Payment[];
      /** Not signed by the provider: each payment that is new to us is asked about before it counts. */
      readonly isHearsay?: true;
      /** Trade numbers of payments of which something went back since. */
      readonly returned?: readonly string[];
      readonly reversals?: readonly Reversal[];
      /** Something went back, and the provider does not say how much, or does not confirm it: a person has to look. */
      readonly unsure?: readonly Unsure[];
    }
  /** The provider makes the list of that day later. */
  | { readonly kind: "later" }
  | { readonly kind: "unclear"; readonly problem: string };

/** From the first and before the second, seconds. */
export interface Span {
  readonly fromSec: number;
  readonly beforeSec: number;
}

/** What `newOrderNo` makes: a merchant account may sell for other shops too, whose orders are none of ours. */
export function isOwnOrder(orderNo: string): boolean {
  return /^TG\d{8}[0-9A-Z]{16}$/.test(orderNo);
}

/** Refunds that we ask for carry a number that begins so; all others were made elsewhere. */
export const OWN_REFUND = "RF";

export interface Provider {
  /** How it wants to hear that a notice arrived, and that it was not taken. */
  readonly accepted: Reply;
  readonly refused: Reply;
  create(instance: Instance, order: OrderFacts, deps: ProviderDeps): Promise<Created> | Created;
  ask(instance: Instance, order: OrderFacts, deps: ProviderDeps): Promise<Asked>;
  /** Asks about an order that does not exist: the way there and the keys are right when the provider says so. */
  probe(instance: Instance, orderNo: string, deps: ProviderDeps): Promise<Probed>;
  /** Ends an order at the provider. Asked again afterwards in any case. */
  close(instance: Instance, order: OrderFacts, deps: ProviderDeps): Promise<Closed>;
  read(instance: Instance, request: CallbackRequest, deps: ProviderDeps): Promise<Notice> | Notice;
  refund(
    instance: Instance,
    order: OrderFacts,
    refund: RefundFacts & { deps: ProviderDeps },
  ): Promise<Refunded>;
  /** Between two refunds of one order the provider wants so long; absent = none. Unit: seconds. */
  readonly refundGapSec?: number;
  /**
   * All payments that were made in a span, and perhaps some around it. A provider without such a list answers `listed` with none: then each
   * paid order of ours is asked about by itself (`report` in compare.ts), and payments that only the provider knows are not found. Never
   * `later`: then no day would ever be done with.
   */
  list(instance: Instance, span: Span, deps: ProviderDeps): Promise<Listed>;
  /** Absent = nothing is renewed here. */
  readonly renewing?: Renewing;
  /** What became of a refund; the same number. */
  askRefund(
    instance: Instance,
    order: OrderFacts,
    refund: RefundFacts & { deps: ProviderDeps },
  ): Promise<Refunded>;
}

/** What users see on the pages of a provider: never anything a user typed (requirements Y10). */
export const SUBJECT = "账户充值";
export const PLAN_SUBJECT = "订阅套餐";
