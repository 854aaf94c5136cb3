// What SQLite's writer remembers of the ledger between groups: whatever it does not look up was not booked.
import type { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Operation, Outcome } from "#server/money/operations.ts";
import { groupOn, smallDatabase } from "#test/worlds/small-database.ts";
import { checkpoint } from "./writer.ts";

let database: DatabaseSync;

beforeEach(() => {
  database = smallDatabase(9000);
});

afterEach(() => database.close());

/** Reserves and settles a call, or repeats it. */
function call(requestId: string, charge: bigint): readonly Outcome[] {
  const parties = { requestId, userId: 1, tokenId: 0 };
  const usage = { promptTokens: 1, completionTokens: 1, cachedTokens: 0 };
  const operations: Operation[] = [
    { kind: "reserve", ...parties, amount: 1n, modelName: "m" },
    { kind: "settle", ...parties, channelId: 1, charge, usage, log: null },
  ];
  return groupOn(database, { operations, nowSec: 1, node: "n" });
}

const bookedNow = (charged: bigint) => [{ verdict: "reserved" }, { booking: { charged } }];
const bookedBefore = (charged: bigint) => [{ kind: "failed" }, { booking: { charged } }];

test("whatever order ids come in, a call is booked once", () => {
  const booked = new Map<string, bigint>();
  const id = fc.string({ unit: fc.constantFrom("1", "2", "~", "é", "😀"), maxLength: 4 });
  const step = fc.record({ id, charge: fc.bigInt({ min: 0n, max: 9n }), isCarriedOver: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      for (const { id, charge, isCarriedOver } of steps) {
        const before = booked.get(id);
        booked.set(id, before ?? charge);
        expect(call(id, charge)).toMatchObject(
          before === undefined ? bookedNow(charge) : bookedBefore(before),
        );
        if (isCarriedOver) checkpoint(database);
      }
    }),
  );
  checkpoint(database);
  expect(database.prepare("SELECT count(*) AS n, -sum(amount) AS sum FROM ledger").get()).toEqual({
    n: booked.size,
    sum: Number([...booked.values()].reduce((sum, charge) => sum + charge, 0n)),
  });
});

test("an id that UTF-8 and UTF-16 put on different sides of another is found", () => {
  call("\uffff", 1n);
  call("😀", 2n);
  checkpoint(database);
  expect(call("😀1", 3n)).toMatchObject(bookedNow(3n));
  expect(call("\uffff", 9n)).toMatchObject(bookedBefore(1n));
});
