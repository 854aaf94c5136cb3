import { createHook } from "node:async_hooks";
import { hashSync } from "bcryptjs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { setUserStatus, updateUserProfile } from "#server/store/users.ts";
import { seedPassword, seedUser } from "#test/seeds/seed.ts";
import { createAppOn, databases, type TestApp } from "#test/worlds/app.ts";
import { visit } from "#test/worlds/visitor.ts";

/** What Node calls the two kinds of work: a derivation by argon2id, and the thread that compares one bcrypt hash. */
const KINDS = ["ARGON2REQUEST", "WORKER"];

async function workOf(run: () => Promise<unknown>): Promise<string[]> {
  const done: string[] = [];
  const hook = createHook({ init: (_, kind) => void (KINDS.includes(kind) && done.push(kind)) }).enable();
  await run();
  hook.disable();
  return done.sort();
}

describe.each(databases)("the work of a failed login on $name", (database) => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createAppOn(database, { env: { TRUSTED_PROXIES: "127.0.0.1" } });
    const { id } = await seedUser(app.ctx, "imported");
    await updateUserProfile(app.ctx.db, id, { password: hashSync("old password", 4) });
    const { id: bannedId } = await seedUser(app.ctx, "banned");
    await updateUserProfile(app.ctx.db, bannedId, { password: hashSync("old password", 4) });
    await setUserStatus(app.ctx.db, bannedId, 1, 2);
    await seedUser(app.ctx, "native");
  });
  afterAll(() => app.close());

  const logIn = (username: string, password: string) =>
    visit(app).call("POST", "/api/user/login", { username, password });
  const failures = [
    ["nobody", "some password"],
    ["native", "some password"],
    ["imported", "some password"],
    ["banned", "some password"],
    ["banned", "old password"],
  ] as const;

  test("is the same for every kind of account while there are hashes of the older kind, and less after", async () => {
    for (const [username, password] of failures) {
      const work = await workOf(() => logIn(username, password));
      expect(work, `${username}, ${password}`).toEqual(KINDS);
    }
    // A user with the right password does not wait for the other kind.
    expect(await workOf(() => logIn("native", seedPassword))).toEqual(["ARGON2REQUEST"]);
    expect((await logIn("imported", "old password")).success).toBe(true);
    expect(await workOf(() => logIn("imported", "some password"))).toEqual(KINDS);
    await app.ctx.db.updateTable("users").set({ password: "" }).where("username", "=", "banned").execute();
    for (const username of ["nobody", "native", "imported", "banned"])
      expect(await workOf(() => logIn(username, "some password")), username).toEqual(["ARGON2REQUEST"]);
  });
});
