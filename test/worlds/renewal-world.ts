// A server that sells plans at an emulated Stripe, which renews them, and at a 易支付 site, where they are paid for by hand.
import { expect } from "vitest";
import { findRenewalByFirst, type RenewalRow } from "#server/store/plan-renewals.ts";
import type { EmulatedInvoice, EmulatedSubscription } from "#test/emulators/stripe-billing-emulator.ts";
import { type StripeEmulator, startStripe } from "#test/emulators/stripe-emulator.ts";
import type { SeededUser } from "#test/seeds/seed.ts";
import { type Answer, asRoot, type TestDatabase } from "./app.ts";
import { type Account, EpayWorld } from "./payment-world.ts";

export const PLAN_DRAFT = {
  is_enabled: true,
  price: "30",
  unit: "month",
  count: 1,
  quota: 1_000_000,
  windows: [{ kind: "month", quota: 1_000_000 }],
  overflow: true,
};

export interface SoldPlan {
  readonly id: number;
  readonly version_id: number;
  readonly name: string;
}

/** A user whose plan Stripe renews. */
export interface Subscribed {
  readonly user: SeededUser;
  readonly orderNo: string;
  readonly subscription: EmulatedSubscription;
}

export class RenewalWorld extends EpayWorld {
  #stripe: StripeEmulator | undefined;
  #cards: Account | undefined;
  #byHand: Account | undefined;
  #plans = 0;

  get stripe(): StripeEmulator {
    if (!this.#stripe) throw new Error("the world was not started");
    return this.#stripe;
  }

  /** The merchant account at Stripe. */
  get cards(): Account {
    if (!this.#cards) throw new Error("the world was not started");
    return this.#cards;
  }

  override async start(database: TestDatabase): Promise<void> {
    await super.start(database);
    const stripe = await startStripe(this.clock.now);
    this.#stripe = stripe;
    this.#cards = await this.account({
      provider: "stripe",
      merchant_id: "acct_1",
      methods: ["card", "alipay"],
      fields: { base_url: stripe.desk.url, secret_key: "sk_test_1", webhook_secret: stripe.webhookSecret },
    });
    this.#byHand = await this.site();
    // Months pass here.
    await this.app.ctx.options.set("MfaRequiredFor", "none");
  }

  override async stop(): Promise<void> {
    await this.#stripe?.desk.close();
    await super.stop();
  }

  /** A plan for sale; its name is its own. */
  async plan(change: object = {}): Promise<SoldPlan> {
    this.#plans += 1;
    const draft = { ...PLAN_DRAFT, name: `套餐${this.#plans}`, ...change };
    const made = await this.app.call(asRoot, "POST", "/api/plan/", draft);
    expect(made.message).toBe("");
    return made.data;
  }

  async shop({ who }: SeededUser): Promise<Answer["data"]> {
    return (await this.app.call(who, "GET", "/api/plan/shop")).data;
  }

  orderPlan(user: SeededUser, { id: plan_id, version_id }: SoldPlan, change: object = {}): Promise<Answer> {
    const body = { plan_id, version_id, instance_id: this.cards.id, method: "card", renews: true, ...change };
    return this.app.call(user.who, "POST", "/api/plan/order", body);
  }

  /** Buys a period without renewal, at the site. */
  async payByHand(user: SeededUser, plan: SoldPlan): Promise<void> {
    const account = this.#byHand;
    if (!account) throw new Error("the world was not started");
    const change = { instance_id: account.id, method: "alipay", renews: false };
    const { data, message } = await this.orderPlan(user, plan, change);
    expect(message).toBe("");
    await this.pay(account, data.order_no);
  }

  /** Sends an event of Stripe. Returns the status of the answer. */
  async tell(type: string, id: string): Promise<number> {
    const { body, header } = this.stripe.event(type, id);
    return (await this.notify(this.cards, { body, headers: { "stripe-signature": header } })).status;
  }

  async paid(invoice: EmulatedInvoice): Promise<void> {
    expect(await this.tell("invoice.paid", invoice.id)).toBe(200);
  }

  /** Pays an order in Stripe's Checkout. */
  async checkOut(orderNo: string): Promise<void> {
    const session = this.stripe.sessionOf(this.stripe.desk.pay(orderNo)).id;
    expect(await this.tell("checkout.session.completed", session)).toBe(200);
  }

  async subscribed(plan: SoldPlan): Promise<Subscribed> {
    const user = await this.buyer();
    const { data, message } = await this.orderPlan(user, plan);
    expect(message).toBe("");
    await this.checkOut(data.order_no);
    return { user, orderNo: data.order_no, subscription: this.stripe.billing.of(data.order_no) };
  }

  async renewalOf(orderNo: string): Promise<RenewalRow> {
    const row = await findRenewalByFirst(this.app.ctx.db, orderNo);
    if (!row) throw new Error(`no renewal of ${orderNo}`);
    return row;
  }

  /** Of a user, the earliest first. */
  async periodsOf(user: SeededUser): Promise<Answer["data"]> {
    return (await this.shop(user)).periods.toSorted(
      (a: { starts_at: number }, b: { starts_at: number }) => a.starts_at - b.starts_at,
    );
  }

  /** Of a user, the newest first, as administrators see them. */
  async ordersOf(user: SeededUser): Promise<Answer["data"]> {
    return (await this.app.call(asRoot, "GET", `/api/payment/manage?user_id=${user.id}&size=50`)).data;
  }

  /** Lets the clock come to a moment, and asks what is due then. Unit: seconds. */
  until(seconds: number): Promise<void> {
    return this.pass(Math.max(0, seconds - this.clock.seconds()));
  }

  async decide({ user, orderNo }: Subscribed, renews: boolean): Promise<Answer> {
    const { id } = await this.renewalOf(orderNo);
    return this.app.call(user.who, "POST", `/api/plan/renewal/${id}`, { renews });
  }
}
