// A month of very many entries: its statement is the ledger to the last unit, and comes out the same again (requirements Y59).
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { monthAfter, monthOf, monthStart } from "#contract/month.ts";
import { findStatement } from "#server/store/statements.ts";
import { useLedgerWorld } from "#test/worlds/ledger-world.ts";
import { terms } from "#test/worlds/plans.ts";
import { engines, seedAccount, seedToken } from "#test/worlds/stores.ts";
import { closeMonths, type StatementBody } from "./statement.ts";

const ENTRIES = 100_000;
const BATCH = 1_000;
const MODELS = ["gpt-4o", "claude-sonnet", '模型 "b"'] as const;
const CREDITS = ["pay", "topup", "gift", "grant", "invite", "transfer", "adjust"] as const;

interface Entry {
  readonly kind: string;
  readonly created_at: number;
  readonly token_id: number;
  readonly detail: string;
  readonly amount: number;
  readonly plan_amount: number;
  readonly shortfall: number;
}

/** As many of a month, in the order of their time; the last is of its last second, and a refund of the next month follows. */
function entriesOf(
  seed: number,
  { start, before, tokens }: { start: number; before: number; tokens: number[] },
) {
  const arbitrary = fc.record({
    isCall: fc.integer({ min: 0, max: 9 }).map((at) => at > 0),
    kind: fc.constantFrom(...CREDITS),
    token_id: fc.constantFrom(...tokens),
    detail: fc.constantFrom(...MODELS),
    size: fc.nat(1_000_000),
    plan_amount: fc.constantFrom(0, 0, 0, 17, 4_000),
    shortfall: fc.constantFrom(0, 0, 0, 0, 9),
  });
  const drawn = fc.sample(arbitrary, { numRuns: ENTRIES, seed });
  return drawn.map(({ isCall, kind, token_id, detail, size, plan_amount, shortfall }, at): Entry => {
    const created_at = start + Math.floor(((before - 1 - start) * at) / (ENTRIES - 1));
    const call = {
      kind: "consume",
      created_at,
      token_id,
      detail,
      amount: -(size % 1_000),
      plan_amount,
      shortfall,
    };
    const none = { token_id: 0, detail: "", plan_amount: 0, shortfall: 0 };
    return isCall ? call : { ...none, kind, created_at, amount: size + 1_000 };
  });
}

function sumBy(
  entries: readonly Entry[],
  keyOf: (entry: Entry) => string,
  amountOf: (entry: Entry) => number,
) {
  const sums = new Map<string, number>();
  for (const entry of entries) sums.set(keyOf(entry), (sums.get(keyOf(entry)) ?? 0) + amountOf(entry));
  return Object.fromEntries([...sums].filter(([, sum]) => sum !== 0).sort());
}

describe.each(engines)("a month on %s", (engine) => {
  const world = useLedgerWorld(engine);

  test("of 100,000 entries: every sum is the ledger's, the last second is in it, and it is the same bytes again", {
    timeout: 300_000,
  }, async () => {
    const { db, clock } = world;
    const account = await seedAccount(db, world.ledger, { quota: 5_000n });
    const other = await seedToken(db, account.userId, { unlimited_quota: 1 });
    const month = monthAfter(monthOf(clock.seconds()));
    const [start, before] = [monthStart(month), monthStart(monthAfter(month))];
    const entries = entriesOf(engine.length, { start, before, tokens: [account.tokenId, other] });
    expect(entries.at(-1)?.created_at).toBe(before - 1);
    const plain = { token_id: 0, detail: "", plan_amount: 0 };
    const refund = { ...plain, kind: "refund", created_at: before, amount: -123, shortfall: 7 };
    const calls = entries.filter(({ kind }) => kind === "consume");
    // What plans paid has an entry of its own, which no statement counts twice.
    const planned = calls.reduce((sum, { plan_amount }) => sum + plan_amount, 0);
    const ofPlan = { ...plain, kind: "plan-consume", created_at: before - 1, amount: 0, shortfall: 0 };
    const rows = [
      ...entries,
      { ...ofPlan, plan_amount: planned, period_id: 1, holds: `p1.${planned}` },
      refund,
    ].map((entry, at) => ({
      period_id: 0,
      holds: "",
      ...entry,
      ...{ user_id: account.userId, channel_id: 0, token_amount: 0, actor_id: 1, request_id: `month-${at}` },
    }));
    for (let at = 0; at < rows.length; at += BATCH)
      await db
        .insertInto("ledger")
        .values(rows.slice(at, at + BATCH))
        .execute();
    // What the entries leave behind, so that the checker finds the books in order.
    await db
      .insertInto("plan_periods")
      .values({
        ...{ id: 1, user_id: account.userId, order_no: "plan", plan_id: 1, version_id: 1, n: 1, windows: "" },
        ...{ starts_at: start, ends_at: before, anchor_at: 0, anchor_months: 0, ended_at: 0, ended_by: "" },
        ...{ terms: JSON.stringify(terms()), quota: planned, spent: planned, held: 0 },
      })
      .execute();
    const left = 5_000 + rows.reduce((sum, { amount }) => sum + amount, 0);
    const used = calls.reduce((sum, { amount, plan_amount }) => sum + plan_amount - amount, 0);
    await db
      .updateTable("users")
      .set({ quota: left, used_quota: used, request_count: calls.length, debt_quota: 7 })
      .where("id", "=", account.userId)
      .execute();
    for (const id of [account.tokenId, other]) {
      const own = calls.filter(({ token_id }) => token_id === id);
      const used_quota = own.reduce((sum, { amount, plan_amount }) => sum + plan_amount - amount, 0);
      await db.updateTable("tokens").set({ used_quota }).where("id", "=", id).execute();
    }

    clock.advance((before + 3_600 - clock.seconds()) * 1_000);
    const close = () =>
      closeMonths(db, {
        userId: account.userId,
        nowSec: clock.seconds(),
        maxEntries: Number.MAX_SAFE_INTEGER,
        style: { display: { quotaPerUnit: 500_000, inCurrency: true }, issuer: "Tollgate" },
      });
    expect(await close()).toBe(true);
    const closed = await findStatement(db, account.userId, month);
    if (!closed) throw new Error("the month was not closed");
    const body = JSON.parse(closed.body) as StatementBody;
    const sum = entries.reduce((all, { amount }) => all + amount, 0);
    expect([closed.opening, closed.closing, body.debt]).toEqual([5_000, 5_000 + sum, 0]);
    expect(Object.fromEntries(body.sums.map(({ kind, quota }) => [kind, quota]))).toEqual(
      sumBy(
        entries,
        ({ kind }) => kind,
        ({ amount }) => amount,
      ),
    );
    expect(body.sums.reduce((all, row) => all + row.entries, 0)).toBe(ENTRIES);
    const cell = ({ token_id, detail }: Entry) => `${token_id} ${detail}`;
    const usage = (name: "quota" | "plan_quota" | "shortfall" | "calls") =>
      Object.fromEntries(body.usage.map((row) => [`${row.token_id} ${row.model_name}`, row[name]]).sort());
    expect(usage("calls")).toEqual(sumBy(calls, cell, () => 1));
    expect(usage("quota")).toEqual(sumBy(calls, cell, ({ amount }) => -amount));
    expect(usage("plan_quota")).toEqual(sumBy(calls, cell, ({ plan_amount }) => plan_amount));
    expect(usage("shortfall")).toEqual(sumBy(calls, cell, ({ shortfall }) => shortfall));
    // Σ of the usage is 消费.
    const spent = body.sums.find(({ kind }) => kind === "consume")?.quota ?? 0;
    expect(body.usage.reduce((all, { quota }) => all + quota, 0)).toBe(-spent);

    await db.deleteFrom("statements").where("id", "=", closed.id).execute();
    await close();
    const again = await findStatement(db, account.userId, month);
    expect({ ...again, id: 0 }).toEqual({ ...closed, id: 0 });
    // The refund is the next month's, with what it could not take.
    clock.advance((monthStart(monthAfter(month, 2)) + 3_600 - clock.seconds()) * 1_000);
    await close();
    const next = await findStatement(db, account.userId, monthAfter(month));
    expect(next).toMatchObject({
      opening: closed.closing,
      closing: closed.closing - 123,
      from_row: closed.to_row,
    });
    expect((JSON.parse(next?.body ?? "{}") as StatementBody).debt).toBe(7);
  });
});
