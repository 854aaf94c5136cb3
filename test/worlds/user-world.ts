// What the tests of user administration share: an app, an administrator, and users to act on. A ledger check runs at the end.
import { afterAll, beforeAll, expect } from "vitest";
import { Role } from "#contract/user.ts";
import { checkLedger } from "#server/money/ledger-check.ts";
import { getUser } from "#server/store/users.ts";
import { type SeededUser, seedUser } from "#test/seeds/seed.ts";
import { type Answer, createAppOn, type TestApp, type TestDatabase, type Who } from "./app.ts";

export class UserWorld {
  #app: TestApp | undefined;
  #admin: SeededUser | undefined;
  #serial = 0;

  get app(): TestApp {
    if (!this.#app) throw new Error("the app starts before the tests");
    return this.#app;
  }

  /** An administrator that is not super. */
  get admin(): SeededUser {
    if (!this.#admin) throw new Error("people come before the tests");
    return this.#admin;
  }

  async start(database: TestDatabase): Promise<void> {
    this.#app = await createAppOn(database);
    this.#admin = await seedUser(this.#app.ctx, "admin", { role: Role.admin });
  }

  readonly person = (kind: { role?: number; status?: number } = {}): Promise<SeededUser> => {
    this.#serial += 1;
    return seedUser(this.app.ctx, `person${this.#serial}`, kind);
  };

  readonly update = (body: object, who: Who = this.admin.who): Promise<Answer> =>
    this.app.call(who, "PUT", "/api/user/", body);

  readonly manage = (username: string, action: string, who: Who = this.admin.who): Promise<Answer> =>
    this.app.call(who, "POST", "/api/user/manage", { username, action });

  readonly rowOf = (id: number) => getUser(this.app.ctx.db, id);
}

/** Registers the hooks for the tests of the enclosing block. */
export function useUsers(database: TestDatabase): UserWorld {
  const world = new UserWorld();
  beforeAll(() => world.start(database));
  afterAll(async () => {
    expect(await checkLedger(world.app.ctx.db)).toEqual([]);
    await world.app.close();
  });
  return world;
}
