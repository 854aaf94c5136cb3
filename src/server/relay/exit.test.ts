// A call that cannot be booked leaves nothing set aside for ever: whoever is refused his answer gets his quota back.
import { expect, it } from "vitest";
import type { WholeReply } from "#server/upstream/call.ts";
import { createRelayWorld, QUESTION } from "#test/relay-world.ts";
import { Account, priceOf } from "./bill.ts";
import { readIncoming } from "./incoming.ts";

const world = createRelayWorld();

it("also when what it comes to cannot be told", async () => {
  const { ledger, prices, options, clock, events, candidates } = world.ctx;
  const tokens = { count: () => Promise.reject(new Error("no count")), close: () => Promise.resolve() };
  const tools = { ledger, prices, options, clock, events, tokens };
  await world.addChannel();
  const base = { tokenName: "t", group: "default", isAdmin: false, models: undefined, pin: undefined };
  const caller = { ...base, userId: world.userId, tokenId: world.token.id };
  const outside = { endpoint: "chat", isStream: false, wantsEvents: false, apiVersion: "" } as const;
  const incoming = readIncoming(
    { ...outside, pathModel: undefined, passHeaders: [], session: "" },
    Buffer.from(JSON.stringify(QUESTION)),
  );
  const price = priceOf(tools, incoming, caller, candidates.find("default", QUESTION.model));
  const trace = { firstByteMs: 0, isSent: false };
  const billed = { requestId: "unbookable", startedMs: clock.now(), caller, incoming, trace };
  const { charged, open } = await world.costOf(async () => {
    const account = new Account(tools, billed, price);
    expect(await account.open()).toBe("reserved");
    const reply: WholeReply = {
      kind: "whole",
      headers: {},
      body: Buffer.from("{}"),
      usage: undefined,
      quirks: undefined,
      secrets: [],
      dropped: [],
      text: () => "words",
    };
    await expect(account.settle(reply, false, [])).rejects.toThrow("no count");
    await account.giveBack(reply);
  });
  expect({ charged, open }).toEqual({ charged: 0, open: 0 });
});
