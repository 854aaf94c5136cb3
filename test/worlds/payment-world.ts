// A server with merchant accounts at emulated providers, users who buy, and a clock of its own; the books are checked at the end.

import { afterAll, beforeAll, expect, vi } from "vitest";
import type { Order } from "#contract/payment.ts";
import { fakeClock } from "#server/clock.ts";
import { checkLedger } from "#server/money/ledger-check.ts";
import { pollDue } from "#server/payments/poller.ts";
import { findOrder, type OrderRow } from "#server/store/orders.ts";
import { getUser } from "#server/store/users.ts";
import { type EpayEmulator, startEpay } from "#test/emulators/epay-emulator.ts";
import { type SeededUser, seedUser } from "#test/seeds/seed.ts";
import {
  type Answer,
  asRoot,
  createTestApp,
  type TestApp,
  type TestAppOptions,
  type TestDatabase,
  type Who,
} from "./app.ts";
import { temporaryDir } from "./process.ts";

/** What a paid order of $50 brings, for which `ordered` asks 30 yuan. Unit: quota. */
export const CREDITED = 25_000_000;

export interface Account {
  readonly id: number;
  /** Path of its callbacks. */
  readonly path: string;
}

export class PaymentWorld {
  readonly clock = fakeClock();
  #app: TestApp | undefined;
  #databaseUrl: string | undefined;
  #options: Pick<TestAppOptions, "env" | "logger"> = {};
  readonly #files = temporaryDir();
  #drop: () => Promise<void> = async () => undefined;
  #serial = 0;

  get app(): TestApp {
    if (!this.#app) throw new Error("the world was not started");
    return this.#app;
  }

  async start(database: TestDatabase, options: Pick<TestAppOptions, "env" | "logger"> = {}): Promise<void> {
    this.#options = options;
    const made = await database.create();
    this.#drop = () => made.drop();
    this.#databaseUrl = made.url;
    await this.#open();
    await this.app.ctx.options.set("ServerAddress", "https://gate.example");
  }

  async #open(): Promise<void> {
    const { path: dataDir } = this.#files;
    this.#app = await createTestApp({
      ...this.#options,
      ...{ databaseUrl: this.#databaseUrl, dataDir, clock: this.clock },
    });
    // On PostgreSQL the session that holds locks is there a moment later; an order asks for one.
    const { coord } = this.#app.ctx;
    await vi.waitFor(async () => expect(await coord.lock("test", async () => true)).toBe(true), 20_000);
  }

  /** Ends the server, and starts it again on the same data. */
  async restart(): Promise<void> {
    await this.app.close();
    await this.#open();
  }

  async stop(): Promise<void> {
    expect(await checkLedger(this.app.ctx.db)).toEqual([]);
    await this.app.close();
    await this.#drop();
    this.#files.remove();
  }

  /** Makes a merchant account through the API. */
  async account(draft: object): Promise<Account> {
    const made = await this.app.call(asRoot, "POST", "/api/payment/instance", {
      name: "测试",
      is_enabled: true,
      merchant_id: "1001",
      ...draft,
    });
    expect(made.message).toBe("");
    expect(made.data.is_complete).toBe(true);
    return { id: made.data.id, path: new URL(made.data.notify_url).pathname };
  }

  buyer(): Promise<SeededUser> {
    this.#serial += 1;
    return seedUser(this.app.ctx, `buyer${this.#serial}`);
  }

  buy(who: Who, account: Account, change: object = {}): Promise<Answer> {
    const body = { dollars: 50, instance_id: account.id, method: "alipay", ...change };
    return this.app.call(who, "POST", "/api/payment/order", body);
  }

  /** A new user's order of 30 yuan for $50. */
  async ordered(account: Account, change: object = {}): Promise<{ user: SeededUser; order: Order }> {
    const user = await this.buyer();
    const answer = await this.buy(user.who, account, change);
    expect(answer.message).toBe("");
    return { user, order: answer.data };
  }

  async notify(account: Account, sent: { query?: string; body?: string; headers?: Record<string, string> }) {
    const path = sent.query === undefined ? account.path : `${account.path}?${sent.query}`;
    const response = await this.app.request(path, {
      method: sent.body === undefined ? "GET" : "POST",
      headers: { host: "gate.example", ...sent.headers },
      ...(sent.body === undefined ? {} : { body: sent.body }),
    });
    return { status: response.status, text: await response.text() };
  }

  async row(orderNo: string): Promise<OrderRow> {
    const row = await findOrder(this.app.ctx.db, orderNo);
    if (!row) throw new Error(`no order ${orderNo}`);
    return row;
  }

  /** What a user got by buying: seeded users have 500,000 before. */
  async gained({ id }: { readonly id: number }): Promise<number> {
    return (await getUser(this.app.ctx.db, id)).quota - 500_000;
  }

  /** Lets time pass and asks about what is due then. */
  async pass(seconds: number): Promise<void> {
    this.clock.advance(seconds * 1_000);
    await pollDue(this.app.ctx);
  }

  async openEvents(): Promise<Answer["data"]> {
    return (await this.app.call(asRoot, "GET", "/api/payment/event?size=100")).data;
  }
}

/** With a 易支付 site beside it. */
export class EpayWorld extends PaymentWorld {
  #epay: EpayEmulator | undefined;

  get epay(): EpayEmulator {
    if (!this.#epay) throw new Error("the world was not started");
    return this.#epay;
  }

  override async start(database: TestDatabase): Promise<void> {
    await super.start(database);
    this.#epay = await startEpay(this.clock.now);
  }

  override async stop(): Promise<void> {
    await this.#epay?.desk.close();
    await super.stop();
  }

  /** Makes a merchant account at the site. */
  site(change: object = {}): Promise<Account> {
    const fields = { base_url: this.epay.desk.url, key: this.epay.key };
    return this.account({ provider: "epay-v1", methods: ["alipay"], fields, ...change });
  }

  /** Pays an order at the site, which tells of it. */
  pay(account: Account, orderNo: string): Promise<{ status: number; text: string }> {
    return this.notify(account, { query: this.epay.noticeV1(this.epay.desk.pay(orderNo)) });
  }
}

/** Opens such a world for the tests of a `describe`. */
export function useEpayWorld(database: TestDatabase): EpayWorld {
  const world = new EpayWorld();
  beforeAll(() => world.start(database));
  afterAll(() => world.stop());
  return world;
}
