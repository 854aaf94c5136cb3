// The laws of limits by window, whatever happens in whatever order (requirements L07): a plain model that keeps every call, beside the
// real ledger, compared at each reservation; and the counters against the ledger at the end.
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { LimitMode, LimitWindow, WindowKind } from "#contract/limit-words.ts";
import { fakeClock } from "#server/clock.ts";
import type { Store } from "#server/store/db.ts";
import { rounds } from "#test/worlds/soak.ts";
import { createTestDatabase, engines, seedToken, seedUser, type TestDatabase } from "#test/worlds/stores.ts";
import { createLedger, type Ledger } from "./ledger.ts";
import { checkLedger } from "./ledger-check.ts";
import { checkLimits } from "./ledger-check-limits.ts";

const DAY = 86_400;
const START_MS = Date.parse("2026-11-25T10:00:00Z");

interface ModelLimit {
  readonly id: number;
  readonly kind: WindowKind;
  readonly mode: LimitMode;
  readonly window: LimitWindow;
  amount: number;
  boost: number;
  boostUntil: number;
  isDeleted: boolean;
  sessionStart: number;
}

interface ModelHold {
  readonly limit: ModelLimit;
  readonly session: number;
  readonly at: number;
  /** It is the limit of a channel, not of the caller. */
  readonly isChannels?: true;
}

interface ModelCall {
  readonly id: string;
  limits: readonly ModelHold[];
  amount: number;
  seen: number;
  /** undefined = it runs. */
  spent: number | undefined;
}

const limitArbitrary = fc.record({
  kind: fc.constantFrom<WindowKind>("quota", "quota", "calls"),
  window: fc.constantFrom<LimitWindow>("day", "session", "total", "rolling_day", "rolling_5h"),
  mode: fc.constantFrom<LimitMode>("hard", "hard", "hard", "soft"),
  amount: fc.nat(60),
});

const stepArbitrary = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant("reserve" as const), amount: fc.nat(25), which: fc.nat(15) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("extend" as const), amount: fc.nat(15), which: fc.nat(9) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("settle" as const), amount: fc.nat(30), which: fc.nat(9) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("release" as const), amount: fc.nat(1), which: fc.nat(9) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("hold" as const), amount: fc.nat(3), which: fc.nat(9) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("amount" as const), amount: fc.nat(60), which: fc.nat(3) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("boost" as const), amount: fc.nat(40), which: fc.nat(3) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("remove" as const), amount: fc.nat(1), which: fc.nat(3) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("wait" as const), amount: fc.nat(9), which: fc.nat(1) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("crash" as const), amount: fc.nat(1), which: fc.nat(1) }),
  },
);
type Step = {
  kind:
    | "reserve"
    | "extend"
    | "hold"
    | "settle"
    | "release"
    | "amount"
    | "boost"
    | "remove"
    | "wait"
    | "crash";
  amount: number;
  which: number;
};

/** The first limits are those of callers, the others those of channels. */
const CALLERS = 2;
const refsOf = (limits: readonly ModelLimit[]) => limits.map(({ id }) => ({ limitId: id, holder: 0 }));

let serial = 0;

class World {
  readonly store: Store;
  readonly clock = fakeClock(START_MS);
  readonly limits: ModelLimit[] = [];
  calls: ModelCall[] = [];
  ledger: Ledger;
  node = "";
  userId = 0;
  tokenId = 0;

  constructor(store: Store) {
    this.store = store;
    this.ledger = this.boot();
  }

  boot(): Ledger {
    this.node = `limits${++serial}`;
    return createLedger({ store: this.store, clock: this.clock, node: this.node });
  }

  get now(): number {
    return this.clock.seconds();
  }

  get open(): ModelCall[] {
    return this.calls.filter(({ spent }) => spent === undefined);
  }

  allowed(limit: ModelLimit): number {
    return limit.amount + (this.now < limit.boostUntil ? limit.boost : 0);
  }

  session({ sessionStart }: ModelLimit): number {
    return this.now < sessionStart + 5 * 3_600 ? sessionStart : this.now;
  }

  /** What counts now, by every call there ever was. `at` = the moment whose window is meant. */
  used(limit: ModelLimit, window: { day: number; session: number }): number {
    let used = 0;
    for (const call of this.calls) {
      const hold = call.limits.find((one) => one.limit === limit);
      if (hold && this.counts(call, hold, window))
        used += limit.kind === "calls" ? 1 : (call.spent ?? call.amount);
    }
    return used;
  }

  counts(
    { spent }: ModelCall,
    { limit, session, at }: ModelHold,
    window: { day: number; session: number },
  ): boolean {
    if (limit.window === "day") return Math.floor(at / DAY) === window.day;
    if (limit.window === "session") return session === window.session;
    const length = { rolling_day: DAY, rolling_5h: 18_000 }[limit.window as string];
    if (length === undefined || spent === undefined) return true;
    const width = length / 60;
    return at - (at % width) + width + length > this.now;
  }

  async run(step: Step): Promise<void> {
    const call = this.open[step.which % Math.max(1, this.open.length)];
    const limit = this.limits[step.which % this.limits.length];
    if (step.kind === "wait")
      this.clock.advance(([61, 299, 4_000, 18_001, 40_000, 90_000][step.amount % 6] ?? 0) * 1_000);
    else if (step.kind === "reserve") await this.reserve(step);
    else if (step.kind === "crash") await this.crash();
    else if (limit && (step.kind === "amount" || step.kind === "boost" || step.kind === "remove"))
      await this.configure(limit, step);
    else if (call) await this.close(call, step);
  }

  async reserve({ amount, which }: Step): Promise<void> {
    const meant = this.limits.filter((_, index) => index < CALLERS && (which >> index) % 2 === 1);
    const id = `lim-${++serial}`;
    const order = {
      requestId: id,
      userId: this.userId,
      tokenId: this.tokenId,
      amount: BigInt(amount),
      modelName: "m",
    };
    const refs = refsOf(meant);
    const verdict = await this.ledger.reserve({ ...order, limits: refs, zone: "UTC" });
    const alive = meant.filter(({ isDeleted }) => !isDeleted);
    const refusing = alive.find((limit) => limit.mode !== "soft" && this.isFull(limit, amount));
    if (refusing) {
      expect(verdict).toMatchObject({ limitId: refusing.id, amount: BigInt(this.allowed(refusing)) });
      return;
    }
    expect(verdict).toBe("reserved");
    this.calls.push({ id, limits: this.holds(alive), amount, seen: 0, spent: undefined });
  }

  isFull(limit: ModelLimit, amount: number): boolean {
    const window = { day: Math.floor(this.now / DAY), session: this.session(limit) };
    return this.used(limit, window) + (limit.kind === "calls" ? 1 : amount) > this.allowed(limit);
  }

  holds(limits: readonly ModelLimit[]): ModelHold[] {
    return limits.map((limit) => {
      if (limit.window === "session") limit.sessionStart = this.session(limit);
      return { limit, session: limit.sessionStart, at: this.now };
    });
  }

  /** The call goes to another channel: what that limits counts it in place of the last one's; soft limits refuse too. */
  async hold(call: ModelCall, channel: number): Promise<void> {
    const meant = this.limits.filter(
      (_, index) => index >= CALLERS && ((channel >> (index - CALLERS)) & 1) === 1,
    );
    const refusal = await this.ledger.hold(call.id, { limits: refsOf(meant), zone: "UTC" });
    const held = call.limits.filter(({ isChannels, limit }) => isChannels && meant.includes(limit));
    const fresh = meant.filter((limit) => !limit.isDeleted && held.every((one) => one.limit !== limit));
    const refusing = fresh.find((limit) => this.isFull(limit, call.amount));
    if (refusing) expect(refusal).toMatchObject({ limitId: refusing.id });
    else {
      expect(refusal).toBeUndefined();
      const added = this.holds(fresh).map((hold) => ({ ...hold, isChannels: true as const }));
      call.limits = [...call.limits.filter(({ isChannels }) => !isChannels), ...held, ...added];
    }
  }

  async close(call: ModelCall, { kind, amount }: Step): Promise<void> {
    if (kind === "hold") await this.hold(call, amount);
    else if (kind === "extend") {
      const isRefused = call.limits.some(
        ({ limit, session, at }) =>
          limit.kind === "quota" &&
          limit.mode !== "soft" &&
          !limit.isDeleted &&
          this.used(limit, { day: Math.floor(at / DAY), session }) + amount > this.allowed(limit),
      );
      expect(await this.ledger.extend(call.id, BigInt(amount))).toBe(!isRefused || amount === 0);
      if (!isRefused) call.amount += amount;
    } else if (kind === "settle") {
      const usage = { promptTokens: 1, completionTokens: 1, cachedTokens: 0 };
      const parties = { requestId: call.id, userId: this.userId, tokenId: this.tokenId };
      await this.ledger.settle({ ...parties, channelId: 0, charge: BigInt(amount), usage, log: null });
      call.spent = amount;
    } else if (kind === "release") {
      await this.ledger.release(call.id);
      this.calls = this.calls.filter((other) => other !== call);
    }
  }

  async configure(limit: ModelLimit, { kind, amount }: Step): Promise<void> {
    const change = this.store.db.updateTable("limits").where("id", "=", limit.id);
    if (kind === "amount") {
      limit.amount = amount;
      await change.set({ amount }).execute();
    } else if (kind === "boost") {
      limit.boost = amount;
      limit.boostUntil = this.now + 10_000;
      await change.set({ boost_amount: amount, boost_until: limit.boostUntil }).execute();
    } else if (amount === 1) {
      limit.isDeleted = true;
      await change.set({ deleted_at: 1 }).execute();
    }
  }

  /** The process is killed: its calls are booked as far as they had come, here not at all. */
  async crash(): Promise<void> {
    await this.store.db.updateTable("nodes").set({ lease_until: 0 }).where("node", "=", this.node).execute();
    this.ledger = this.boot();
    await this.ledger.recover();
    for (const call of this.open) call.spent = 0;
  }
}

describe.each(engines)("limits on %s", (engine) => {
  let database: TestDatabase;
  let store: Store;

  beforeAll(async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    database = await createTestDatabase(engine);
    store = await database.open();
  });
  afterAll(async () => {
    vi.useRealTimers();
    await store.close();
    await database.drop();
  });

  test("hold after every step of any history", { timeout: 600_000 }, async () => {
    const histories = fc.tuple(
      fc.array(limitArbitrary, { minLength: 1, maxLength: 4 }),
      fc.array(stepArbitrary, { minLength: 10, maxLength: 40 }),
    );
    await fc.assert(
      fc.asyncProperty(histories, async ([limits, steps]) => {
        const world = new World(store);
        world.userId = await seedUser(store.db);
        world.tokenId = await seedToken(store.db, world.userId, { unlimited_quota: 1 });
        const grant = { userId: world.userId, kind: "grant", actorId: 1, reason: "" } as const;
        await world.ledger.adjust({ ...grant, quota: { delta: 1_000_000n } });
        for (const { kind, window, mode, amount } of limits) {
          const { id } = await store.db
            .insertInto("limits")
            .values({
              subject: "user",
              subject_id: world.userId,
              subject_name: "",
              model_pattern: "",
              kind,
              amount,
              time_window: window,
              anchor: 1,
              mode,
              created_at: world.now,
            })
            .returning("id")
            .executeTakeFirstOrThrow();
          world.limits.push({
            id,
            kind,
            window,
            mode,
            amount,
            boost: 0,
            boostUntil: 0,
            isDeleted: false,
            sessionStart: -1e9,
          });
        }
        for (const step of steps) await world.run(step);
        expect(await checkLedger(store.db)).toEqual([]);
        expect(await checkLimits(store.db, 2)).toEqual([]);
        for (const call of world.open) await world.ledger.release(call.id);
        await world.ledger.close();
      }),
      {
        seed: 20_261_125,
        numRuns: engine === "sqlite" ? rounds(40, 400) : rounds(15, 150),
        endOnFailure: false,
      },
    );
  });
});
