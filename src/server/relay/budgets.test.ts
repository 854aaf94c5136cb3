// Budgets hold to the call (requirements L07, O09): of a thousand calls at the same moment, plain and as streams, over one node or three,
// exactly as many pass as each level alone pays for, or all of them at once; afterwards every counter is what the ledger says. Across a
// window's end each window pays for its own.
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { fakeClock } from "#server/clock.ts";
import { checkLedger } from "#server/money/ledger-check.ts";
import { checkLimits } from "#server/money/ledger-check-limits.ts";
import type { NewLimit } from "#server/store/limits.ts";
import { chatReply, chunk, DONE, json, sse, usageChunk } from "#test/emulators/fake-upstream.ts";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { dropLimits, seedLimit } from "#test/worlds/limits.ts";
import { createCallNodes } from "#test/worlds/nodes.ts";
import { engines } from "#test/worlds/stores.ts";
import { moveToken, seedMember, seedProject, seedTeam } from "#test/worlds/teams.ts";
import { estimatePrompt } from "./billing/pricing-text.ts";
import { readIncoming } from "./text/incoming.ts";

/** On a busy machine. */
const PATIENCE = { timeout: 60_000 };
const CALLS = 1_000;
const FIT = 100;
const OUTPUT = 5;
const bodyOf = (isStream: boolean) =>
  JSON.stringify({
    ...{ model: "gpt-4", messages: [{ role: "user", content: "hello world" }] },
    ...{ max_tokens: OUTPUT, stream: isStream },
  });

/** What is reserved for the prompt; the upstream reports just as much, so a call costs what it reserved. */
const PROMPT = estimatePrompt(
  readIncoming(
    {
      ...{ endpoint: "chat", pathModel: undefined, wantsEvents: false },
      ...{ apiVersion: "", passHeaders: [] },
    },
    Buffer.from(bodyOf(false)),
  ),
);
/** Model ratio 15, completion ratio 2. */
const PRICE = (PROMPT + OUTPUT * 2) * 15;
const usage = { prompt_tokens: PROMPT, completion_tokens: OUTPUT, total_tokens: PROMPT + OUTPUT };
const plain = json({ ...chatReply("hi"), usage });
const streamed = sse(chunk({ content: "hi" }), chunk({}, "stop"), usageChunk(usage), DONE);

describe.each(engines)("budgets on %s", (engine) => {
  const clock = fakeClock();
  const nodes = createCallNodes(engine, { count: 3, clock });
  const { apps, urls, first } = nodes;
  let serial = 0;

  const allHear = () => Promise.all(apps.map(({ ctx }) => ctx.coord.publish("users", "")));

  beforeAll(async () => {
    await nodes.addChannel();
    nodes.upstream.script((res, asked) => (asked.json.stream === true ? streamed : plain)(res, asked));
  });
  afterEach(async () => {
    await expect.poll(() => checkLimits(first().ctx.db)).toEqual([]);
    expect(await checkLedger(first().ctx.db)).toEqual([]);
    await dropLimits(first().ctx);
    await allHear();
  });

  /** A token of a member of a team, for a project, with plenty in the wallet. */
  async function newcomer() {
    serial += 1;
    const { ctx } = first();
    const { id: userId } = await seedUser(ctx, `${engine.slice(0, 1)}${serial}bud`);
    const { id: tokenId, key } = await seedToken(ctx, userId);
    const { walletId } = await seedTeam(ctx.db, ctx.ledger, { quota: 10n ** 12n });
    const projectId = await seedProject(ctx.db, walletId);
    await moveToken(ctx.db, tokenId, { wallet_id: walletId, project_id: projectId });
    await seedMember(ctx.db, userId, walletId);
    const seats = ctx.db.selectFrom("team_members").select("id").where("user_id", "=", userId);
    const { id: seatId } = await seats.executeTakeFirstOrThrow();
    const levels: Readonly<Record<string, Partial<NewLimit>>> = {
      token: { subject: "token", subject_id: tokenId },
      seat: { subject: "seat", subject_id: seatId },
      project: { subject: "project", subject_id: projectId },
      team: { subject: "team", subject_id: walletId },
      user: { subject: "user", subject_id: userId },
      group: { subject: "group", subject_name: "default" },
      model: { subject: "all", model_pattern: "gpt-4*" },
    };
    return { key, levels };
  }

  /** A call's answer. A thousand connections at once are more than a loaded machine may take: one that got none is made again. */
  async function answered(key: string, index: number): Promise<Response> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await fetch(`${urls[index % urls.length]}/v1/chat/completions`, {
          method: "POST",
          headers: { authorization: `Bearer sk-${key}`, "content-type": "application/json" },
          body: bodyOf(index % 3 === 0),
        });
      } catch (error) {
        if (attempt === 5) throw error;
      }
    }
  }

  /** One call: whole, refused by a window, or what else came. */
  async function call(key: string, index: number): Promise<string> {
    const response = await answered(key, index);
    const text = await response.text();
    if (response.status === 429 && text.includes('"usage_limit_reached"')) return "refused";
    const isStream = index % 3 === 0;
    const isWhole =
      response.status === 200 && (!isStream || (text.endsWith(DONE) && !text.includes("error")));
    return isWhole ? "whole" : `${response.status} ${text.slice(-200)}`;
  }

  /** Calls at once; `ended` counts those that have their answer. */
  function burst(key: string): { readonly ended: { count: number }; all(): Promise<Record<string, number>> } {
    const ended = { count: 0 };
    const calls = Array.from({ length: CALLS }, async (_, index) => {
      const outcome = await call(key, index);
      ended.count += 1;
      return outcome;
    });
    const all = async () =>
      Object.fromEntries(
        [...Map.groupBy(await Promise.all(calls), (outcome) => outcome)].map(([outcome, same]) => [
          outcome,
          same.length,
        ]),
      );
    return { ended, all };
  }

  /** Of each limit that is there, what its windows have counted. */
  async function counted() {
    const rows = await first()
      .ctx.db.selectFrom("limit_windows")
      .innerJoin("limits", "limits.id", "limit_id")
      .select(["start", "spent", "reserved"])
      .where("deleted_at", "=", 0)
      .orderBy("start")
      .execute();
    return rows.map(({ spent, reserved }) => [spent, reserved]);
  }

  const EXACT = { whole: FIT, refused: CALLS - FIT };
  const LEVELS = ["token", "seat", "project", "team", "user", "group", "model"];

  test.each([...LEVELS, "all"])(
    "%s: exactly as many pass as its budget pays for",
    { timeout: 120_000 },
    async (level) => {
      const { key, levels } = await newcomer();
      const chosen = level === "all" ? LEVELS : [level];
      for (const name of chosen)
        await seedLimit(first().ctx, { ...levels[name], amount: PRICE * FIT, time_window: "day" });
      await allHear();
      const before = nodes.upstream.journal.length;
      expect(await burst(key).all()).toEqual(EXACT);
      expect(nodes.upstream.journal.length - before).toBe(FIT);
      expect(await counted()).toEqual(chosen.map(() => [PRICE * FIT, 0]));
    },
  );

  test("whichever level is the tightest, the others keep what was refused there", async () => {
    for (const tightest of LEVELS) {
      const { key, levels } = await newcomer();
      for (const name of LEVELS) {
        const amount = PRICE * (name === tightest ? FIT : FIT + 50);
        await seedLimit(first().ctx, { ...levels[name], amount, time_window: "day" });
      }
      await allHear();
      expect(await burst(key).all(), tightest).toEqual(EXACT);
      expect(await counted()).toEqual(LEVELS.map(() => [PRICE * FIT, 0]));
      await dropLimits(first().ctx);
      await allHear();
    }
  }, 600_000);

  test("a call of 128 choices is set aside for all of them: refused where they do not fit, in no budget of any level", async () => {
    const { key, levels } = await newcomer();
    const ask = async (choices: object) => {
      const body = JSON.stringify({ ...JSON.parse(bodyOf(false)), ...choices });
      const headers = { authorization: `Bearer sk-${key}`, "content-type": "application/json" };
      const response = await fetch(`${urls[0]}/v1/chat/completions`, { method: "POST", headers, body });
      const { error } = await response.json();
      return [response.status, error?.code];
    };
    const all = (PROMPT + OUTPUT * 2 * 128) * 15;
    for (const name of LEVELS)
      await seedLimit(first().ctx, {
        ...levels[name],
        amount: name === "team" ? all - 1 : all,
        time_window: "day",
      });
    await allHear();
    expect(await ask({ n: 128 })).toEqual([400, "request_exceeds_limit"]);
    expect(await counted()).toEqual([]);
    expect(await ask({ n: 127 })).toEqual([200, undefined]);
    // The upstream made one.
    expect(await counted()).toEqual(LEVELS.map(() => [PRICE, 0]));
    // The rest has no room for as many again: that is another day's.
    expect(await ask({ n: 127 })).toEqual([429, "usage_limit_reached"]);
    expect(await ask({ n: 100 })).toEqual([200, undefined]);
    expect(await counted()).toEqual(LEVELS.map(() => [PRICE * 2, 0]));
  });

  test("calls that run over midnight are paid by the day that they began in", async () => {
    // The end of the day in the zone of BudgetTimeZone, Asia/Shanghai.
    const dayMs = 86_400_000;
    const midnight = (Math.floor(clock.now() / dayMs) + 1) * dayMs - 8 * 3_600_000;
    const ahead = midnight > clock.now() ? midnight : midnight + dayMs;
    clock.advance(ahead - clock.now() - 1_000);
    const { key, levels } = await newcomer();
    for (const name of LEVELS)
      await seedLimit(first().ctx, { ...levels[name], amount: PRICE * FIT, time_window: "day" });
    await allHear();
    const opened = Promise.withResolvers<void>();
    const before = nodes.upstream.journal.length;
    nodes.upstream.script((res, asked) => {
      void opened.promise.then(() => (asked.json.stream === true ? streamed : plain)(res, asked));
    });
    const evening = burst(key);
    await expect.poll(() => nodes.upstream.journal.length - before, PATIENCE).toBe(FIT);
    await expect.poll(() => evening.ended.count, PATIENCE).toBe(CALLS - FIT);
    clock.advance(2_000);
    // The evening's calls hold nothing of the new day.
    const morning = burst(key);
    await expect.poll(() => nodes.upstream.journal.length - before, PATIENCE).toBe(2 * FIT);
    opened.resolve();
    expect([await evening.all(), await morning.all()]).toEqual([EXACT, EXACT]);
    expect(await counted()).toEqual(LEVELS.flatMap(() => [1, 2].map(() => [PRICE * FIT, 0])));
    nodes.upstream.script((res, asked) => (asked.json.stream === true ? streamed : plain)(res, asked));
  }, 240_000);
});
