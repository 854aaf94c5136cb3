// kill -9 around tasks of upstreams: what was submitted is finished by the next process and settled once; what was being submitted is never
// submitted again, and refunded at its deadline (requirements C52, C53, C62).
import { describe, expect, onTestFinished, test } from "vitest";
import { checkLedger } from "#server/money/ledger-check.ts";
import { openStore, type StoreOptions } from "#server/store/db.ts";
import { type Asked, createFakeUpstream, json, silence } from "#test/emulators/fake-upstream.ts";
import { startResponses } from "#test/emulators/responses-emulator.ts";
import { MASTER_KEY } from "#test/worlds/cluster.ts";
import { testDirectory } from "#test/worlds/directory.ts";
import { createPostgresDatabase } from "#test/worlds/postgres.ts";
import { manage, rootKey, startServer } from "#test/worlds/process.ts";
import { engines } from "#test/worlds/stores.ts";
import { ORDER, VIDEO_MODEL, VIDEO_PRICE } from "#test/worlds/video-world.ts";

const PATIENCE = { timeout: 60_000, interval: 200 };

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

/** A place for a server's data on this database, and what starts servers on it. */
async function place(engine: (typeof engines)[number]) {
  const dataDir = testDirectory();
  const postgres = engine === "postgres" ? await createPostgresDatabase() : undefined;
  if (postgres) onTestFinished(postgres.drop);
  const databaseUrl = postgres?.url;
  const env = { MASTER_KEY, ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }) };
  const start = async () => {
    const server = await startServer(dataDir, env);
    onTestFinished(() => server.kill("SIGKILL"));
    return server;
  };
  return { options: { dataDir, databaseUrl }, start };
}

const headers = { authorization: `Bearer sk-${rootKey}`, "content-type": "application/json" };

describe.each(engines)("tasks on %s", (engine) => {
  test("survive a kill, are asked for with their own key, and paid once or not at all", {
    timeout: 240_000,
  }, async () => {
    const { options, start } = await place(engine);
    const upstream = await createFakeUpstream();
    onTestFinished(() => upstream.close());
    let server = await start();
    const draft = {
      type: 8,
      name: "c",
      key: "k1",
      base_url: upstream.url,
      models: VIDEO_MODEL,
      group: "default",
    };
    await manage(server.url, "POST", "/api/channel/", { ...draft, key_mode: "round_robin" });
    await manage(server.url, "POST", "/api/channel/1/keys", { text: "k2\nk3" });
    await manage(server.url, "PUT", "/api/option/", { key: "ModelRatio", value: `{"${VIDEO_MODEL}":50}` });
    const submit = () =>
      fetch(`${server.url}/v1/videos`, { method: "POST", headers, body: JSON.stringify(ORDER) });
    const posts = () => upstream.journal.filter(({ method }) => method === "POST");
    const ids: string[] = [];
    for (const name of ["up-1", "up-2", "up-3"]) {
      upstream.script(json({ id: name, status: "queued" }));
      ids.push(((await (await submit()).json()) as { id: string }).id);
    }
    // The fourth is on its way when the process dies.
    upstream.script(silence);
    const pending = submit().catch(() => undefined);
    await expect.poll(() => posts().length, PATIENCE).toBe(4);
    await server.kill("SIGKILL");
    await pending;
    const killed = await look(options, { deadline_at: 1, next_at: 1 });
    expect(killed).toMatchObject({ charges: [], open: 4, wrong: [] });
    expect(killed.tasks.map(({ state }) => state)).toEqual(["queued", "queued", "queued", "submitting"]);
    upstream.script((res, asked) => json({ id: asked.path.slice(-4), status: "completed" })(res, asked));
    server = await start();
    const status = async (id: string | undefined) => {
      const answer = await fetch(`${server.url}/v1/videos/${id}`, { headers });
      return ((await answer.json()) as { status: string }).status;
    };
    for (const id of ids) await expect.poll(() => status(id), PATIENCE).toBe("completed");
    const failed = async () => {
      const list = await fetch(`${server.url}/v1/videos?limit=1`, { headers });
      return ((await list.json()) as { data: { status: string }[] }).data[0]?.status;
    };
    await expect.poll(failed, PATIENCE).toBe("failed");
    await server.kill("SIGTERM");
    const paid = { state: "completed", code: "", outcome: "charge", is_booked: 1 };
    expect(await look(options)).toEqual({
      tasks: [
        ...Array(3).fill(paid),
        { state: "failed", code: "submit_unknown", outcome: "refund", is_booked: 1 },
      ],
      charges: Array(3).fill(-VIDEO_PRICE),
      open: 0,
      wrong: [],
    });
    expect(posts()).toHaveLength(4);
    // Each was asked for with the key that had made it, also by another process (requirements C31).
    const keyOf = ({ headers: { authorization } }: Asked) => authorization;
    const makers = posts().slice(0, 3).map(keyOf);
    expect(new Set(makers).size).toBe(3);
    for (const [at, maker] of makers.entries()) {
      const looks = upstream.journal.filter(
        ({ method, path }) => method === "GET" && path.endsWith(`up-${at + 1}`),
      );
      expect(new Set(looks.map(keyOf))).toEqual(new Set([maker]));
    }
  });

  test("a response in the background is finished after a kill, by looks or by the job, and paid once", {
    timeout: 240_000,
  }, async () => {
    const { options, start } = await place(engine);
    const maker = await startResponses("bg");
    onTestFinished(() => maker.close());
    let server = await start();
    const model = "gpt-4o";
    const draft = { type: 1, name: "c", key: "k", base_url: maker.url, models: model, group: "default" };
    await manage(server.url, "POST", "/api/channel/", draft);
    await manage(server.url, "PUT", "/api/option/", { key: "ResponsesStateEnabled", value: "true" });
    const begin = async () => {
      const body = JSON.stringify({ model, input: "long", background: true });
      const answer = await fetch(`${server.url}/v1/responses`, { method: "POST", headers, body });
      return (await answer.json()) as { id: string; status: string };
    };
    const begun = [await begin(), await begin(), await begin()];
    expect(begun.map(({ status }) => status)).toEqual(Array(3).fill("queued"));
    const [looked = "", unseen = "", failed = ""] = begun.map(({ id }) => id);
    await server.kill("SIGKILL");
    const killed = await look(options);
    expect(killed).toMatchObject({ charges: [], open: 3, wrong: [] });
    maker.finish(looked);
    maker.finish(unseen);
    maker.finish(failed, "failed");
    server = await start();
    const status = async (id: string) => {
      const answer = await fetch(`${server.url}/v1/responses/${id}`, { headers });
      return ((await answer.json()) as { status: string }).status;
    };
    expect(await Promise.all([looked, looked, looked].map(status))).toEqual(Array(3).fill("completed"));
    expect(await status(failed)).toBe("failed");
    // No client looks at the other one: the job does.
    const paid = async () => ((await manage(server.url, "GET", "/api/log/?type=2")) as object[]).length;
    await expect.poll(paid, PATIENCE).toBe(2);
    expect(await status(unseen)).toBe("completed");
    await server.kill("SIGTERM");
    const ended = await look(options);
    expect(ended).toMatchObject({ open: 0, wrong: [] });
    expect(ended.tasks.map(({ is_booked }) => is_booked)).toEqual([1, 1, 1]);
    // Ten tokens in and five out, at ratio 1.25 and completion ratio 4.
    expect(ended.charges).toEqual([-38, -38]);
    expect(maker.asked()).toBe(3);
  });
});
