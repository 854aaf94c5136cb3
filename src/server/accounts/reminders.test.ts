import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { fakeClock } from "#server/clock.ts";
import { type SmtpEmulator, startSmtp } from "#test/emulators/smtp-emulator.ts";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { createAppOn, databases, type TestApp } from "#test/worlds/app.ts";
import { holdReads } from "#test/worlds/held-reads.ts";
import { createReminders } from "./reminders.ts";

const DAY_MS = 86_400_000;

describe.each(databases)("quota reminders on $name", (database) => {
  const clock = fakeClock();
  let app: TestApp;
  let smtp: SmtpEmulator;
  let calls = 0;

  beforeAll(async () => {
    smtp = await startSmtp();
    app = await createAppOn(database, { clock });
    const { options } = app.ctx;
    await options.set("SMTPServer", "127.0.0.1");
    await options.set("SMTPPort", String(smtp.port));
    await options.set("SMTPFrom", "noreply@gate.example");
    await options.set("ServerAddress", "https://gate.example");
    await options.set("QuotaRemindThreshold", "1000");
  });
  afterAll(async () => {
    await app.close();
    await smtp.close();
  });
  afterEach(() => clock.advance(2 * DAY_MS));

  async function userWith(name: string, quota: bigint) {
    const user = await seedUser(app.ctx, name);
    await setQuota(user.id, quota);
    return { ...user, tokenId: (await seedToken(app.ctx, user.id)).id };
  }
  async function setQuota(userId: number, target: bigint) {
    const by = { kind: "adjust", actorId: 1, reason: "test" } as const;
    await app.ctx.ledger.adjust({ userId, quota: { target }, ...by });
  }

  /** A relayed call: reserved, settled, with the relay's event. */
  async function spend(user: { id: number; tokenId: number }, cost: number, reserved = cost) {
    const requestId = `call-${database.name}-${++calls}`;
    const parties = { requestId, userId: user.id, tokenId: user.tokenId };
    await app.ctx.ledger.reserve({ ...parties, amount: BigInt(reserved), modelName: "m" });
    const usage = { promptTokens: 1, completionTokens: 1, cachedTokens: 0 };
    await app.ctx.ledger.settle({ ...parties, channelId: 0, charge: BigInt(cost), usage, log: null });
    told(user.id, cost);
  }
  function told(userId: number, chargedQuota: number) {
    app.ctx.events.relayDone({
      requestId: "",
      endpoint: "chat",
      model: "m",
      userId,
      tokenId: 0,
      channelId: 0,
      status: 200,
      fault: "",
      isStream: false,
      attempts: 1,
      promptTokens: 1,
      completionTokens: 1,
      chargedQuota,
      elapsedMs: 1,
      firstByteMs: 1,
    });
  }
  /** Subjects of the letters to a user, after a check of the balances. */
  async function lettersTo(name: string) {
    await app.ctx.reminders.sweep();
    await app.ctx.mailer.idle();
    return smtp.letters.filter(({ to }) => to.includes(`${name}@example.com`));
  }

  test("one letter when the quota falls below the threshold, one when it is used up", async () => {
    const user = await userWith("falls", 2_000n);
    await spend(user, 900);
    expect(await lettersTo("falls")).toEqual([]);
    await spend(user, 200);
    expect((await lettersTo("falls")).map(({ subject }) => subject)).toEqual(["Tollgate 您的额度即将用尽"]);
    await spend(user, 100);
    await spend(user, 100);
    expect(await lettersTo("falls")).toHaveLength(1);
    await spend(user, 700);
    const letters = await lettersTo("falls");
    expect(letters.map(({ subject }) => subject)).toEqual([
      "Tollgate 您的额度即将用尽",
      "Tollgate 您的额度已用尽",
    ]);
    expect(letters[0]?.html).toContain("$0.001800");
    expect(letters[1]?.html).toContain('<a href="https://gate.example/topup">');
  });

  test("after a failed check the next one sends the letter", async () => {
    const { ctx } = app;
    const user = await userWith("looked", 2_000n);
    const reads = holdReads(ctx.db);
    const reminders = createReminders({ ...ctx, db: reads.db });
    await spend(user, 1_900);
    const first = reads.hold();
    const swept = reminders.sweep();
    (await first).tell(new Error("the line broke"));
    await expect(swept).rejects.toThrow("the line broke");
    await reminders.sweep();
    await ctx.mailer.idle();
    expect(smtp.letters.filter(({ to }) => to.includes("looked@example.com"))).toHaveLength(1);
    reminders.close();
  });

  test("what is set aside for running calls is not spent", async () => {
    const user = await userWith("running", 5_000n);
    const parties = { requestId: `open-${database.name}`, userId: user.id, tokenId: user.tokenId };
    await app.ctx.ledger.reserve({ ...parties, amount: 5_000n, modelName: "m" });
    told(user.id, 1);
    expect(await lettersTo("running")).toEqual([]);
    await app.ctx.ledger.release(parties.requestId);
  });

  test("at most one a day for each crossing, and again after a top-up", async () => {
    const user = await userWith("again", 1_500n);
    await spend(user, 600);
    expect(await lettersTo("again")).toHaveLength(1);
    for (let round = 0; round < 3; round += 1) {
      await setQuota(user.id, 1_500n);
      await spend(user, 1);
      expect(await lettersTo("again")).toHaveLength(1);
      await spend(user, 600);
      expect(await lettersTo("again")).toHaveLength(1);
    }
    await setQuota(user.id, 1_500n);
    await spend(user, 1);
    await lettersTo("again");
    clock.advance(DAY_MS);
    await spend(user, 600);
    expect(await lettersTo("again")).toHaveLength(2);
    // A letter sent while the clock was years ahead does not suppress the letters of those years.
    clock.advance(-3_650 * DAY_MS);
    await setQuota(user.id, 1_500n);
    await spend(user, 1);
    await lettersTo("again");
    await spend(user, 600);
    expect(await lettersTo("again")).toHaveLength(3);
    clock.advance(3_650 * DAY_MS);
  });

  test("a top-up alone ends the shortage when it is announced", async () => {
    const user = await userWith("topped", 1_500n);
    await spend(user, 600);
    expect(await lettersTo("topped")).toHaveLength(1);
    clock.advance(DAY_MS);
    await setQuota(user.id, 1_001n);
    await app.ctx.coord.publish("users", String(user.id));
    await lettersTo("topped");
    await spend(user, 100);
    expect(await lettersTo("topped")).toHaveLength(2);
  });

  test("a user who always had little gets no letter at the first call, but when nothing is left", async () => {
    const user = await userWith("little", 500n);
    await spend(user, 100);
    expect(await lettersTo("little")).toEqual([]);
    await spend(user, 400);
    expect((await lettersTo("little")).map(({ subject }) => subject)).toEqual(["Tollgate 您的额度已用尽"]);
  });

  test("threshold 0 leaves only the letter at the end", async () => {
    await app.ctx.options.set("QuotaRemindThreshold", "0");
    const user = await userWith("zero", 1_500n);
    await spend(user, 1_499);
    expect(await lettersTo("zero")).toEqual([]);
    await spend(user, 1);
    expect(await lettersTo("zero")).toHaveLength(1);
    await app.ctx.options.set("QuotaRemindThreshold", "1000");
  });

  test("two nodes that check at once send one letter", async () => {
    const user = await userWith("twonodes", 1_500n);
    const { createReminders } = await import("./reminders.ts");
    const other = createReminders(app.ctx);
    await spend(user, 600);
    await Promise.all([app.ctx.reminders.sweep(), other.sweep()]);
    other.close();
    expect(await lettersTo("twonodes")).toHaveLength(1);
  });
});
