// The way back after a lost password: as operators run it, on both databases.
import { expect, onTestFinished, test } from "vitest";
import { readConfig } from "#server/config.ts";
import { saveTotp } from "#server/store/factors.ts";
import { updateUserProfile } from "#server/store/users.ts";
import { seedPassword, seedUser } from "#test/seeds/seed.ts";
import { asGuest, asRoot, createTestApp, databases } from "#test/worlds/app.ts";
import { temporaryDir } from "#test/worlds/process.ts";
import { resetPassword } from "./reset-password.ts";

const MASTER_KEY = "the master key of the test, 32 or more";

test.each(databases)("a lost password is replaced on $name, and its sessions end", async ({ create }) => {
  const { url, drop } = await create();
  onTestFinished(drop);
  const dir = temporaryDir();
  onTestFinished(dir.remove);
  const env = { MASTER_KEY };
  const config = readConfig({ DATA_DIR: dir.path, DATABASE_URL: url, ...env });

  const first = await createTestApp({ dataDir: dir.path, databaseUrl: url, env });
  const session = await first.login("root", "123456");
  const banned = await seedUser(first.ctx, "banned", { status: 2 });
  await updateUserProfile(first.ctx.db, banned.id, { email: "banned@example.com" });
  expect((await first.call(asRoot, "GET", "/api/user/self")).success).toBe(true);
  const phone = { secret_sealed: "", last_step: 0, created_at: 1, last_used_at: 1, trusted_from: 1 };
  await saveTotp(first.ctx.db, { user_id: 1, ...phone });
  await first.close();

  expect(await resetPassword(config, "root")).toMatchObject({ isDisabled: false, isProtected: true });
  const reset = await resetPassword(config, "root", { isFactorless: true });
  expect(reset).toMatchObject({ username: "root", isDisabled: false, isProtected: false });
  expect(await resetPassword(config, "banned@example.com")).toMatchObject({
    username: "banned",
    isDisabled: true,
  });
  await expect(resetPassword(config, "nobody")).rejects.toThrow("no user nobody; super administrators: root");

  const second = await createTestApp({ dataDir: dir.path, databaseUrl: url, env });
  onTestFinished(() => second.close());
  for (const who of [session, asRoot])
    expect((await second.call(who, "GET", "/api/user/self")).success).toBe(false);
  const old = { username: "root", password: "123456" };
  expect((await second.call(asGuest, "POST", "/api/user/login", old)).success).toBe(false);
  const root = await second.login("root", reset.password);
  await expect(second.login("banned", seedPassword)).rejects.toThrow();
  const { data } = await second.call(root, "GET", "/api/audit/?action=auth.reset_password");
  expect(data).toMatchObject([
    { target: String(banned.id), actor_id: 0 },
    { target: "1", actor_id: 0, detail: expect.stringContaining("removed") },
    { target: "1", actor_id: 0 },
  ]);
  expect(JSON.stringify(data)).not.toContain(reset.password);
});

test("a directory without a master key is none of ours, and stays as it is", async () => {
  const dir = temporaryDir();
  onTestFinished(dir.remove);
  await expect(resetPassword(readConfig({ DATA_DIR: dir.path }), "root")).rejects.toThrow(
    /no master key at .*DATA_DIR/,
  );
});
