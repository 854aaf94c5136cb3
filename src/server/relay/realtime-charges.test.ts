// What a realtime conversation costs in ways that no provider's script shows: several responses at once, and no quota left for the last.
import { expect, it } from "vitest";
import { createTokenCounter } from "#server/upstream/tokens/counter.ts";
import { callerOf } from "#test/seeds/caller.ts";
import { seedPriceVersion } from "#test/seeds/price-recipes.ts";
import { createRelayWorld } from "#test/worlds/relay-world.ts";
import { priceOf } from "./billing/account.ts";
import { RealtimeBill } from "./realtime/account.ts";

const world = createRelayWorld();
const model = "gpt-realtime";

async function newBill(): Promise<RealtimeBill> {
  const { ledger, prices, options, clock, events } = world.ctx;
  const tools = { ledger, prices, options, clock, events, tokens: createTokenCounter(() => true) };
  const caller = callerOf(world.userId, world.token.id);
  await world.addChannel({ models: model });
  const candidates = world.ctx.candidates.find("default", model);
  const bill = new RealtimeBill(tools, { caller, model }, priceOf(tools, { model }, caller, candidates));
  await bill.reserve();
  return bill;
}

const usage = { input_tokens: 20, output_tokens: 7_000, total_tokens: 7_020 };

it("charges each of several responses, also those for which nothing could be reserved any more", async () => {
  for (let round = 0; round < 2; round += 1) {
    await world.changeToken({ status: 1, unlimited_quota: 0, remain_quota: 40_000 });
    const { entries, open } = await world.costOf(async () => {
      const bill = await newBill();
      for (const response of ["a", "b", "c"]) await bill.heard({ kind: "begun", response });
      expect(await bill.heard({ kind: "done", response: "a", usage, hasFailed: false })).toBeDefined();
      await bill.heard({ kind: "done", response: "b", usage, hasFailed: false });
      await bill.heard({ kind: "output", response: "c", tokens: 50, isAudio: false });
      await bill.close();
    });
    expect({ entries, open }).toEqual({ entries: 3, open: 0 });
  }
});

it("each response and transcription is told of the version that the conversation began under", async () => {
  const version = await seedPriceVersion(world.ctx);
  const { entries } = await world.costOf(async () => {
    const bill = await newBill();
    await seedPriceVersion(world.ctx);
    await bill.heard({ kind: "done", response: "a", usage, hasFailed: false });
    await bill.heard({ kind: "transcribed", usage: { type: "duration", seconds: 3 } });
    await bill.close();
  });
  const logs = world.ctx.db.selectFrom("logs").select("price_version").orderBy("id", "desc").limit(entries);
  expect((await logs.execute()).map(({ price_version }) => price_version)).toEqual([version, version]);
});

it("believes no transcription that is longer than a conversation", async () => {
  const { charged } = await world.costOf(async () => {
    const bill = await newBill();
    await bill.heard({ kind: "transcribed", usage: { type: "duration", seconds: 1e300 } });
    await bill.close();
  });
  expect(charged).toBeLessThan(3_600 * 200);
});
