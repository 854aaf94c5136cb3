// What a statement tells of tokens beside each token's calls is of all these calls, or not told at all (requirements Y59).
import { describe, expect, test } from "vitest";
import { monthAfter, monthOf, monthStart } from "#contract/month.ts";
import { findStatement } from "#server/store/statements.ts";
import { bill, logPart, order, type Parties, useLedgerWorld } from "#test/worlds/ledger-world.ts";
import { engines, seedAccount, seedToken } from "#test/worlds/stores.ts";
import { closeMonths, readOpenMonth, type StatementBody } from "./statement.ts";

describe.each(engines)("the tokens of a month on %s", (engine) => {
  const world = useLedgerWorld(engine);
  const month = () => monthOf(world.clock.seconds());
  const endMonth = () =>
    world.clock.advance((monthStart(monthAfter(month())) + 3_600 - world.clock.seconds()) * 1_000);

  async function call(parties: Parties, modelName = "gpt-4o", times = 1): Promise<void> {
    const usage = { promptTokens: 10, completionTokens: 5, cachedTokens: 4 };
    // At once: they are booked in one group.
    const held = Array.from({ length: times }, () => ({ ...order(parties, 7n), modelName }));
    await Promise.all(held.map((one) => world.ledger.reserve(one)));
    const log = { ...logPart, model_name: modelName };
    await Promise.all(held.map((one) => world.ledger.settle({ ...bill(one, 7n), usage, log })));
  }

  async function close(userId: number, name: string): Promise<string> {
    const style = { display: { quotaPerUnit: 500_000, inCurrency: true }, issuer: "Tollgate" };
    const nowSec = world.clock.seconds();
    await closeMonths(world.db, { userId, nowSec, maxEntries: Number.MAX_SAFE_INTEGER, style });
    const row = await findStatement(world.db, userId, name);
    if (!row) throw new Error("the month was not closed");
    return row.body;
  }

  function told(body: StatementBody | undefined) {
    return body?.usage.map(({ token_id, model_name, calls, tokens }) => {
      const { prompt_tokens, cached_tokens, completion_tokens } = tokens ?? {};
      const counts = tokens && [prompt_tokens, cached_tokens, completion_tokens];
      return [token_id, model_name, calls, counts];
    });
  }

  async function open(userId: number) {
    const nowSec = world.clock.seconds();
    return told((await readOpenMonth(world.db, { userId, nowSec, maxEntries: 60_000 }))?.body);
  }

  /** What an older version, or one with another clock, would have left of a key. */
  async function setRequests({ userId, tokenId }: Parties, modelName: string, requests: number) {
    const key = `${userId} ${tokenId}\n${modelName}`;
    const { numUpdatedRows } = await world.db
      .updateTable("log_sums")
      .set({ requests })
      .where("dimension", "=", "token-model")
      .where("key", "=", key)
      .executeTakeFirst();
    expect(numUpdatedRows).toBe(1n);
  }

  test("are each token's and model's own, whatever the tokens are called, and the same bytes again", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 100_000n });
    const other = await seedToken(world.db, account.userId, { unlimited_quota: 1, name: "same" });
    await world.db.updateTable("tokens").set({ name: "same" }).where("id", "=", account.tokenId).execute();
    const second = { ...account, tokenId: other };
    await Promise.all([call(account, "gpt-4o", 3), call(second, "gpt-4o", 2), call(second, "o\n1")]);
    world.clock.advance(3_600_000);
    await world.db.updateTable("tokens").set({ name: "another" }).where("id", "=", other).execute();
    await call(second);
    // No log is needed for it.
    await world.db.deleteFrom("logs").where("user_id", "=", account.userId).execute();
    const expected = [
      [account.tokenId, "gpt-4o", 3, [30, 12, 15]],
      [other, "gpt-4o", 3, [30, 12, 15]],
      [other, "o\n1", 1, [10, 4, 5]],
    ];
    expect(await open(account.userId)).toEqual(expected);
    const name = month();
    endMonth();
    // A call of the next month.
    await call(account);
    const closed = await close(account.userId, name);
    expect(told(JSON.parse(closed))).toEqual(expected);
    await world.db.deleteFrom("statements").where("user_id", "=", account.userId).execute();
    expect(await close(account.userId, name)).toBe(closed);
    expect(await open(account.userId)).toEqual([[account.tokenId, "gpt-4o", 1, [10, 4, 5]]]);
  });

  test("are of the account that paid, also without a token", async () => {
    const [one, two] = [
      await seedAccount(world.db, world.ledger, { quota: 1_000n }),
      await seedAccount(world.db, world.ledger, { quota: 1_000n }),
    ];
    await call({ userId: one.userId, tokenId: 0 }, "gpt-4o", 2);
    await call({ userId: two.userId, tokenId: 0 });
    expect(await open(one.userId)).toEqual([[0, "gpt-4o", 2, [20, 8, 10]]]);
    expect(await open(two.userId)).toEqual([[0, "gpt-4o", 1, [10, 4, 5]]]);
  });

  test("are not told where the sums have not each of the calls, and of all others they are", async () => {
    const account = await seedAccount(world.db, world.ledger, { quota: 1_000n });
    for (const model of ["a", "b", "c", "d"]) await call(account, model, 2);
    await setRequests(account, "a", 1);
    await world.db
      .deleteFrom("log_sums")
      .where("dimension", "=", "token-model")
      .where("key", "=", `${account.userId} ${account.tokenId}\nb`)
      .execute();
    await setRequests(account, "c", 3);
    const row = (model: string, counts?: readonly number[]) => [account.tokenId, model, 2, counts];
    const all = [20, 8, 10];
    // Of a month that runs they may have calls that came since the ledger was read.
    expect(await open(account.userId)).toEqual([row("a"), row("b"), row("c", all), row("d", all)]);
    const name = month();
    endMonth();
    const body = await close(account.userId, name);
    expect(told(JSON.parse(body))).toEqual([row("a"), row("b"), row("c"), row("d", all)]);
  });
});
