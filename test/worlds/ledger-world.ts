// A ledger to test against: one database per file, a ledger per test, and a check of all balances after every test.
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { fakeClock } from "#server/clock.ts";
import { createLedger, type Ledger } from "#server/money/ledger.ts";
import { checkLedger } from "#server/money/ledger-check.ts";
import type { ReserveOrder, Settlement } from "#server/money/operations.ts";
import type { CodeTerms } from "#server/money/partner-operations.ts";
import type { Db, Store } from "#server/store/db.ts";
import { type ListedLog, listLogs } from "#server/store/logs.ts";
import { getUser } from "#server/store/users.ts";
import { createTestDatabase, type Engine, type TestDatabase } from "./stores.ts";

export interface Parties {
  readonly userId: number;
  readonly tokenId: number;
}

export const logPart = {
  content: "模型倍率 1",
  model_name: "gpt-4o",
  elapsed_time: 12.7,
  first_byte_time: 3,
  is_stream: 1,
  estimated: 0,
  trail: "",
};

let serial = 0;

/** A settlement of a reserved call. */
export function bill(order: Parties & { readonly requestId: string }, charge: bigint): Settlement {
  const { requestId, userId, tokenId } = order;
  const usage = { promptTokens: 10, completionTokens: 5, cachedTokens: 0 };
  return { requestId, userId, tokenId, channelId: 0, charge, usage, log: logPart };
}

/** A new call. */
export function order(parties: Parties, amount: bigint): ReserveOrder {
  serial += 1;
  return { requestId: `request${serial}`, ...parties, amount, modelName: "gpt-4o" };
}

/** What codes bring as long as an operator changes nothing. */
export const codeTerms: CodeTerms = {
  giftPercent: 5,
  commissionPercent: 5,
  firstOrders: 0,
  monthMicro: 0n,
  soldYuan: 7,
};

export class LedgerWorld {
  readonly clock = fakeClock();
  readonly errors: unknown[] = [];
  readonly #engine: Engine;
  #database: TestDatabase | undefined;
  #store: Store | undefined;
  #ledger: Ledger | undefined;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  get store(): Store {
    if (!this.#store) throw new Error("the database opens before the tests");
    return this.#store;
  }

  get db(): Db {
    return this.store.db;
  }

  get ledger(): Ledger {
    if (!this.#ledger) throw new Error("the ledger opens before each test");
    return this.#ledger;
  }

  async start(): Promise<void> {
    this.#database = await createTestDatabase(this.#engine);
    this.#store = await this.#database.open();
  }

  async stop(): Promise<void> {
    await this.#store?.close();
    await this.#database?.drop();
  }

  /** Another process. */
  boot(): { ledger: Ledger; node: string } {
    serial += 1;
    const node = `node${serial}`;
    const onError = (error: unknown) => this.errors.push(error);
    return { node, ledger: createLedger({ store: this.store, clock: this.clock, node, onError }) };
  }

  begin(): void {
    this.#ledger = this.boot().ledger;
  }

  /** Ends the test's process, closes what it left open and checks all balances. */
  async end(): Promise<void> {
    await this.ledger.close();
    const { ledger } = this.boot();
    await ledger.recover();
    await ledger.close();
    expect(await this.db.selectFrom("reservations").select("request_id").execute()).toEqual([]);
    expect(await checkLedger(this.db)).toEqual([]);
    expect(this.errors).toEqual([]);
  }

  async balances({ userId, tokenId }: Parties) {
    const user = await getUser(this.db, userId);
    const token = await this.db
      .selectFrom("tokens")
      .select(["remain_quota", "status"])
      .where("id", "=", tokenId)
      .executeTakeFirstOrThrow();
    return { quota: user.quota, used: user.used_quota, remain: token.remain_quota, status: token.status };
  }

  openReservations({ userId }: { userId: number }): Promise<{ request_id: string }[]> {
    return this.db.selectFrom("reservations").select("request_id").where("user_id", "=", userId).execute();
  }

  logsOf({ userId }: { userId: number }): Promise<ListedLog[]> {
    return listLogs(this.db, { userId }, { page: 0, size: 10 });
  }
}

/** Registers the hooks of a ledger for the tests of the enclosing block. */
export function useLedgerWorld(engine: Engine): LedgerWorld {
  const world = new LedgerWorld(engine);
  beforeAll(() => world.start());
  afterAll(() => world.stop());
  beforeEach(() => world.begin());
  afterEach(() => world.end());
  return world;
}
