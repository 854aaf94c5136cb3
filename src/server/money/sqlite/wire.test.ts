import fc from "fast-check";
import { expect, test } from "vitest";
import type { Batch, Operation, Outcome } from "#server/money/operations.ts";
import { decodeBatch, decodeOutcomes, encodeBatch, encodeOutcomes } from "./wire.ts";

const text = fc.string({ unit: "grapheme" });
const count = fc.nat();
const amount = fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 80n }), fc.constant(2n ** 53n));
const parties = { requestId: text, userId: count, tokenId: count };
const log = fc.record({
  content: text,
  model_name: text,
  elapsed_time: count,
  first_byte_time: count,
  is_stream: fc.constantFrom(0, 1),
  estimated: fc.constantFrom(0, 1),
  trail: text,
});
const kindsLog = fc
  .tuple(log, fc.string({ minLength: 1 }))
  .map(([plain, token_kinds]) => ({ ...plain, token_kinds }));
const versionLog = fc
  .tuple(fc.oneof(log, kindsLog), count)
  .map(([plain, price_version]) => ({ ...plain, price_version }));
const usage = fc.record({ promptTokens: count, completionTokens: count, cachedTokens: count });
const seen = fc.record({ charge: amount, promptTokens: count, completionTokens: count, channelId: count });
const quota = fc.oneof(fc.record({ delta: fc.bigInt() }), fc.record({ target: amount }));

const limits = fc.array(fc.record({ limitId: count, holder: count }), { minLength: 1 });
const limited = fc.record({
  ...{ kind: fc.constant("reserve" as const), ...parties, amount, modelName: text },
  ...{ zone: text, limits },
});

const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({ kind: fc.constant("reserve" as const), ...parties, amount, modelName: text }),
  limited,
  fc.record({
    kind: fc.constant("settle" as const),
    ...parties,
    channelId: count,
    charge: amount,
    usage,
    log: fc.option(fc.oneof(log, kindsLog, versionLog)),
  }),
  fc.record({
    kind: fc.constant("settle" as const),
    ...parties,
    channelId: count,
    keyId: fc.integer({ min: 1 }),
    charge: amount,
    usage,
    log: fc.option(log),
  }),
  fc.record({
    kind: fc.constant("settle" as const),
    ...parties,
    channelId: count,
    charge: amount,
    usage,
    cost: fc.record({ cost: fc.integer({ min: -1 }), saved: count, group: text }),
    log: fc.option(log),
  }),
  fc.record({ kind: fc.constant("extend" as const), ...parties, target: amount }),
  fc.record({ kind: fc.constant("extend" as const), ...parties, target: amount, zone: text }),
  fc.record({ kind: fc.constant("checkpoint" as const), ...parties, seen }),
  fc.record({ kind: fc.constant("release" as const), ...parties }),
  fc.record({ kind: fc.constant("recover" as const), ...parties, deadNode: text, channelId: count }),
  fc.record({
    kind: fc.constant("commission" as const),
    ...parties,
    change: fc.record({
      userId: count,
      kind: fc.constant("withdraw" as const),
      micro: fc.record({ delta: fc.bigInt() }),
      actorId: count,
      reason: text,
    }),
  }),
  fc.record({
    kind: fc.constant("adjust" as const),
    ...parties,
    adjustment: fc.record({
      userId: count,
      kind: fc.constant("adjust" as const),
      quota,
      actorId: count,
      reason: text,
    }),
  }),
);

const outcome: fc.Arbitrary<Outcome> = fc.oneof(
  fc.record({
    kind: fc.constant("reserve" as const),
    verdict: fc.constantFrom("reserved" as const, "user_quota" as const),
  }),
  fc.record({
    kind: fc.constant("reserve" as const),
    verdict: fc.constantFrom("reserved" as const, "user_quota" as const),
    rests: fc.array(
      fc.record({ limitId: count, isCalls: fc.boolean(), amount, left: amount, resetsAt: count }),
    ),
  }),
  fc.record({ kind: fc.constant("extend" as const), granted: fc.boolean() }),
  fc.record({
    kind: fc.constant("extend" as const),
    granted: fc.constant(false),
    refusal: fc.record({
      ...{ limitId: count, holder: count, amount, used: amount, resetsAt: count },
      canFit: fc.boolean(),
    }),
  }),
  fc.record({
    kind: fc.constant("settle" as const),
    booking: fc.record({ charged: amount, shortfall: amount }),
  }),
  fc.record({
    kind: fc.constant("adjust" as const),
    adjusted: fc.record({ outcome: fc.constant("done" as const), before: fc.bigInt(), after: fc.bigInt() }),
  }),
  fc.record({ kind: fc.constant("failed" as const), reason: text }),
);

test("a batch arrives as it was sent", () => {
  fc.assert(
    fc.property(fc.array(operation), count, text, (operations, nowSec, node) => {
      const batch: Batch = { operations, nowSec, node };
      expect(decodeBatch(encodeBatch(batch))).toEqual(batch);
    }),
  );
});

test("calls that name the same limits share what is written and read of them", () => {
  const limits = [
    { limitId: 3, holder: 0 },
    { limitId: 70, holder: 12 },
  ];
  const reserve = (requestId: string, userId: number) =>
    ({
      kind: "reserve",
      requestId,
      userId,
      tokenId: 2,
      amount: 5n,
      modelName: "m",
      zone: "UTC",
      limits,
    }) as const;
  const operations = [reserve("a", 1), reserve("b", 2)];
  const read = decodeBatch(encodeBatch({ operations, nowSec: 9, node: "n" })).operations;
  expect(read).toEqual(operations);
  const [first, second] = read.map((one) => (one.kind === "reserve" ? one.limits : undefined));
  expect(first).toBe(second);
  // As earlier programs wrote them: a number each.
  const earlier = '[9,"n",[[0,"a",1,2,5,"m","UTC",3,0,70,12],[0,"b",2,2,5,"m","UTC",3,0,70,12]]]';
  expect(decodeBatch(earlier).operations).toEqual(operations);
});

test("of thousands of lists the text of each is read right", () => {
  const listOf = (at: number) => [{ limitId: at, holder: at % 7 }];
  const parties = {
    kind: "reserve",
    userId: 1,
    tokenId: 2,
    amount: 5n,
    modelName: "m",
    zone: "UTC",
  } as const;
  const operations = Array.from({ length: 2_500 }, (_, at) => ({
    ...parties,
    ...{ requestId: String(at), limits: listOf(at % 1_700) },
  }));
  expect(decodeBatch(encodeBatch({ operations, nowSec: 9, node: "n" })).operations).toEqual(operations);
});

test("outcomes come back as they were", () => {
  fc.assert(
    fc.property(fc.array(outcome), (outcomes) => {
      expect(decodeOutcomes(encodeOutcomes(outcomes))).toEqual(outcomes);
    }),
  );
});
