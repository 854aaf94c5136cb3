// A server beside all five emulated payment providers, with a merchant account at each where the tests want them.
import { afterAll, beforeAll, expect } from "vitest";
import type { TestAppOptions, TestDatabase } from "./app.ts";
import { type Desk, type Desks, startDesks } from "./pay-desks.ts";
import { type Account, CREDITED, PaymentWorld } from "./payment-world.ts";

export class DesksWorld extends PaymentWorld {
  #desks: Desks | undefined;
  /** By the name of the provider; empty until they are opened. */
  readonly accounts = new Map<string, Account>();

  get desks(): Desks {
    if (!this.#desks) throw new Error("the world was not started");
    return this.#desks;
  }

  override async start(
    database: TestDatabase,
    options: Pick<TestAppOptions, "env" | "logger"> = {},
  ): Promise<void> {
    await super.start(database, options);
    this.#desks = await startDesks(this.clock.now);
  }

  override async stop(): Promise<void> {
    await this.#desks?.close();
    await super.stop();
  }

  /** Makes a merchant account at each. */
  async openAccounts(): Promise<void> {
    for (const { provider, draft } of this.desks.desks)
      this.accounts.set(provider, await this.account(draft));
  }

  /** A provider and the account there. Throws: where none was opened. */
  at(provider: string): Desk & { readonly account: Account } {
    const desk = this.desks.desks.find((one) => one.provider === provider);
    const account = this.accounts.get(provider);
    if (!desk || !account) throw new Error(`no ${provider}`);
    return { ...desk, account };
  }

  /** A new user's order that was paid, told and credited; `there` is what the provider knows of it. */
  async paid(provider: string) {
    const { account, method, desk, notice } = this.at(provider);
    const { user, order } = await this.ordered(account, { method });
    const no = order.order_no;
    const there = desk.pay(no);
    await this.notify(account, notice(no));
    expect(await this.gained(user)).toBe(CREDITED);
    return { user, no, there };
  }
}

/** Opens such a world, with an account at each provider, for the tests of a `describe`. */
export function useDesksWorld(
  database: TestDatabase,
  options: Pick<TestAppOptions, "env" | "logger"> = {},
): DesksWorld {
  const world = new DesksWorld();
  beforeAll(async () => {
    await world.start(database, options);
    await world.openAccounts();
  });
  afterAll(() => world.stop());
  return world;
}
