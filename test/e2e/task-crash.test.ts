// kill -9 around tasks of upstreams: what was submitted is finished by the next process and settled once; what was being submitted is never
// submitted again, and refunded at its deadline (requirements C52, C53).
import { describe, expect, onTestFinished, test } from "vitest";
import { checkLedger } from "#server/money/ledger-check.ts";
import { openStore, type StoreOptions } from "#server/store/db.ts";
import { createFakeUpstream, json, silence } from "#test/emulators/fake-upstream.ts";
import { MASTER_KEY } from "#test/worlds/cluster.ts";
import { testDirectory } from "#test/worlds/directory.ts";
import { createPostgresDatabase } from "#test/worlds/postgres.ts";
import { manage, rootKey, startServer } from "#test/worlds/process.ts";
import { engines } from "#test/worlds/stores.ts";
import { ORDER, VIDEO_MODEL, VIDEO_PRICE } from "#test/worlds/video-world.ts";

const PATIENCE = { timeout: 30_000, interval: 200 };

/** What the tables say while no process runs. */
async function look(options: StoreOptions, change?: { deadline_at: number; next_at: number }) {
  const store = await openStore(options);
  try {
    const { db } = store;
    if (change) await db.updateTable("tasks").set(change).where("state", "=", "submitting").execute();
    const tasks = await db
      .selectFrom("tasks")
      .select(["state", "code", "outcome", "is_booked"])
      .orderBy("id")
      .execute();
    const charges = await db.selectFrom("ledger").select("amount").where("kind", "=", "consume").execute();
    const open = await db.selectFrom("reservations").select("request_id").execute();
    return {
      tasks,
      charges: charges.map(({ amount }) => amount),
      open: open.length,
      wrong: await checkLedger(db),
    };
  } finally {
    await store.close();
  }
}

describe.each(engines)("tasks on %s", (engine) => {
  test("survive a kill, and are paid once or not at all", { timeout: 120_000 }, async () => {
    const dataDir = testDirectory();
    const postgres = engine === "postgres" ? await createPostgresDatabase() : undefined;
    if (postgres) onTestFinished(postgres.drop);
    const upstream = await createFakeUpstream();
    onTestFinished(() => upstream.close());
    const databaseUrl = postgres?.url;
    const env = { MASTER_KEY, ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }) };
    let server = await startServer(dataDir, env);
    onTestFinished(() => server.kill("SIGKILL"));
    const draft = {
      type: 8,
      name: "c",
      key: "k",
      base_url: upstream.url,
      models: VIDEO_MODEL,
      group: "default",
    };
    await manage(server.url, "POST", "/api/channel/", draft);
    await manage(server.url, "PUT", "/api/option/", { key: "ModelRatio", value: `{"${VIDEO_MODEL}":50}` });
    const headers = { authorization: `Bearer sk-${rootKey}`, "content-type": "application/json" };
    const submit = () =>
      fetch(`${server.url}/v1/videos`, { method: "POST", headers, body: JSON.stringify(ORDER) });
    upstream.script(json({ id: "up-1", status: "queued" }));
    const { id } = (await (await submit()).json()) as { id: string };
    // The second is on its way when the process dies.
    upstream.script(silence);
    const pending = submit().catch(() => undefined);
    const posts = () => upstream.journal.filter(({ method }) => method === "POST").length;
    await expect.poll(posts, PATIENCE).toBe(2);
    await server.kill("SIGKILL");
    await pending;
    const killed = await look({ dataDir, databaseUrl }, { deadline_at: 1, next_at: 1 });
    expect(killed).toMatchObject({ charges: [], open: 2, wrong: [] });
    expect(killed.tasks.map(({ state }) => state)).toEqual(["queued", "submitting"]);
    upstream.script(json({ id: "up-1", status: "completed" }));
    server = await startServer(dataDir, env);
    const status = async () => {
      const answer = await fetch(`${server.url}/v1/videos/${id}`, { headers });
      return ((await answer.json()) as { status: string }).status;
    };
    await expect.poll(status, PATIENCE).toBe("completed");
    const failed = async () => {
      const list = await fetch(`${server.url}/v1/videos?limit=1`, { headers });
      return ((await list.json()) as { data: { status: string }[] }).data[0]?.status;
    };
    await expect.poll(failed, PATIENCE).toBe("failed");
    await server.kill("SIGTERM");
    expect(await look({ dataDir, databaseUrl })).toEqual({
      tasks: [
        { state: "completed", code: "", outcome: "charge", is_booked: 1 },
        { state: "failed", code: "submit_unknown", outcome: "refund", is_booked: 1 },
      ],
      charges: [-VIDEO_PRICE],
      open: 0,
      wrong: [],
    });
    expect(posts()).toBe(2);
  });
});
