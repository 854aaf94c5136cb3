// What was paid, less what went back, is what calls were booked with and what is left in the wallets, whatever happens in whatever order: payments,
// codes, gifts, transfers, changes by hand, refunds, disputes (requirements X13). On the rules alone, which both databases follow.
import fc from "fast-check";
import { expect, test } from "vitest";
import { boughtOf, NOTHING_BOUGHT, nanoOfFen, nanoOfMicro, together } from "./bought.ts";
import type { Operation } from "./operations.ts";
import type { OrderAct } from "./order-operations.ts";
import type { OrderBook } from "./order-rows.ts";
import { type Books, noLimits, type UserBook } from "./rows.ts";
import { applyOperations } from "./rules.ts";

const PAYER = 1;
const GIVER = 2;
const INVITER = 3;
const TEAM = 4;
const ALL = [PAYER, GIVER, INVITER, TEAM];
const display = { quotaPerUnit: 500_000, inCurrency: true };

/** Books, what went through them, and the money that an outsider would count. */
class Till {
  readonly books: Books = {
    users: new Map(ALL.map((id) => [id, blank(id)])),
    tokens: new Map(),
    reservations: new Map(),
    booked: new Map(),
    commissions: new Map(
      ALL.map((userId) => [
        userId,
        { userId, micro: 0n, debt: 0n, owedMicro: 0n, orders: 0, month: "", monthMicro: 0n },
      ]),
    ),
    codes: new Map(),
    orders: new Map(),
    trades: new Map(),
    refunds: new Map(),
    limits: noLimits(),
    periods: new Map(),
  };
  /** Billionths of a dollar, and millionths of a yuan. */
  codeIncome = 0n;
  codeMicro = 0n;
  spent = NOTHING_BOUGHT;
  #serial = 0;

  apply(operation: Operation) {
    const { outcomes, changes } = applyOperations(this.books, {
      operations: [operation],
      nowSec: 1_800_000_000,
      node: "n",
    });
    for (const { earned = "" } of changes.logs) this.spent = together(this.spent, boughtOf(earned));
    return outcomes[0];
  }

  user(id: number): UserBook {
    const user = this.books.users.get(id);
    if (!user) throw new Error("all users are among the books");
    return user;
  }

  name(): string {
    this.#serial += 1;
    return `op${this.#serial}`;
  }

  change(order: OrderBook, act: OrderAct) {
    const { orderNo, userId, giverId, inviterId } = order;
    const event = { instanceId: 1, kind: "notify", eventKey: this.name(), facts: "{}", bodySealed: "" };
    const change = { operationId: this.name(), orderNo, userId, giverId, inviterId, act, event, display };
    this.apply({ kind: "order", requestId: change.operationId, userId, tokenId: 0, change });
  }

  /** What orders and codes brought, less what went back: billionths of a dollar, millionths of a yuan. */
  get paid(): { income: bigint; micro: bigint } {
    let { codeIncome: income, codeMicro: micro } = this;
    for (const order of this.books.orders.values()) {
      const back = BigInt(order.refundedMinor + order.disputedMinor);
      income += order.income - (order.income * back) / BigInt(order.paidMinor);
      const done = [...this.books.refunds.values()].filter(
        ({ orderNo, state }) => orderNo === order.orderNo && state === "done",
      );
      micro += order.creditedMicro - done.reduce((sum, refund) => sum + refund.micro, 0n);
    }
    return { income, micro };
  }

  /** What is left of all wallets. */
  get left() {
    return ALL.map((id) => this.user(id).bought).reduce(together);
  }

  check() {
    const all = together(this.spent, this.left);
    const { income, micro } = this.paid;
    expect(all.income).toBe(income);
    // Each is rounded by itself.
    expect(Math.abs(Number(all.commission - nanoOfMicro(micro)))).toBeLessThanOrEqual(100);
    for (const id of ALL) {
      const { quota, bought } = this.user(id);
      // Everything that is in a wallet has come by something that the books know.
      expect(bought.quota).toBe(quota);
      expect(bought.given >= 0n && bought.given <= bought.quota).toBe(true);
    }
  }
}

function blank(id: number): UserBook {
  return {
    ...{ id, username: `u${id}`, status: 1, quota: 0n, usedQuota: 0n, requestCount: 0 },
    bought: NOTHING_BOUGHT,
  };
}

type Step = (till: Till) => void;

const amount = fc.bigInt({ min: 1n, max: 1_000_000n });
const account = fc.constantFrom(...ALL);

const call = fc.tuple(account, amount).map(
  ([userId, charge]): Step =>
    (till) => {
      till.apply({
        ...{ kind: "settle", requestId: till.name(), userId, tokenId: 0, channelId: 0, charge },
        usage: { promptTokens: 1, completionTokens: 1, cachedTokens: 0 },
        log: {
          ...{ content: "", model_name: "m", elapsed_time: 0, first_byte_time: 0, is_stream: 0 },
          ...{ estimated: 0, trail: "" },
        },
      });
    },
);

const pay = fc
  .record({
    quota: amount,
    fen: fc.integer({ min: 1, max: 100_000 }),
    fees: fc.bigInt({ min: -1_000n, max: 1_000n }),
    gift: fc.bigInt({ min: 0n, max: 100_000n }),
    micro: fc.bigInt({ min: 0n, max: 1_000_000n }),
    userId: fc.constantFrom(PAYER, TEAM),
  })
  .map(
    ({ quota, fen, fees, gift, micro, userId }): Step =>
      (till) => {
        const orderNo = till.name();
        const order: OrderBook = {
          ...{ id: 1, orderNo, userId, instanceId: 1, quota, currency: "CNY", amountMinor: fen },
          ...{ giverId: GIVER, inviterId: INVITER, giftQuota: gift, commissionMicro: micro },
          commissionBounds: { firstOrders: 0, monthMicro: 0n },
          ...{
            income: nanoOfFen(BigInt(fen)),
            fees,
            sale: undefined,
            status: "pending",
            review: "",
            tradeNo: "",
          },
          ...{ paidMinor: 0, creditedQuota: 0n, creditedGift: 0n, creditedMicro: 0n },
          ...{ takenQuota: 0n, takenGift: 0n, takenMicro: 0n, refundedMinor: 0, disputedMinor: 0 },
          ...{ paidAt: 0, creditedAt: 0, nextCheck: 0 },
        };
        till.books.orders.set(orderNo, order);
        const proof = { tradeNo: `trade-${orderNo}`, amountMinor: fen, currency: "CNY", paidSec: 0 };
        till.change(order, { verb: "prove", proof });
      },
  );

const redeem = fc
  .record({
    quota: amount,
    price: fc.option(fc.bigInt({ min: 0n, max: 100_000n })),
    percent: fc.nat(20),
    isGift: fc.boolean(),
  })
  .map(
    ({ quota, price, percent, isGift }): Step =>
      (till) => {
        const id = till.books.codes.size + 1;
        const priceMinor = price ?? -1n;
        till.books.codes.set(id, {
          ...{ id, quota, priceMinor, isDeleted: false, status: 1, redeemedTime: 0, usedUserId: 0 },
        });
        const requestId = till.name();
        const before = till.books.commissions.get(INVITER);
        const earned = (before?.micro ?? 0n) - (before?.owedMicro ?? 0n);
        till.apply({
          ...{ kind: "redeem", requestId, userId: PAYER, tokenId: 0 },
          order: {
            ...{ operationId: requestId, userId: PAYER, redemptionId: id, giverId: isGift ? GIVER : null },
            inviterId: INVITER,
            terms: {
              giftPercent: percent,
              commissionPercent: 5,
              soldYuan: 3.5,
              firstOrders: 0,
              monthMicro: 0n,
            },
            display,
          },
        });
        // A dollar of quota is 500,000 and is sold for half a dollar.
        till.codeIncome += price === null ? quota * 1_000n : nanoOfFen(price);
        const after = till.books.commissions.get(INVITER);
        till.codeMicro += (after?.micro ?? 0n) - (after?.owedMicro ?? 0n) - earned;
      },
  );

const adjust = fc.tuple(account, fc.bigInt({ min: -1_000_000n, max: 1_000_000n })).map(
  ([userId, delta]): Step =>
    (till) => {
      const adjustment = { userId, kind: "adjust", quota: { delta }, actorId: 1, reason: "" } as const;
      till.apply({ kind: "adjust", requestId: till.name(), userId, tokenId: 0, adjustment });
    },
);

const transfer = fc.tuple(account, account, fc.option(amount)).map(
  ([fromId, toId, some]): Step =>
    (till) => {
      const requestId = till.name();
      const order = { operationId: requestId, fromId, toId, amount: some, actorId: 1, display } as const;
      const moved = { ...order, sent: "转出", received: "转入" };
      till.apply({ kind: "transfer", requestId, userId: fromId, tokenId: 0, order: moved });
    },
);

const signUp = amount.map(
  (forInvitee): Step =>
    (till) => {
      const gifts = {
        userId: PAYER,
        inviterId: INVITER,
        forNewUser: 5n,
        forInvitee,
        forInviter: forInvitee / 2n,
      };
      const requestId = till.name();
      till.apply({ kind: "signup", requestId, userId: PAYER, tokenId: 0, gifts: { ...gifts, display } });
    },
);

/** An act on one of the orders that there are. */
const back = fc
  .record({
    which: fc.nat(100),
    fen: fc.integer({ min: 1, max: 100_000 }),
    verb: fc.constantFrom("hold", "done", "failed", "elsewhere", "dispute", "restore"),
  })
  .map(
    ({ which, fen, verb }): Step =>
      (till) => {
        const orders = [...till.books.orders.values()];
        const order = orders[which % Math.max(1, orders.length)];
        if (!order) return;
        const refunds = [...till.books.refunds.values()].filter(({ orderNo }) => orderNo === order.orderNo);
        const refundNo = refunds[which % Math.max(1, refunds.length)]?.refundNo ?? "none";
        if (verb === "done" || verb === "failed")
          till.change(order, { verb: "finish", refundNo, isDone: verb === "done", providerId: "" });
        else if (verb === "restore") till.change(order, { verb, refundNo });
        else if (verb === "hold")
          till.change(order, { verb, refundNo: till.name(), amountMinor: fen, actorId: 1, reason: "" });
        else {
          const name = till.name();
          till.change(order, {
            verb: "claw",
            source: verb,
            refundNo: name,
            providerId: name,
            tradeNo: "",
            amountMinor: fen,
          });
        }
      },
  );

const steps = (...kinds: fc.Arbitrary<Step>[]) => fc.array(fc.oneof(...kinds), { maxLength: 60 });

test("parts and rest are what was paid less what went back, after every step of any history", () => {
  fc.assert(
    fc.property(steps(call, call, pay, redeem, adjust, transfer, signUp, back, back), (history) => {
      const till = new Till();
      for (const step of history) {
        step(till);
        till.check();
      }
    }),
    { numRuns: 2_000 },
  );
});

test("as long as nothing goes back parts never exceed what was paid, and all that is spent is all that was paid", () => {
  fc.assert(
    fc.property(steps(call, call, pay, redeem, adjust, transfer, signUp), (history) => {
      const till = new Till();
      for (const step of history) {
        step(till);
        expect(till.spent.income <= till.paid.income).toBe(true);
      }
      for (const userId of ALL) {
        const { quota, bought } = till.user(userId);
        // What an administrator took while there was money in it waits for what comes next.
        if (quota === 0n && bought.income > 0n) return;
        const rest: Operation = {
          ...{ kind: "settle", requestId: till.name(), userId, tokenId: 0, channelId: 0, charge: quota },
          usage: { promptTokens: 1, completionTokens: 1, cachedTokens: 0 },
          log: {
            ...{ content: "", model_name: "m", elapsed_time: 0, first_byte_time: 0, is_stream: 0 },
            ...{ estimated: 0, trail: "" },
          },
        };
        till.apply(rest);
      }
      expect(till.spent.income).toBe(till.paid.income);
    }),
    { numRuns: 2_000 },
  );
});
