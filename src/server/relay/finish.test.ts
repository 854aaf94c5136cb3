// A call that cannot be booked leaves no reservation open for ever: a caller whose answer is refused gets the quota back, and a stream is
// charged by its last checkpoint.
import { expect, it } from "vitest";
import type { StreamReply, WholeReply } from "#server/upstream/call/call.ts";
import { callerOf } from "#test/seeds/caller.ts";
import { createRelayWorld, QUESTION } from "#test/worlds/relay-world.ts";
import { Account, priceOf } from "./billing/account.ts";
import { TextPricing } from "./billing/pricing-text.ts";
import { readIncoming } from "./text/incoming.ts";

const world = createRelayWorld();

/** An account whose tokens cannot be counted. */
async function uncountable(requestId: string) {
  const { ledger, prices, options, clock, events, candidates } = world.ctx;
  const tokens = { count: () => Promise.reject(new Error("no count")), close: () => Promise.resolve() };
  const tools = { ledger, prices, options, clock, events, tokens };
  const channelId = await world.addChannel();
  const caller = callerOf(world.userId, world.token.id);
  const outside = { endpoint: "chat", isStream: false, wantsEvents: false, apiVersion: "" } as const;
  const incoming = readIncoming(
    { ...outside, pathModel: undefined, passHeaders: [], session: "" },
    Buffer.from(JSON.stringify(QUESTION)),
  );
  const found = candidates.find("default", QUESTION.model);
  const trace = { firstByteMs: 0, isSent: true };
  // Long enough ago for a checkpoint.
  const startedMs = clock.now() - 1_000;
  const billed = { requestId, startedMs, caller, incoming, trace };
  const account = new Account(tools, billed, {
    price: priceOf(tools, incoming, caller, found),
    pricing: new TextPricing(tools, incoming),
  });
  for (const channel of found) if (channel.id === channelId) account.priceFor(channel);
  return account;
}

const shared = { headers: {}, usage: undefined, quirks: undefined, secrets: [], dropped: [] };

it("also when its charge cannot be computed", async () => {
  const account = await uncountable("unbookable");
  const reply: WholeReply = { ...shared, kind: "whole", body: Buffer.from("{}"), text: () => "words" };
  const { charged, open } = await world.costOf(async () => {
    expect(await account.open()).toBe("reserved");
    await expect(account.settle(reply, false, "")).rejects.toThrow("no count");
    await account.giveBack(reply);
  });
  expect({ charged, open }).toEqual({ charged: 0, open: 0 });
});

it("and a stream is charged for what had come at the last checkpoint, at once", async () => {
  const account = await uncountable("unbookable-stream");
  const nothing = () => undefined;
  const reply: StreamReply = {
    ...shared,
    kind: "stream",
    output: { textBytes: 60, textChars: 60, textPieces: 10, text: () => "words" },
    isFinished: true,
    text: () => "words",
    tail: () => new Uint8Array(),
    listen: nothing,
    pause: nothing,
    resume: nothing,
    abort: nothing,
  };
  const { charged, open, entries } = await world.costOf(async () => {
    expect(await account.open()).toBe("reserved");
    expect(account.watch(reply)).toBeUndefined();
    await expect(account.settle(reply, false, "")).rejects.toThrow("no count");
    await account.giveBack(reply);
  });
  // At least three tokens in and ten out, at 15 and 30 each.
  expect({ charged, open, entries }).toEqual({ charged: 3 * 15 + 10 * 30, open: 0, entries: 1 });
});
