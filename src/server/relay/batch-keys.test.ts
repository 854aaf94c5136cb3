// Batches at channels with several keys, under limits, of other endpoints than chat, and whose connections break.
import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { addKeys, newKey } from "#server/store/channel-keys.ts";
import {
  answerLine,
  BATCH_MODEL,
  batchOrder,
  createBatchWorld,
  named,
  requestLine,
} from "#test/worlds/batch-world.ts";
import { dropLimits, seedLimit } from "#test/worlds/limits.ts";

const batch = createBatchWorld();
const { world } = batch;

/** Ten tokens of input and five of output: (10 + 5 × 3) × 2 × 0.5. */
const LINE_PRICE = 25;

describe("of several keys", () => {
  test("the one that took the file is used for all that follows, after a restart too", async () => {
    await world.clearChannels();
    const { db, secrets, candidates } = world.ctx;
    const id = await world.addChannel({
      baseUrl: batch.upstream.url,
      models: BATCH_MODEL,
      key: "key-number-0",
    });
    const rows = ["key-number-1", "key-number-2"].map((key) => ({
      ...newKey(1_800_000_000),
      key_hash: secrets.hash(key),
      key_sealed: secrets.seal(key, "channels.key"),
    }));
    await db.transaction().execute((tx) => addKeys(tx, id, rows, 1_800_000_000));
    await db.updateTable("channels").set({ key_mode: "round_robin" }).where("id", "=", id).execute();
    await candidates.reload();
    const one = await batch.submitted([requestLine("r-1")]);
    const other = await batch.submitted([requestLine("r-1")]);
    // Nothing of a process is needed to find it.
    await candidates.reload();
    const keysOf = async (act: () => Promise<unknown>) => {
      batch.upstream.calls.length = 0;
      await act();
      return new Set(batch.upstream.calls.map(({ key }) => key));
    };
    const follow =
      ({ made, upstreamId }: typeof one) =>
      async () => {
        batch.upstream.end(upstreamId, { output: answerLine("r-1"), counts: { completed: 1, failed: 0 } });
        const done = await batch.client().batches.retrieve(made.id);
        await (await batch.client().files.content(done.output_file_id ?? "")).text();
        await batch.client().files.delete(made.input_file_id);
      };
    const [first] = await keysOf(follow(one));
    const second = await keysOf(follow(other));
    expect(second.size).toBe(1);
    expect([...second]).not.toEqual([first]);
  });

  test("a batch whose key is deleted fails clearly, with a refund", async () => {
    const { made } = await batch.submitted([requestLine("r-1")]);
    await world.ctx.db.updateTable("tasks").set({ key_id: 999_999 }).execute();
    const done = await batch.client().batches.retrieve(made.id);
    expect(done.errors?.data?.[0]).toMatchObject({ code: "channel_gone" });
    expect((await world.money()).open).toBe(0);
  });
});

describe("limits", () => {
  test("of a window: 429, no batch upstream, and what was set aside is returned", async () => {
    const file = await batch.upload(named(1_500).map((id) => requestLine(id)));
    const subject = { subject: "token", subject_id: world.token.id } as const;
    const limit = await seedLimit(world.ctx, {
      ...subject,
      kind: "quota",
      time_window: "day",
      amount: 350_000,
    });
    const order = batchOrder(file.id);
    const refused = await batch.send("POST", "/v1/batches", { body: order });
    expect([limit > 0, refused.status]).toEqual([true, 429]);
    expect(batch.upstream.batches()).toEqual([]);
    expect((await world.money()).open).toBe(0);
    await dropLimits(world.ctx);
  });

  test("of calls per minute: a batch that is refused after it passed them counts nowhere", async () => {
    const file = await batch.upload([requestLine("r-1")]);
    const subject = { subject: "token", subject_id: world.token.id } as const;
    await seedLimit(world.ctx, { ...subject, kind: "rpm", amount: 1 });
    batch.upstream.fail("/v1/batches", 400);
    const order = batchOrder(file.id);
    const submit = async () => (await batch.send("POST", "/v1/batches", { body: order })).status;
    expect(await submit()).toBe(400);
    batch.upstream.fail("");
    expect([await submit(), await submit()]).toEqual([200, 429]);
    await dropLimits(world.ctx);
  });
});

test("lines of Responses and of embeddings are paid by their own usage", async () => {
  const lines = {
    "/v1/responses": requestLine("r", { url: "/v1/responses", body: { model: BATCH_MODEL, input: "hello" } }),
    "/v1/embeddings": requestLine("e", {
      url: "/v1/embeddings",
      body: { model: BATCH_MODEL, input: "hello" },
    }),
  };
  const bodies = {
    "/v1/responses": { object: "response", usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 } },
    "/v1/embeddings": { object: "list", usage: { prompt_tokens: 40, total_tokens: 40 } },
  };
  // OpenAI's own type: its row has both addresses.
  await world.clearChannels();
  await world.addChannel({ type: 1, baseUrl: batch.upstream.url, models: BATCH_MODEL });
  for (const endpoint of ["/v1/responses", "/v1/embeddings"] as const) {
    const file = await batch.upload([lines[endpoint]]);
    const order = { input_file_id: file.id, endpoint, completion_window: "24h" } as const;
    const made = await batch.client().batches.create(order);
    const [custom_id] = endpoint === "/v1/responses" ? ["r"] : ["e"];
    const response = { status_code: 200, request_id: "x", body: bodies[endpoint] };
    const output = JSON.stringify({ id: "b", custom_id, response, error: null });
    batch.upstream.end(batch.upstream.batches().at(-1) ?? "", {
      output,
      counts: { completed: 1, failed: 0 },
    });
    expect(await batch.client().batches.retrieve(made.id)).toMatchObject({ status: "completed", endpoint });
  }
  expect(await batch.charges()).toEqual([LINE_PRICE, 40]);
});

describe("connections that break", () => {
  test("results that break off decide nothing, and are read again from their begin", async () => {
    const { made, upstreamId } = await batch.submitted(named(40).map((id) => requestLine(id)));
    const output = named(40).map((id) => answerLine(id));
    batch.upstream.end(upstreamId, { output: output.join("\n"), counts: { completed: 40, failed: 0 } });
    batch.upstream.breakContent(4);
    for (let look = 0; look < 4; look += 1)
      expect(await batch.client().batches.retrieve(made.id)).toMatchObject({ status: "finalizing" });
    expect(await batch.charges()).toEqual([]);
    expect(await batch.client().batches.retrieve(made.id)).toMatchObject({ status: "completed" });
    expect(await batch.charges()).toEqual([40 * LINE_PRICE]);
  });

  test("a client that leaves while it uploads leaves nothing behind", async () => {
    const leaving = new AbortController();
    const { promise: begun, resolve } = Promise.withResolvers<void>();
    async function* body() {
      yield Buffer.from('--b\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\n');
      for (const id of named(20_000)) yield Buffer.from(`${requestLine(id)}\n`);
      resolve();
      await new Promise((stay) => leaving.signal.addEventListener("abort", stay));
    }
    const upload = fetch(`${world.url}/v1/files`, {
      method: "POST",
      headers: {
        authorization: `Bearer sk-${world.token.key}`,
        "content-type": "multipart/form-data; boundary=b",
      },
      body: Readable.toWeb(Readable.from(body())),
      duplex: "half",
      signal: leaving.signal,
    } as RequestInit);
    await begun;
    await expect.poll(() => batch.upstream.calls.length).toBe(1);
    leaving.abort();
    await expect(upload).rejects.toThrow();
    // The upstream hears that it breaks off, and has nothing.
    await expect.poll(() => batch.upstream.broken()).toBe(1);
    expect(batch.upstream.taken).toEqual([]);
    expect(await world.ctx.db.selectFrom("files").selectAll().execute()).toEqual([]);
  });
});
