// A plain model of the ledger, the real one beside it, and the comparison of the two.
import { expect } from "vitest";
import type { fakeClock } from "#server/clock.ts";
import { createLedger, type Ledger } from "#server/money/ledger.ts";
import { checkLedger } from "#server/money/ledger-check.ts";
import type { Db, Store } from "#server/store/db.ts";

export interface ModelToken {
  readonly id: number;
  readonly userId: number;
  isUnlimited: boolean;
  isDeleted: boolean;
  remain: bigint;
  used: bigint;
}

export interface ModelUser {
  readonly id: number;
  /** 0 = no inviter. */
  readonly inviterId: number;
  isEnabled: boolean;
  /** Millionths of a yuan. */
  commission: bigint;
  quota: bigint;
  used: bigint;
  calls: number;
}

export interface ModelCall {
  readonly requestId: string;
  readonly user: ModelUser;
  readonly token: ModelToken;
  readonly isLimited: boolean;
  amount: bigint;
  seen: bigint;
}

export interface ModelCode {
  readonly id: number;
  readonly quota: bigint;
  /** 1 unused, 2 disabled, 3 used. */
  status: number;
  usedBy: number;
}

export class Model {
  readonly codes: ModelCode[] = [];
  readonly users: ModelUser[] = [];
  readonly tokens: ModelToken[] = [];
  open: ModelCall[] = [];
  readonly closed: { requestId: string; userId: number; tokenId: number; charged: bigint }[] = [];
  readonly channels = new Map<number, bigint>();

  /** What the rules say a call of this price comes to. */
  pay(call: ModelCall, price: bigint, channelId: number): bigint {
    let payable = call.user.quota + call.amount;
    const left = call.token.remain + call.amount;
    if (call.isLimited && left < payable) payable = left;
    const charged = price < payable ? price : payable;
    call.user.quota += call.amount - charged;
    call.user.used += charged;
    call.user.calls += 1;
    if (call.isLimited) call.token.remain += call.amount - charged;
    call.token.used += charged;
    this.channels.set(channelId, (this.channels.get(channelId) ?? 0n) + charged);
    this.drop(call);
    this.closed.push({ requestId: call.requestId, userId: call.user.id, tokenId: call.token.id, charged });
    return charged;
  }

  giveBack(call: ModelCall): void {
    call.user.quota += call.amount;
    if (call.isLimited) call.token.remain += call.amount;
    this.drop(call);
  }

  drop(call: ModelCall): void {
    this.open = this.open.filter((other) => other !== call);
  }
}

export class Real {
  static serial = 0;
  readonly store: Store;
  readonly clock: ReturnType<typeof fakeClock>;
  readonly channels: readonly number[];
  ledger: Ledger;
  node = "";

  constructor(store: Store, clock: ReturnType<typeof fakeClock>, channels: readonly number[]) {
    this.store = store;
    this.clock = clock;
    this.channels = channels;
    this.ledger = this.boot();
  }

  boot(): Ledger {
    this.node = `laws${++Real.serial}`;
    return createLedger({ store: this.store, clock: this.clock, node: this.node });
  }

  /** The process is killed; on PostgreSQL its lease runs out. */
  async crash(): Promise<void> {
    await this.settled();
    await this.store.db.updateTable("nodes").set({ lease_until: 0 }).where("node", "=", this.node).execute();
    this.ledger = this.boot();
    await this.ledger.recover();
  }

  /** Waits until what was only posted is stored, too. */
  async settled(): Promise<void> {
    for (let turn = 0; turn < 2; turn += 1) {
      const order = { requestId: "barrier", userId: 0, tokenId: 0, amount: 0n, modelName: "" };
      expect(await this.ledger.reserve(order)).toBe("user_disabled");
    }
  }
}

/** Throws unless database and model agree and the equations hold. */
export async function compare(model: Model, { store }: Real): Promise<void> {
  const { db } = store;
  const userIds = model.users.map((user) => user.id);
  if (userIds.length === 0) return;
  const users = await db
    .selectFrom("users")
    .select(["id", "quota", "used_quota", "request_count", "invite_commission_micro"])
    .where("id", "in", userIds)
    .orderBy("id")
    .execute();
  expect(users).toEqual(
    model.users.map(({ id, quota, used, calls, commission }) => ({
      id,
      quota: Number(quota),
      used_quota: Number(used),
      request_count: calls,
      invite_commission_micro: Number(commission),
    })),
  );
  await compareCodes(model, db);
  const tokens = await db
    .selectFrom("tokens")
    .select(["id", "remain_quota", "used_quota"])
    .where("user_id", "in", userIds)
    .orderBy("id")
    .execute();
  expect(tokens).toEqual(
    model.tokens.map(({ id, remain, used }) => ({
      id,
      remain_quota: Number(remain),
      used_quota: Number(used),
    })),
  );
  for (const row of [...users.map((user) => user.quota), ...tokens.map((token) => token.remain_quota)]) {
    expect(row).toBeGreaterThanOrEqual(0);
  }
  const reserved = await db
    .selectFrom("reservations")
    .select(["request_id", "amount"])
    .where("user_id", "in", userIds)
    .execute();
  expect(new Map(reserved.map((row) => [row.request_id, row.amount]))).toEqual(
    new Map(model.open.map((call) => [call.requestId, Number(call.amount)])),
  );
  // E6: what users see adds up to what was booked, in the log and in the sums of the hours.
  const consumed = Number(model.users.reduce((sum, user) => sum + user.used, 0n));
  const calls = model.users.reduce((sum, user) => sum + user.calls, 0);
  const logs = await db
    .selectFrom("logs")
    .select("quota")
    .where("user_id", "in", userIds)
    .where("type", "=", 2)
    .execute();
  expect([logs.length, logs.reduce((sum, log) => sum + log.quota, 0)]).toEqual([calls, consumed]);
  const hours = await db
    .selectFrom("log_rollups")
    .select(["quota", "requests"])
    .where("user_id", "in", userIds)
    .execute();
  expect(hours.reduce((sum, hour) => sum + hour.requests, 0)).toBe(calls);
  expect(hours.reduce((sum, hour) => sum + hour.quota, 0)).toBe(consumed);
  // E1–E5, E7–E9, E12 from the ledger itself.
  expect(await checkLedger(db)).toEqual([]);
}

async function compareCodes(model: Model, db: Db): Promise<void> {
  if (model.codes.length === 0) return;
  const codes = await db
    .selectFrom("redemptions")
    .select(["id", "quota", "status", "used_user_id"])
    .where(
      "id",
      "in",
      model.codes.map((code) => code.id),
    )
    .orderBy("id")
    .execute();
  expect(codes).toEqual(
    model.codes.map(({ id, quota, status, usedBy }) => ({
      id,
      quota: Number(quota),
      status,
      used_user_id: usedBy,
    })),
  );
}
