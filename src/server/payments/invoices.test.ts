// Invoices and what was paid (requirements Y62): whatever users, administrators and providers do in whatever order, no more is asked for
// or issued than was paid and not refunded, and what a refund leaves too much is named for reversal, the newest first.
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Invoice } from "#contract/invoice.ts";
import { fakeClock } from "#server/clock.ts";
import { INVOICE_PROFILE } from "#test/seeds/invoice-recipes.ts";
import { type SeededUser, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, type TestApp } from "#test/worlds/app.ts";
import { orderOf, proofOf, seedInstance, seedOrder } from "#test/worlds/order-rows.ts";
import { rounds } from "#test/worlds/soak.ts";
import { changeOrder } from "./evidence.ts";
import { availableOf, judgeAllReversals, toReverse } from "./invoices.ts";

const amount = fc.integer({ min: 1, max: 1_000_000 });

test("what is reversed covers the excess, and without its last one it would not", () => {
  fc.assert(
    fc.property(
      fc.array(amount, { maxLength: 20 }),
      fc.integer({ min: -1_000, max: 5_000_000 }),
      (amounts, excess) => {
        const issued = amounts.map((amount_minor, index) => ({ id: 100 - index, amount_minor }));
        const picked = toReverse(issued, excess);
        const sum = issued
          .filter(({ id }) => picked.has(id))
          .reduce((total, row) => total + row.amount_minor, 0);
        const total = amounts.reduce((all, one) => all + one, 0);
        expect(sum).toBeGreaterThanOrEqual(Math.min(total, Math.max(0, excess)));
        // The newest ones, and none too many.
        const ids = issued.slice(0, picked.size).map(({ id }) => id);
        expect([...picked]).toEqual(ids);
        const last = issued[picked.size - 1];
        if (last) expect(sum - last.amount_minor).toBeLessThan(excess);
      },
    ),
  );
});

test("what may be asked for is never below nothing", () => {
  fc.assert(
    fc.property(amount, amount, amount, (paid, back, invoiced) => {
      const left = availableOf({ paid, back, invoiced });
      expect(left).toBe(Math.max(0, paid - back - invoiced));
    }),
  );
});

const ENDS = { issue: "issued", refuse: "refused", reverse: "reversed", cancel: "cancelled" } as const;

describe.each(databases)("invoices on $name", (database) => {
  const clock = fakeClock();
  let app: TestApp;
  let instanceId: number;
  let serial = 0;

  beforeAll(async () => {
    app = await createAppOn(database, { clock });
    instanceId = await seedInstance(app.ctx.db);
  });
  afterAll(() => app.close());

  async function payer(): Promise<SeededUser> {
    serial += 1;
    return seedUser(app.ctx, `payer${serial}`);
  }
  /** An order that was paid. Returns its number. */
  async function pay(userId: number, amount_minor: number): Promise<string> {
    const order = await seedOrder(app.ctx.db, { user_id: userId, instance_id: instanceId, amount_minor });
    await change(order.order_no, proofOf(order));
    return order.order_no;
  }
  async function change(orderNo: string, act: Parameters<typeof changeOrder>[2]["act"]): Promise<void> {
    serial += 1;
    const origin = { kind: "notify", key: `invoice-test/${serial}`, body: "" } as const;
    await changeOrder(app.ctx, await orderOf(app.ctx.db, orderNo), { act, origin, facts: {} });
  }
  function refund(orderNo: string, amountMinor: number): Promise<void> {
    serial += 1;
    const providerId = `re_${serial}`;
    return change(orderNo, {
      verb: "claw",
      refundNo: providerId,
      source: "elsewhere",
      providerId,
      tradeNo: "",
      amountMinor,
    });
  }
  const ask = (user: SeededUser, minor: number) =>
    app.call(user.who, "POST", "/api/invoice/", {
      currency: "CNY",
      amount: (minor / 100).toFixed(2),
      profile: INVOICE_PROFILE,
    });
  const decide = (id: number, verb: "issue" | "refuse" | "reverse") =>
    app.call(asRoot, "POST", `/api/invoice_queue/${id}/${verb}`, {
      note: "说明",
      ...(verb === "issue" ? { number: `No${id}`, link: "" } : {}),
    });
  const desk = async (user: SeededUser) => (await app.call(user.who, "GET", "/api/invoice/")).data;

  test("an invoice is asked for, issued and seen by its user; another's is as unknown as none", async () => {
    const [user, stranger] = [await payer(), await payer()];
    expect((await desk(user)).sums).toEqual([]);
    await pay(user.id, 3_000);
    const asked = await ask(user, 1_234);
    expect(asked.data).toMatchObject({ amount: "12.34", state: "requested", profile: INVOICE_PROFILE });
    expect((await ask(user, 1_767)).message).toContain("17.66");
    const { id } = asked.data;
    expect((await app.call(stranger.who, "POST", `/api/invoice/${id}/cancel`)).success).toBe(false);
    expect((await app.call(stranger.who, "GET", "/api/invoice/")).data.rows).toEqual([]);
    expect(
      (await app.call(asRoot, "GET", "/api/invoice_queue/?open=true")).data.map((row: Invoice) => row.id),
    ).toEqual([id]);
    expect((await decide(id, "issue")).success).toBe(true);
    const queue = async (query: string) =>
      (await app.call(asRoot, "GET", `/api/invoice_queue/?${query}`)).data.map((row: Invoice) => row.id);
    expect(await queue(`state=issued&user_id=${user.id}`)).toEqual([id]);
    for (const query of [`state=requested&user_id=${user.id}`, `user_id=${stranger.id}`, "state=reversed"])
      expect(await queue(query)).toEqual([]);
    for (const verb of ["issue", "refuse"] as const) expect((await decide(id, verb)).success).toBe(false);
    expect((await app.call(user.who, "POST", `/api/invoice/${id}/cancel`)).success).toBe(false);
    const { profile, rows, sums } = await desk(user);
    expect(profile).toEqual(INVOICE_PROFILE);
    expect(rows).toMatchObject([{ state: "issued", number: `No${id}`, note: "说明", must_reverse: false }]);
    expect(sums).toEqual([
      { currency: "CNY", paid: "30.00", refunded: "0.00", invoiced: "12.34", available: "17.66" },
    ]);
    const trail = (await app.call(asRoot, "GET", `/api/audit/?action=invoice.issue&target=${id}`)).data;
    expect(JSON.parse(trail[0].detail)).toMatchObject({
      user: user.id,
      amount: "12.34 CNY",
      number: `No${id}`,
    });
    expect((await app.ctx.db.selectFrom("invoices").select("profile_sealed").execute()).join()).not.toContain(
      "示例",
    );
  });

  test("ten requests at once get no more than what was paid", async () => {
    const user = await payer();
    await pay(user.id, 3_000);
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask(user, 1_000)));
    // One at a time: who comes while another is judged is asked to come again.
    const made = answers.filter(({ success }) => success).length;
    expect(made).toBeGreaterThan(0);
    expect(made).toBeLessThanOrEqual(3);
    expect((await desk(user)).sums).toMatchObject([{ invoiced: `${made * 10}.00` }]);
  });

  test("a refund after an invoice asks for its reversal, the newest first; what is not issued yet cannot be any more", async () => {
    const user = await payer();
    const order = await pay(user.id, 3_000);
    const [one, other, late] = [await ask(user, 1_000), await ask(user, 1_000), await ask(user, 1_000)].map(
      ({ data }) => data.id as number,
    );
    if (!one || !other || !late) throw new Error("three were asked for");
    for (const id of [one, other]) await decide(id, "issue");
    await refund(order, 500);
    const marked = async () =>
      ((await desk(user)).rows as Invoice[]).filter((row) => row.must_reverse).map(({ id }) => id);
    // The request that is not issued gives way first.
    expect(await marked()).toEqual([]);
    expect((await decide(late, "issue")).message).toContain("退款");
    await refund(order, 600);
    expect(await marked()).toEqual([other]);
    await decide(late, "refuse");
    expect((await decide(other, "reverse")).success).toBe(true);
    expect(await marked()).toEqual([]);
    expect((await desk(user)).sums).toMatchObject([
      { invoiced: "10.00", available: "9.00", refunded: "11.00" },
    ]);
    await refund(order, 1_900);
    expect(await marked()).toEqual([one]);
    // A process that died before it could mark: the job does.
    await app.ctx.db.updateTable("invoices").set({ reverse_asked_at: 0 }).where("id", "=", one).execute();
    expect(await marked()).toEqual([]);
    await judgeAllReversals(app.ctx);
    expect(await marked()).toEqual([one]);
  });

  test("a dispute that is won takes the mark away", async () => {
    const user = await payer();
    const order = await pay(user.id, 3_000);
    const { id } = (await ask(user, 3_000)).data;
    await decide(id, "issue");
    const refundNo = "dispute/test";
    await change(order, {
      verb: "claw",
      refundNo,
      source: "dispute",
      providerId: "dp_1",
      tradeNo: "",
      amountMinor: 3_000,
    });
    expect((await desk(user)).rows).toMatchObject([{ must_reverse: true }]);
    await change(order, { verb: "restore", refundNo });
    expect((await desk(user)).rows).toMatchObject([{ must_reverse: false }]);
  });

  test("of a deleted user an open request ends and its details go, and what is issued stays", async () => {
    const user = await payer();
    await pay(user.id, 3_000);
    const [kept, gone] = [(await ask(user, 1_000)).data.id, (await ask(user, 500)).data.id];
    await decide(kept, "issue");
    await app.call(asRoot, "POST", "/api/user/manage", { username: user.username, action: "delete" });
    const rows = await app.ctx.db
      .selectFrom("invoices")
      .selectAll()
      .where("user_id", "=", user.id)
      .orderBy("id")
      .execute();
    expect(rows.map(({ id, state, profile_sealed }) => [id, state, profile_sealed === ""])).toEqual([
      [kept, "issued", false],
      [gone, "cancelled", true],
    ]);
    expect((await decide(kept, "reverse")).success).toBe(true);
  });

  /** What should be so, kept beside what the server does. */
  class Model {
    readonly user: SeededUser;
    readonly orders: { readonly no: string; left: number }[] = [];
    readonly invoices = new Map<number, { state: string; readonly minor: number }>();
    net = 0;

    constructor(user: SeededUser) {
      this.user = user;
    }

    sum(...states: readonly string[]): number {
      const counted = [...this.invoices.values()].filter(({ state }) => states.includes(state));
      return counted.reduce((all, { minor }) => all + minor, 0);
    }

    async pay(minor: number): Promise<void> {
      this.orders.push({ no: await pay(this.user.id, minor), left: minor });
      this.net += minor;
    }

    async refund(minor: number): Promise<void> {
      const order = this.orders.find(({ left }) => left >= minor);
      if (!order) return;
      await refund(order.no, minor);
      order.left -= minor;
      this.net -= minor;
    }

    async ask(minor: number): Promise<void> {
      const may = minor <= this.net - this.sum("requested", "issued");
      const answer = await ask(this.user, minor);
      expect(answer.success).toBe(may);
      if (may) this.invoices.set(answer.data.id, { state: "requested", minor });
    }

    async decide(verb: keyof typeof ENDS, nth: number): Promise<void> {
      const [id, known] = [...this.invoices][nth] ?? [];
      if (id === undefined || known === undefined) return;
      const isCovered = verb !== "issue" || this.sum("requested", "issued") <= this.net;
      const may = known.state === (verb === "reverse" ? "issued" : "requested") && isCovered;
      const { success } =
        verb === "cancel"
          ? await app.call(this.user.who, "POST", `/api/invoice/${id}/cancel`)
          : await decide(id, verb);
      expect(success).toBe(may);
      if (may) known.state = ENDS[verb];
    }

    /** With those reversed that wait for it, what is issued was paid. */
    async check(): Promise<void> {
      const rows: Invoice[] = (await desk(this.user)).rows;
      const marked = rows
        .filter((row) => row.must_reverse)
        .map(({ id }) => this.invoices.get(id)?.minor ?? 0);
      const left = this.sum("issued") - marked.reduce((all, minor) => all + minor, 0);
      expect(left).toBeLessThanOrEqual(this.net);
      if (this.sum("issued") <= this.net) expect(marked).toEqual([]);
    }
  }

  test(
    "whatever happens in whatever order, the sums hold",
    async () => {
      const minor = fc.integer({ min: 1, max: 5_000 });
      const act: fc.Arbitrary<(model: Model) => Promise<void>> = fc.oneof(
        minor.map((value) => (model: Model) => model.pay(value)),
        minor.map((value) => (model: Model) => model.refund(value)),
        minor.map((value) => (model: Model) => model.ask(value)),
        fc
          .tuple(fc.constantFrom(...(["issue", "refuse", "reverse", "cancel"] as const)), fc.nat({ max: 8 }))
          .map(
            ([verb, nth]) =>
              (model: Model) =>
                model.decide(verb, nth),
          ),
      );
      const acts = fc.array(act, { minLength: 5, maxLength: 20 });
      await fc.assert(
        fc.asyncProperty(acts, async (list) => {
          const model = new Model(await payer());
          for (const one of list) {
            await one(model);
            // Marks follow decisions when the job comes.
            await judgeAllReversals(app.ctx);
            await model.check();
          }
        }),
        { numRuns: rounds(10, 100) },
      );
    },
    rounds(300_000, 1_800_000),
  );
});
