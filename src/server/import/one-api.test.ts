// Import: what users own, know and rely on is the same afterwards, whatever the source was kept in.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { readConfig } from "#server/config.ts";
import { checkLedger } from "#server/money/ledger-check.ts";
import { advanceSums } from "#server/money/sums.ts";
import { openStore } from "#server/store/db.ts";
import { statLogs } from "#server/store/log-stats.ts";
import { listLogs } from "#server/store/logs.ts";
import { findUserByMailbox } from "#server/store/users.ts";
import { chatReply, createFakeUpstream, json } from "#test/emulators/fake-upstream.ts";
import {
  type Age,
  accessToken,
  keys,
  oneApi,
  optionSecret,
  password,
  passwordHash,
  redemptionCode,
  secrets,
} from "#test/seeds/one-api.ts";
import { type OneApi, sumOf } from "#test/seeds/one-api-files.ts";
import { createTestApp, databases } from "#test/worlds/app.ts";
import { testDirectory } from "#test/worlds/directory.ts";
import {
  buildSource,
  type Destination,
  engines,
  importInto,
  openImported,
} from "#test/worlds/import-world.ts";
import { importOneApi } from "./one-api.ts";

/** Every source into SQLite; into PostgreSQL one age of each, since only the writing differs. */
const cases = databases.flatMap((database) =>
  engines.flatMap((engine) =>
    (database.name === "SQLite" ? (["0.6", "later"] as const) : (["later"] as const)).map((age) => ({
      database,
      engine,
      age,
    })),
  ),
);

describe.each(cases)("a $engine of One API $age into $database.name", ({ database, engine, age }) => {
  async function imported(data: OneApi): Promise<Destination & { report: string; isExact: boolean }> {
    const made = await database.create();
    onTestFinished(made.drop);
    const destination = { dataDir: testDirectory(), url: made.url };
    return { ...destination, ...(await importInto(await buildSource(engine, data), destination)) };
  }

  test("keeps ids, balances, sums and logs, and the books are exact", async () => {
    const data = oneApi(age);
    const { report, isExact, ...destination } = await imported(data);
    expect(report).toContain("books: exact");
    expect(report).not.toContain("DIFFERS");
    expect(isExact).toBe(true);
    const { ctx } = await openImported(destination);
    expect(await checkLedger(ctx.db)).toEqual([]);
    await advanceSums(ctx);
    expect(await checkLedger(ctx.db, "sums")).toEqual([]);
    const users = await ctx.db.selectFrom("users").selectAll().orderBy("id").execute();
    expect(
      users.map(({ id, username, quota, used_quota, request_count }) => [
        id,
        username,
        quota,
        used_quota,
        request_count,
      ]),
    ).toEqual([
      [1, "root", 100_000_000, 0, 0],
      [2, "alice", 500_123, 99_877, 42],
      [3, "bob", -250, 1_000_250, 7],
      [5, "deleted_0123456789abcdef0123456789abcdef", 10, 20, 1],
      [9, "banned", 1, 0, 0],
      [77, "deleted_77", 0, 0, 0],
    ]);
    expect(users[1]).toMatchObject({
      display_name: '爱丽丝 "A" o\'Neil \\ 100%',
      password: passwordHash,
      group: "vip",
      aff_code: "aB3d",
      github_id: "login:alice-gh",
      // Shared with the newer bob, which keeps it.
      email: "",
    });
    expect(users[2]).toMatchObject({ email: "shared@example.com", inviter_id: 2 });
    expect(users[3]).toMatchObject({ status: 3, email: "" });
    // Another address of bob's mailbox, which is bob's for new registrations.
    expect(users[4]).toMatchObject({ email: "shared+old@example.com" });
    expect(await findUserByMailbox(ctx.db, "shared+new@example.com")).toMatchObject({ username: "bob" });
    expect(users[0]?.aff_code).toMatch(/^[2-9A-Z]{5}$/);
    expect(await statLogs(ctx.db, {})).toMatchObject({
      quota: Number(sumOf(data, "logs", "quota")),
      requests: data["logs"]?.rows.filter((row) => row["type"] === 2).length,
    });
    expect(await statLogs(ctx.db, { username: "alice", modelName: "gpt-4o" })).toMatchObject({
      quota: (data["logs"]?.rows ?? [])
        .filter((row) => row["user_id"] === 2 && row["model_name"] === "gpt-4o")
        .reduce((sum, row) => sum + Number(row["quota"]), 0),
    });
    // Statements put these sums beside the calls of the ledger, which has none of those that were imported.
    const ofStatements = ctx.db.selectFrom("log_sums").select("key").where("dimension", "=", "token-model");
    expect(await ofStatements.execute()).toEqual([]);
    const [newest] = await listLogs(ctx.db, { start: 1_710_000_000 }, { page: 0, size: 10 });
    expect(newest?.id).toBe(5_000_000_000);
  });

  test("keys go on working, and so do passwords and access tokens", async () => {
    const { dataDir, url } = await imported(oneApi(age));
    const upstream = await createFakeUpstream();
    onTestFinished(upstream.close);
    upstream.script(json(chatReply("hello")));
    const app = await openImported({ dataDir, url });
    await app.ctx.db.updateTable("channels").set({ base_url: upstream.url }).where("id", "=", 1).execute();
    await app.ctx.candidates.reload();
    const address = await app.listen();
    const chat = (key: string) =>
      fetch(`${address}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer sk-${key}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "gpt-4o-mini", messages: [{ role: "user", content: "hi" }] }),
      });
    expect((await chat(keys.alice)).status).toBe(200);
    expect(upstream.journal[0]?.headers.authorization).toBe("Bearer sk-upstream-canary-0001");
    // A token without an owner, and one whose quota had run out.
    expect((await chat(keys.orphan)).status).toBe(401);
    expect((await chat(keys.aliceOld)).status).toBe(401);
    expect(await checkLedger(app.ctx.db)).toEqual([]);

    expect(await app.call({ authorization: accessToken }, "GET", "/api/user/self")).toMatchObject({
      success: true,
      data: { username: "root", role: 100 },
    });
    const codes = await app.call({ authorization: accessToken }, "GET", "/api/redemption/");
    expect(codes.data).toMatchObject([{ status: 3 }, { status: 1, key: redemptionCode }]);
    await expect(app.login("bob", password)).resolves.toHaveProperty("cookie");
    await expect(app.login("bob", "wrong-password-1")).rejects.toThrow();
    await expect(app.login("banned", password)).rejects.toThrow();
  });

  test("channels are cleaned, later types keep their number, options are checked", async () => {
    const { report, ...destination } = await imported(oneApi(age));
    const { ctx } = await openImported(destination);
    const channels = await ctx.db.selectFrom("channels").selectAll().orderBy("id").execute();
    const seen = channels.map(({ id, type, status, base_url, other, models, group }) => {
      return { id, type, status, base_url, other, models, group };
    });
    expect(seen).toEqual([
      {
        id: 1,
        type: 1,
        status: 1,
        base_url: "",
        other: "",
        models: "gpt-4o-mini,gpt-4o",
        group: "default,vip",
      },
      {
        id: 2,
        type: 3,
        status: 1,
        base_url: "https://x.openai.azure.com",
        other: "2024-02-01",
        models: "gpt-4o-mini",
        group: "default",
      },
      { id: 3, type: 18, status: 1, base_url: "", other: "v3.5", models: "gpt-4o-mini", group: "default" },
      {
        id: 6,
        type: 36,
        status: 1,
        base_url: "",
        other: "",
        models: "deepseek-chat",
        group: "default",
      },
      {
        id: 7,
        type: 40,
        status: 3,
        base_url: "",
        other: "",
        models: "gpt-4o-mini",
        group: "default",
      },
      { id: 8, type: 34, status: 1, base_url: "", other: "", models: "gpt-4o-mini", group: "default" },
    ]);
    expect(channels[0]).toMatchObject({
      weight: 0,
      priority: 0,
      model_mapping: '{"gpt-4":"gpt-4o"}',
      used_quota: 1_050_000,
    });
    expect(channels[1]?.model_mapping).toBe("");
    expect(ctx.candidates.byId(6)?.key).toBe("sk-deepseek-canary-0002");
    expect(ctx.options.get("SystemName")).toBe("旧站");
    expect(ctx.options.get("RetryTimes")).toBe(2);
    expect(ctx.options.get("GitHubClientSecret")).toBe(optionSecret);
    expect(ctx.options.get("ModelRatio")).toMatchObject({ "gpt-4o-mini": 0.3, "house-model": 1.5 });
    expect(ctx.options.get("GroupRatio")).toEqual({ default: 1, vip: 0.8 });
    const written = age === "later" ? { "claude-opus-4": 1.25 } : {};
    expect(ctx.options.get("CacheWriteRatio")).toEqual(written);
    expect(report).toContain("options that do not exist here were left out");
    expect(report).toContain("SomethingElse");
    expect(report).toMatch(/keep their default: CompletionRatio/);
    expect(report).toContain("GitHub accounts are known by name only");
    expect(report).toContain("e-mail addresses shared by several accounts");
    expect(report).toContain("differ from another one only in a tag (+) were kept at: banned");
    expect(report).toContain(
      "users that tokens belong to but that are gone were added as deleted accounts: 77",
    );
    const codes = await ctx.db
      .selectFrom("redemptions")
      .select(["id", "status", "quota"])
      .orderBy("id")
      .execute();
    expect(codes).toEqual([
      { id: 1, status: 1, quota: 100_000 },
      { id: 2, status: 3, quota: 100_000 },
    ]);
  });
});

describe.each(databases)("an import into $name", (database) => {
  async function newDestination(): Promise<Destination> {
    const made = await database.create();
    onTestFinished(made.drop);
    return { dataDir: testDirectory(), url: made.url };
  }

  test("gives new rows ids after the imported ones", async () => {
    const where = await newDestination();
    await importInto(await buildSource("SQLite file", oneApi("0.6")), where);
    const app = await openImported(where);
    const created = await app.call({ authorization: accessToken }, "POST", "/api/token/", { name: "new" });
    expect(created.data).toMatchObject({ id: 10, user_id: 1 });
  });

  test("is not repeated, and not made into a database that is in use", async () => {
    const where = await newDestination();
    const address = await buildSource("SQLite file", oneApi("0.6"));
    await importInto(address, where);
    await expect(importInto(address, where)).rejects.toThrow("was filled by an import on");
    const used = await newDestination();
    await (await openImported(used)).close();
    await expect(importInto(address, used)).rejects.toThrow("has users already");
  });

  test("goes on where it was interrupted, and nothing is served before it ends", async () => {
    const where = await newDestination();
    const data = oneApi("0.6", 12_000);
    const address = await buildSource("SQLite file", data);
    const config = readConfig({ DATA_DIR: where.dataDir, DATABASE_URL: where.url });
    const stopped = importOneApi(
      { address, isDryRun: false },
      {
        config,
        say: () => undefined,
        progress() {
          throw new Error("the power went");
        },
      },
    );
    await expect(stopped).rejects.toThrow("the power went");
    await expect(createTestApp({ dataDir: where.dataDir, databaseUrl: where.url })).rejects.toThrow(
      "was not finished",
    );
    const { report, isExact } = await importInto(address, where);
    expect(isExact).toBe(true);
    expect(report).toMatch(/^users\s+5\s+0\s+6\s+0$/m);
    expect(report).toMatch(/^logs\s+12000\s+2000\s+10000\s+0$/m);
    const { ctx } = await openImported(where);
    expect(await checkLedger(ctx.db)).toEqual([]);
    expect((await statLogs(ctx.db, {})).quota).toBe(Number(sumOf(data, "logs", "quota")));
  });

  test("leaves no secret in clear in the database", async () => {
    const where = await newDestination();
    await importInto(await buildSource("SQLite file", oneApi("later")), where);
    const store = await openStore({ dataDir: where.dataDir, databaseUrl: where.url });
    const tables = ["users", "tokens", "channels", "redemptions", "options", "logs", "ledger"] as const;
    const rows = await Promise.all(tables.map((table) => store.db.selectFrom(table).selectAll().execute()));
    const dump = JSON.stringify(rows);
    await store.close();
    const files = where.url === undefined ? readdirSync(where.dataDir) : [];
    const bytes = files.map((name) => readFileSync(join(where.dataDir, name)).toString("latin1")).join();
    expect(secrets.filter((secret) => dump.includes(secret) || bytes.includes(secret))).toEqual([]);
  });
});

test.each(
  engines.flatMap((engine) => (["0.6", "later"] satisfies Age[]).map((age) => [engine, age] as const)),
)("a dry run of a %s of One API %s reports counts and sums, and writes nothing", async (engine, age) => {
  const data = oneApi(age);
  const dataDir = testDirectory();
  const { report, isExact } = await importInto(
    await buildSource(engine, data),
    { dataDir, url: undefined },
    true,
  );
  expect(readdirSync(dataDir)).toEqual([]);
  expect(isExact).toBe(true);
  const line = (name: string, sum: bigint) => new RegExp(`^${name}\\s+${sum}\\s+${sum}\\s+equal$`, "m");
  expect(report).toMatch(line("quota", sumOf(data, "users", "quota")));
  expect(report).toMatch(line("used_quota", sumOf(data, "users", "used_quota")));
  expect(report).toMatch(line("remain_quota", sumOf(data, "tokens", "remain_quota")));
  expect(report).toMatch(line("log quota", sumOf(data, "logs", "quota")));
  expect(report).toMatch(/^tokens\s+5\s+5\s+0\s+0$/m);
  expect(report).toMatch(/^logs\s+60\s+60\s+0\s+0$/m);
});

test("a SQLite file with a damaged page is reported with its name, not with a stack", async () => {
  const file = await buildSource("SQLite file", oneApi("later"));
  const bytes = readFileSync(file);
  const dataDir = testDirectory();
  // The first page holds the schema, the last one rows.
  for (const page of [0, bytes.length / 4096 - 1]) {
    const damaged = Buffer.from(bytes).fill(0xa5, page * 4096 + 100, (page + 1) * 4096);
    writeFileSync(file, damaged);
    await expect(importInto(file, { dataDir, url: undefined }, true), `page ${page}`).rejects.toThrow(
      expect.objectContaining({
        name: "ImportError",
        message: expect.stringContaining(`cannot read ${file}`),
      }),
    );
  }
});
