// Statements are the ledger (requirements Y59): whatever happens in whatever months, opening and entries are the closing, every entry stands
// in one statement, and the last closing is the balance.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { lastClosedMonth, monthAfter, monthOf, monthStart } from "#contract/month.ts";
import { listStatements } from "#server/store/statements.ts";
import { getUser } from "#server/store/users.ts";
import { bill, order, type Parties, useLedgerWorld } from "#test/worlds/ledger-world.ts";
import { rounds } from "#test/worlds/soak.ts";
import { engines, seedAccount } from "#test/worlds/stores.ts";
import { closeMonths, findOpenMonth, readOpenMonth, type StatementBody } from "./statement.ts";

const STYLE = { display: { quotaPerUnit: 500_000, inCurrency: true }, issuer: "Tollgate" };
const NO_LIMIT = Number.MAX_SAFE_INTEGER;

/** Lengths that end near the turns of months, and some that pass over whole months. */
const stepArbitrary = fc.record({
  kind: fc.constantFrom("call", "call", "call", "grant", "turn", "before turn", "wait", "close", "look"),
  amount: fc.nat(3_000),
});

type Step = Readonly<{ kind: string; amount: number }>;

describe.each(engines)("statements on %s", (engine) => {
  const world = useLedgerWorld(engine);
  const toSecond = (second: number) => world.clock.advance((second - world.clock.seconds()) * 1_000);
  const nextMonth = () => monthStart(monthAfter(monthOf(world.clock.seconds())));
  const close = (userId: number, maxEntries = NO_LIMIT) =>
    closeMonths(world.db, { userId, nowSec: world.clock.seconds(), maxEntries, style: STYLE });
  const open = (userId: number, maxEntries = NO_LIMIT) =>
    readOpenMonth(world.db, { userId, nowSec: world.clock.seconds(), maxEntries });
  const statementsOf = async (userId: number) =>
    (await listStatements(world.db, userId))
      .map((row) => ({ ...row, body: JSON.parse(row.body) as StatementBody }))
      .reverse();
  const call = async (parties: Parties, charge: bigint) => {
    const held = order(parties, charge);
    if ((await world.ledger.reserve(held)) === "reserved") await world.ledger.settle(bill(held, charge));
  };
  const grant = (userId: number, delta: bigint) =>
    world.ledger.adjust({ userId, kind: "grant", quota: { delta }, actorId: userId, reason: "test" });

  async function take(parties: Parties, { kind, amount }: Step): Promise<void> {
    if (kind === "call") await call(parties, BigInt(amount));
    else if (kind === "grant") await grant(parties.userId, BigInt(amount) + 1n);
    else if (kind === "turn") toSecond(nextMonth() + (amount % 2) * 3_600);
    else if (kind === "before turn") toSecond(nextMonth() - 1);
    else if (kind === "wait") world.clock.advance(amount * 3_600_000);
    else if (kind === "look") await open(parties.userId, amount % 7);
    else await close(parties.userId, amount % 7);
  }

  test("add up over any months, and the last one is the balance", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(stepArbitrary, { maxLength: 25 }), async (steps) => {
        const account = await seedAccount(world.db, world.ledger, { quota: 20_000n });
        const first = monthOf(world.clock.seconds());
        for (const step of steps) await take(account, step);
        toSecond(nextMonth() + 3_600);
        expect(await close(account.userId)).toBe(true);
        const months = await statementsOf(account.userId);
        const last = lastClosedMonth(world.clock.seconds());
        expect([months[0]?.month, months.at(-1)?.month]).toEqual([first, last]);
        let before = { month: monthAfter(first, -1), to_row: 0, closing: 0 };
        for (const row of months) {
          expect(row.month).toBe(monthAfter(before.month));
          expect([row.from_row, row.opening]).toEqual([before.to_row, before.closing]);
          const entries = await world.db
            .selectFrom("ledger")
            .select(["kind", "amount", "created_at"])
            .where("user_id", "=", account.userId)
            .where("id", ">", row.from_row)
            .where("id", "<=", row.to_row)
            .execute();
          const sum = entries.reduce((total, { amount }) => total + amount, 0);
          expect(row.closing).toBe(row.opening + sum);
          expect(row.body.sums.reduce((total, { quota }) => total + quota, 0)).toBe(sum);
          const spent = entries.filter(({ kind }) => kind === "consume");
          expect(row.body.usage.reduce((total, { quota }) => total + quota, 0)).toBe(
            spent.reduce((total, { amount }) => total - amount, 0),
          );
          expect(row.body.usage.reduce((total, { calls }) => total + calls, 0)).toBe(spent.length);
          // What bill() says each call has used.
          for (const { calls, tokens } of row.body.usage)
            expect(tokens).toEqual({
              ...{ prompt_tokens: calls * 10, cached_tokens: 0, completion_tokens: calls * 5 },
            });
          expect(row.body.tokens.reduce((total, row) => total + row.prompt_tokens, 0)).toBe(
            spent.length * 10,
          );
          expect(entries.map(({ created_at }) => monthOf(created_at))).toEqual(entries.map(() => row.month));
          before = row;
        }
        expect(before.closing).toBe((await getUser(world.db, account.userId)).quota);
        const all = await world.db
          .selectFrom("ledger")
          .select((select) => select.fn.max("id").as("last"))
          .where("user_id", "=", account.userId)
          .executeTakeFirstOrThrow();
        expect(before.to_row).toBe(all.last);
      }),
      { numRuns: rounds(12, 300) },
    );
  }, 240_000);

  test("an entry of the last second belongs to its month, one of the next second to the next", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 1_000n });
    toSecond(nextMonth() - 1);
    await call(account, 10n);
    const month = monthOf(world.clock.seconds());
    world.clock.advance(1_000);
    await call(account, 200n);
    // An hour has to pass before the month is closed.
    world.clock.advance(3_599_000);
    expect(await close(account.userId)).toBe(true);
    expect((await statementsOf(account.userId)).map((row) => row.month)).not.toContain(month);
    expect(await findOpenMonth(world.db, account.userId)).toBe(month);
    world.clock.advance(1_000);
    await close(account.userId);
    expect((await statementsOf(account.userId)).at(-1)).toMatchObject({ month, closing: 990 });
    const look = await open(account.userId);
    expect(look).toMatchObject({ month: monthAfter(month), opening: 990, closing: 790 });
    expect(look?.body.usage).toMatchObject([
      { token_id: account.tokenId, model_name: "gpt-4o", calls: 1, quota: 200 },
    ]);
  });

  test("a closed month stays as it is, and two who close it at once close it once", async () => {
    const { userId } = await seedAccount(world.db, world.ledger, { quota: 1_000n });
    toSecond(nextMonth() + 3_600);
    await Promise.all([close(userId), close(userId), close(userId)]);
    const [closed, ...more] = await statementsOf(userId);
    expect(more).toEqual([]);
    await grant(userId, 5n);
    world.clock.advance(60_000);
    await close(userId);
    expect(await statementsOf(userId)).toEqual([closed]);
  });

  test("who waits gets the oldest months first, and a look goes on where the one before it had to stop", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 1_000n });
    for (const amount of [1n, 2n]) {
      toSecond(nextMonth());
      await call(account, amount);
    }
    toSecond(nextMonth() + 3_600);
    expect(await close(account.userId, 1)).toBe(false);
    expect(await statementsOf(account.userId)).toHaveLength(1);
    expect(await open(account.userId)).toBe(undefined);
    expect(await close(account.userId)).toBe(true);
    expect((await statementsOf(account.userId)).map(({ closing }) => closing)).toEqual([1_000, 999, 997]);
    expect(await open(account.userId)).toMatchObject({ opening: 997, closing: 997 });
    await call(account, 40n);
    expect(await open(account.userId, 0)).toBe(undefined);
    expect(await open(account.userId)).toMatchObject({ opening: 997, closing: 957 });
    // Nothing new: what is known is enough.
    expect(await open(account.userId, 0)).toMatchObject({ opening: 997, closing: 957 });
    await call(account, 7n);
    const looks = await Promise.all([open(account.userId), open(account.userId), open(account.userId)]);
    expect(looks.map((look) => look?.closing)).toEqual([950, 950, 950]);
    expect(await open(account.userId)).toMatchObject({
      closing: 950,
      body: { usage: [{ calls: 2, quota: 47 }] },
    });
  });

  test("an account without entries has none", async () => {
    expect(await close(987_654)).toBe(true);
    expect(await findOpenMonth(world.db, 987_654)).toBe("");
    expect(await open(987_654)).toBe(undefined);
  });
});
