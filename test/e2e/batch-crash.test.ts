// kill -9 around batches: killed while its results are read, and between two parts that are booked, each part is paid once by the
// process that goes on (requirements C58).
import OpenAI, { toFile } from "openai";
import { describe, expect, onTestFinished, test } from "vitest";
import { checkLedger } from "#server/money/ledger-check.ts";
import { openStore, type StoreOptions } from "#server/store/db.ts";
import { startBatches } from "#test/emulators/batch-emulator.ts";
import { answerLine, batchOrder, errorLine, named, requestLine } from "#test/worlds/batch-world.ts";
import { MASTER_KEY } from "#test/worlds/cluster.ts";
import { testDirectory } from "#test/worlds/directory.ts";
import { createPostgresDatabase } from "#test/worlds/postgres.ts";
import { manage, rootKey, startServer } from "#test/worlds/process.ts";
import { engines } from "#test/worlds/stores.ts";

const PATIENCE = { timeout: 60_000, interval: 100 };
/** Each is a part of its own. */
const MODELS = named(40, "m");
const LINES = MODELS.flatMap((model) => named(25, model).map((id) => ({ id, model })));
/** The first ten lines fail; (10 + 5 × 3) × 2 × 0.5 for each of the others. */
const CHARGES = MODELS.map((_, part) => (part === 0 ? 15 : 25) * 25);
/** So often it is tried to kill it between two parts. */
const TRIES = 5;

/** What the tables say while no process runs. */
async function look(options: StoreOptions) {
  const store = await openStore(options);
  try {
    const { db } = store;
    await db.updateTable("tasks").set({ next_at: 1 }).where("is_booked", "=", 0).execute();
    const tasks = await db
      .selectFrom("tasks")
      .select(["state", "outcome", "is_booked"])
      .orderBy("id")
      .execute();
    const entries = await db
      .selectFrom("ledger")
      .select("amount")
      .where("kind", "=", "consume")
      .orderBy("id")
      .execute();
    const open = await db.selectFrom("reservations").select("request_id").execute();
    const charges = entries.map(({ amount }) => -amount);
    return { tasks, charges, open: open.length, wrong: await checkLedger(db) };
  } finally {
    await store.close();
  }
}

function table(value: number): string {
  return JSON.stringify(Object.fromEntries(MODELS.map((model) => [model, value])));
}

describe.each(engines)("batches on %s", (engine) => {
  test("survive kills while they are read and booked, and are paid once", { timeout: 300_000 }, async () => {
    const dataDir = testDirectory();
    const postgres = engine === "postgres" ? await createPostgresDatabase() : undefined;
    if (postgres) onTestFinished(postgres.drop);
    const upstream = await startBatches();
    onTestFinished(() => upstream.close());
    const databaseUrl = postgres?.url;
    const env = { MASTER_KEY, ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }) };
    const store = { dataDir, databaseUrl };
    let server = await startServer(dataDir, env);
    onTestFinished(() => server.kill("SIGKILL"));
    const models = MODELS.join(",");
    const draft = { type: 8, name: "c", key: "k", base_url: upstream.url, models, group: "default" };
    await manage(server.url, "POST", "/api/channel/", draft);
    await manage(server.url, "PUT", "/api/option/", { key: "ModelRatio", value: table(2) });
    await manage(server.url, "PUT", "/api/option/", { key: "BatchesEnabled", value: "true" });
    await manage(server.url, "PUT", "/api/option/", { key: "CompletionRatio", value: table(3) });
    const client = () => new OpenAI({ apiKey: `sk-${rootKey}`, baseURL: `${server.url}/v1`, maxRetries: 0 });
    const text = LINES.map(({ id, model }) => requestLine(id, { model })).join("\n");
    const upload = { file: await toFile(Buffer.from(text), "f.jsonl"), purpose: "batch" } as const;
    const file = await client().files.create(upload);
    const order = batchOrder(file.id);
    const reads = () => upstream.calls.filter(({ path }) => path.endsWith("/content")).length;
    const used = async () =>
      ((await manage(server.url, "GET", "/api/user/self")) as { used_quota: number }).used_quota;
    let caught = 0;
    let expected: number[] = [];
    for (let round = 1; round <= TRIES && caught === 0; round += 1) {
      const { id } = await client().batches.create(order);
      const release = upstream.holdContent();
      const before = reads();
      upstream.end(upstream.batches().at(-1) ?? "", {
        output: LINES.slice(10)
          .map((line) => answerLine(line.id))
          .join("\n"),
        error: LINES.slice(0, 10)
          .map((line) => errorLine(line.id))
          .join("\n"),
        counts: { completed: 990, failed: 10 },
      });
      // Killed while the results are read: nothing of them is booked.
      await expect.poll(reads, PATIENCE).toBeGreaterThan(before);
      await server.kill("SIGKILL");
      release();
      expect(await look(store)).toMatchObject({ charges: expected, open: MODELS.length, wrong: [] });
      // Killed as soon as one of its parts is booked.
      server = await startServer(dataDir, env);
      const usedBefore = expected.reduce((sum, one) => sum + one, 0);
      await expect.poll(used, { ...PATIENCE, interval: 1 }).toBeGreaterThan(usedBefore);
      await server.kill("SIGKILL");
      const killed = await look(store);
      expect(killed.wrong).toEqual([]);
      expect(killed.charges).toEqual([...expected, ...CHARGES].slice(0, killed.charges.length));
      expect(killed.charges.length + killed.open).toBe(expected.length + MODELS.length);
      if (killed.open > 0) caught += 1;
      expected = [...expected, ...CHARGES];
      // The process that starts next books the rest, each part once.
      server = await startServer(dataDir, env);
      const status = async () => (await client().batches.retrieve(id)).status;
      await expect.poll(status, PATIENCE).toBe("completed");
    }
    expect(caught, "it was never caught between two parts").toBe(1);
    await server.kill("SIGTERM");
    const after = await look(store);
    expect(after).toMatchObject({ charges: expected, open: 0, wrong: [] });
    expect(new Set(after.tasks.map((task) => JSON.stringify(task)))).toEqual(
      new Set([JSON.stringify({ state: "completed", outcome: "charge", is_booked: 1 })]),
    );
  });
});
