// Secrets at rest: nothing in clear in any table, nothing that opens in another place (requirements K01, K10, U07). Files, logs
// of the database and backups are looked through in e2e/backup.test.ts.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { optionTable } from "#contract/option.ts";
import { createSecrets, SealError } from "#server/secrets.ts";
import { seedPassword, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createAppOn, databases, rootAccess, type TestApp } from "#test/worlds/app.ts";
import { dumpTables } from "#test/worlds/stores.ts";

const secretOptions = Object.entries(optionTable).flatMap(([key, row]) => ("secret" in row ? [key] : []));

describe.each(databases)("secrets at rest on $name", (database) => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createAppOn(database);
  });
  afterAll(() => app.close());

  const addChannel = (name: string, key: string) =>
    app.call(asRoot, "POST", "/api/channel/", {
      type: 1,
      name,
      key,
      models: "gpt-4o-mini",
      group: "default",
    });

  test("no key, code, password, session or option secret stands in any table", async () => {
    await addChannel("canary", "sk-channel-canary-1");
    for (const key of secretOptions) {
      const written = await app.call(asRoot, "PUT", "/api/option/", { key, value: `canary-of-${key}` });
      expect(written.success, key).toBe(true);
    }
    const token = await app.call(asRoot, "POST", "/api/token/", { name: "canary" });
    const codes = await app.call(asRoot, "POST", "/api/redemption/", { name: "canary", quota: 5, count: 2 });
    await seedUser(app.ctx, "canary");
    const { cookie = "" } = await app.login("canary", seedPassword);
    const secrets = [
      "sk-channel-canary-1",
      ...secretOptions.map((key) => `canary-of-${key}`),
      String(token.data.key),
      ...codes.data.map(String),
      rootAccess,
      seedPassword,
      cookie.replace(/^session=/, ""),
    ];
    expect(secrets.filter((secret) => secret.length < 8)).toEqual([]);
    const text = await dumpTables(app.ctx);
    expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
  });

  test("a sealed key that is moved to another row serves no call", async () => {
    await addChannel("left", "sk-left-canary");
    await addChannel("right", "sk-right-canary");
    const rows = await app.ctx.db
      .selectFrom("channels")
      .select(["id", "key_sealed"])
      .where("name", "in", ["left", "right"])
      .orderBy("id")
      .execute();
    const [left, right] = [rows[0] ?? expect.fail(), rows[1] ?? expect.fail()];
    expect(app.ctx.candidates.byId(left.id)?.key).toBe("sk-left-canary");
    const put = (id: number, key_sealed: string) =>
      app.ctx.db.updateTable("channels").set({ key_sealed }).where("id", "=", id).execute();
    await put(left.id, right.key_sealed);
    await put(right.id, left.key_sealed);
    await app.ctx.candidates.reload();
    expect(app.ctx.candidates.byId(left.id)).toBeUndefined();
    expect(app.ctx.candidates.byId(right.id)).toBeUndefined();
    await put(left.id, left.key_sealed);
    await put(right.id, right.key_sealed);
    await app.ctx.candidates.reload();
    expect(app.ctx.candidates.byId(right.id)?.key).toBe("sk-right-canary");
  });

  test("a sealed token or option that is moved does not open either", async () => {
    const one = await app.call(asRoot, "POST", "/api/token/", { name: "one" });
    const two = await app.call(asRoot, "POST", "/api/token/", { name: "two" });
    const sealed = await app.ctx.db
      .selectFrom("tokens")
      .select("key_sealed")
      .where("id", "=", one.data.id)
      .executeTakeFirstOrThrow();
    await app.ctx.db.updateTable("tokens").set(sealed).where("id", "=", two.data.id).execute();
    const answer = await app.call(asRoot, "GET", `/api/token/${two.data.id}`);
    expect(answer.status).toBe(500);
    expect(JSON.stringify(answer)).not.toContain(one.data.key);

    const options = await app.ctx.db.selectFrom("options").selectAll().execute();
    const textOf = (key: string) => options.find((row) => row.key === key)?.value ?? "";
    await app.ctx.db
      .updateTable("options")
      .set({ value: textOf("GitHubClientSecret") })
      .where("key", "=", "SMTPToken")
      .execute();
    await expect(app.ctx.options.reload()).rejects.toThrow(SealError);
    await app.ctx.db
      .updateTable("options")
      .set({ value: textOf("SMTPToken") })
      .where("key", "=", "SMTPToken")
      .execute();
    await app.ctx.options.reload();
  });
});

test("a hundred thousand damaged seals: each is refused cleanly or is the same text", () => {
  const secrets = createSecrets(Buffer.from("a master key of thirty-two chars"));
  const sealed = secrets.seal("sk-upstream-canary", "channels.key");
  let seed = 7;
  // A small generator of our own: the same damage in every run.
  const next = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed % below;
  };
  const wrong: string[] = [];
  for (let round = 0; round < 100_000; round += 1) {
    const at = next(sealed.length);
    const damaged = [
      () => sealed.slice(0, at),
      () => sealed.slice(at),
      () => sealed.slice(0, at) + String.fromCharCode(next(128)) + sealed.slice(at + 1),
      () => `v${next(9)}:${sealed.slice(3)}`,
      () => sealed.slice(0, at) + sealed.slice(at).toUpperCase(),
    ][next(5)]?.();
    if (damaged === undefined || damaged === sealed) continue;
    try {
      if (secrets.open(damaged, "channels.key") !== "sk-upstream-canary") wrong.push(damaged);
    } catch (error) {
      if (!(error instanceof SealError)) wrong.push(String(error));
    }
  }
  expect(wrong).toEqual([]);
});
