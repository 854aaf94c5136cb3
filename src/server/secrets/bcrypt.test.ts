import { hashSync } from "bcryptjs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { verifyPassword } from "#server/secrets.ts";
import { updateUserProfile } from "#server/store/users.ts";
import { seedUser } from "#test/seeds/seed.ts";
import { createAppOn, databases, type TestApp } from "#test/worlds/app.ts";
import { isBcrypt, verifyBcrypt } from "./bcrypt.ts";

/** Made by Go's golang.org/x/crypto/bcrypt, as One API stores them: cost 10, `$2a$`. */
const fromGo = "$2a$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy";

describe("bcrypt hashes", () => {
  test("are known by their form", () => {
    expect(isBcrypt(fromGo)).toBe(true);
    for (const text of [
      "",
      "$2a$10$short",
      `${fromGo}x`,
      fromGo.replace("$10$", "$31$"),
      "$argon2id$v=19$m=1,t=1,p=1$a$b",
    ])
      expect(isBcrypt(text)).toBe(false);
  });

  test.each(["$2a$", "$2b$", "$2y$"])("of the kind %s verify", async (kind) => {
    const hash = hashSync("一二三 pass", 4).replace("$2b$", kind);
    expect(await verifyPassword("一二三 pass", hash)).toBe(true);
    expect(await verifyPassword("一二三 Pass", hash)).toBe(false);
  });

  test("keep the event loop free", async () => {
    const hash = hashSync("x", 12);
    let worstMs = 0;
    const startMs = performance.now();
    let lastMs = startMs;
    const timer = setInterval(() => {
      worstMs = Math.max(worstMs, performance.now() - lastMs);
      lastMs = performance.now();
    }, 5);
    expect(await verifyBcrypt("x", hash)).toBe(true);
    clearInterval(timer);
    // A machine that is busy with other work stands still for longer; a hash computed in the loop stops it for all of the time.
    expect(worstMs).toBeLessThan(Math.max(60, (performance.now() - startMs) / 4));
  });
});

describe.each(databases)("an imported account on $name", (database) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await createAppOn(database);
  });
  afterAll(() => app.close());

  test("logs in with its old password, which is argon2id from then on", async () => {
    const { id } = await seedUser(app.ctx, "imported");
    await updateUserProfile(app.ctx.db, id, { password: hashSync("old password", 10) });
    const stored = async () =>
      (await app.ctx.db.selectFrom("users").select("password").where("id", "=", id).executeTakeFirstOrThrow())
        .password;
    await expect(app.login("imported", "wrong password")).rejects.toThrow("账号或密码不正确");
    expect(await stored()).toMatch(/^\$2/);
    await app.login("imported", "old password");
    expect(await stored()).toMatch(/^\$argon2id\$/);
    await app.login("imported", "old password");
  });
});
