// Quota for so many calls pays for exactly as many: of calls at the same moment, plain or as a stream, those that are paid for get a
// whole answer, and all others are refused before an upstream is called.
import { beforeAll, describe, expect, it } from "vitest";
import { checkLedger } from "#server/money/ledger-check.ts";
import { chunk, DONE, json, sse, usageChunk } from "#test/emulators/fake-upstream.ts";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { createCallNodes } from "#test/worlds/nodes.ts";
import { estimatePrompt } from "./billing/pricing-text.ts";
import { readIncoming } from "./text/incoming.ts";

/** On a busy machine. */
const PATIENCE = { timeout: 10_000 };
const OUTPUT = 100;
const ASKED = { model: "gpt-4", messages: [{ role: "user", content: "hello world" }], max_tokens: OUTPUT };
/** One token of five bytes to the upstream; to our own count one and a quarter by its bytes, and a last one for the space at the end. */
const WORD = "word ";

function bodyOf(isStream: boolean): string {
  return JSON.stringify({ ...ASKED, stream: isStream });
}

/** What is reserved for the prompt; the upstream reports just as much. */
function promptOf(isStream: boolean): number {
  const outside = {
    endpoint: "chat",
    pathModel: undefined,
    wantsEvents: false,
    apiVersion: "",
    passHeaders: [],
  } as const;
  return estimatePrompt(readIncoming(outside, Buffer.from(bodyOf(isStream))));
}

const PROMPT = promptOf(false);
const usage = { prompt_tokens: PROMPT, completion_tokens: OUTPUT, total_tokens: PROMPT + OUTPUT };
const answer = json({
  id: "c",
  object: "chat.completion",
  created: 1,
  model: "gpt-4",
  choices: [
    { index: 0, message: { role: "assistant", content: WORD.repeat(OUTPUT) }, finish_reason: "stop" },
  ],
  usage,
});
/** Slowly enough for requests for more to be answered between its words. */
const words = Array.from({ length: OUTPUT }, (_, at) => [
  chunk({ content: WORD }),
  ...(at % 10 === 9 ? [3] : []),
]);
const stream = sse(...words.flat(), chunk({}, "stop"), usageChunk(usage), DONE);
/** Model ratio 15, completion ratio 2. */
const PRICE = (PROMPT + OUTPUT * 2) * 15;

const SETUPS = [
  { name: "SQLite", engine: "sqlite", count: 1 },
  { name: "PostgreSQL", engine: "postgres", count: 1 },
  { name: "two nodes on PostgreSQL", engine: "postgres", count: 2 },
] as const;
const CASES = [
  [10, 5],
  [100, 30],
  [60, 7],
  [60, 1],
  [200, 50],
  [1_000, 100],
] as const;

describe.each(SETUPS)("on $name", ({ name, engine, count }) => {
  const nodes = createCallNodes(engine, { count });
  const { urls, first } = nodes;
  let payers = 0;

  beforeAll(async () => {
    nodes.upstream.script((res, asked) => (asked.json.stream === true ? stream : answer)(res, asked));
    await nodes.addChannel();
  });

  /** A caller whose account, token or both have quota for so many calls; the other has plenty. */
  async function payerOf(who: string, calls: number): Promise<string> {
    const { ctx } = first();
    const enough = BigInt(calls * PRICE);
    const plenty = 10n ** 12n;
    const { id: userId } = await seedUser(ctx, `${++payers}-payer`);
    const target = who === "token" ? plenty : enough;
    await ctx.ledger.adjust({ userId, kind: "adjust", quota: { target }, actorId: 1, reason: "test" });
    const { id: tokenId, key } = await seedToken(ctx, userId);
    if (who !== "user") {
      await ctx.db.updateTable("tokens").set({ unlimited_quota: 0 }).where("id", "=", tokenId).execute();
      const quota = { target: enough };
      await ctx.ledger.adjust({ userId, tokenId, kind: "token-adjust", quota, actorId: 1, reason: "test" });
    }
    return key;
  }

  async function call(key: string, index: number): Promise<"whole" | "refused" | string> {
    const isStream = index % 3 === 0;
    const response = await fetch(`${urls[index % count]}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer sk-${key}`, "content-type": "application/json" },
      body: bodyOf(isStream),
    });
    const text = await response.text();
    // A token without any quota left gets another code than one with too little.
    if (/"code":"(insufficient_(user|token)_quota|exhausted_key)"/.test(text) && response.status >= 400)
      return "refused";
    const isWhole = isStream
      ? text.endsWith(DONE) &&
        text.split('"content":"word "').length === OUTPUT + 1 &&
        !text.includes('"error"')
      : text.includes(WORD.repeat(OUTPUT));
    return response.status === 200 && isWhole ? "whole" : `${response.status} ${text.slice(-300)}`;
  }

  describe.each(["user", "token", "both"])("quota of the %s", (who) => {
    // The largest once for each set-up.
    it.each(CASES.filter(([calls]) => calls < 1_000 || who === "both"))(
      `%i calls at once, quota for %i (${name})`,
      async (calls, paid) => {
        const key = await payerOf(who, paid);
        const before = nodes.upstream.journal.length;
        const outcomes = await Promise.all(Array.from({ length: calls }, (_, index) => call(key, index)));
        const counts = Map.groupBy(outcomes, (outcome) => outcome);
        expect([...counts].map(([outcome, same]) => [outcome, same.length]).sort()).toEqual([
          ["refused", calls - paid],
          ["whole", paid],
        ]);
        expect(nodes.upstream.journal.length - before).toBe(paid);
      },
    );
  });

  it("leaves exact books", async () => {
    await expect.poll(() => checkLedger(first().ctx.db), PATIENCE).toEqual([]);
  });
});
