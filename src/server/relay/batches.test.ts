// Batches by OpenAI's own SDK: set aside when they are submitted, booked line by line when they have ended, once.
import { beforeEach, describe, expect, it, test } from "vitest";
import { receipt } from "#server/api/receipt.ts";
import { checkLedger } from "#server/money/ledger-check.ts";
import { linesOf } from "#server/tasks/batch/facts.ts";
import { seedPriceVersion } from "#test/seeds/price-recipes.ts";
import {
  answerLine,
  BATCH_MODEL,
  batchOrder,
  createBatchWorld,
  errorLine,
  named,
  requestLine,
} from "#test/worlds/batch-world.ts";

const batch = createBatchWorld();
const { world } = batch;

/** Ten tokens of input and five of output: (10 + 5 × 3) × 2 × 0.5. */
const LINE_PRICE = 25;

/** What is set aside for a line of the file, by what was counted of it. */
async function estimates(): Promise<number[]> {
  const parts = await world.ctx.db.selectFrom("file_parts").select("facts").execute();
  return parts.flatMap((part) => linesOf(part).map(([, input, output]) => input + 3 * output));
}

async function reserved(): Promise<number[]> {
  const rows = await world.ctx.db.selectFrom("reservations").select("amount").orderBy("request_id").execute();
  return rows.map(({ amount }) => amount);
}

it("is set aside, polled and booked line by line, as OpenAI's own SDK sees it", async () => {
  const client = batch.client();
  const { file, made, upstreamId } = await batch.submitted(named(3).map((id) => requestLine(id)));
  expect(file).toMatchObject({ object: "file", purpose: "batch", filename: "requests.jsonl" });
  expect(file.id).toMatch(/^file-[0-9a-f]{24}$/);
  expect(made).toMatchObject({
    object: "batch",
    status: "validating",
    input_file_id: file.id,
    endpoint: "/v1/chat/completions",
    request_counts: { total: 3, completed: 0, failed: 0 },
    output_file_id: null,
  });
  const each = await estimates();
  expect(await reserved()).toEqual([each.reduce((sum, one) => sum + one, 0)]);
  batch.upstream.set(upstreamId, {
    status: "in_progress",
    request_counts: { total: 3, completed: 1, failed: 0 },
  });
  const running = await client.batches.retrieve(made.id);
  expect(running).toMatchObject({ status: "in_progress", request_counts: { completed: 1 } });
  const output = [answerLine("r-2"), answerLine("r-1")].join("\n");
  batch.upstream.end(upstreamId, {
    output,
    error: `${errorLine("r-3")}\n`,
    counts: { completed: 2, failed: 1 },
  });
  const before = (await world.money()).quota;
  const done = await client.batches.retrieve(made.id);
  expect(done).toMatchObject({ status: "completed", request_counts: { total: 3, completed: 2, failed: 1 } });
  const results = await client.files.content(done.output_file_id ?? "");
  expect(await results.text()).toBe(output);
  // A file for another purpose is none of requests (requirements C57).
  const order = batchOrder(done.output_file_id ?? "");
  expect((await batch.send("POST", "/v1/batches", { body: order })).status).toBe(404);
  const money = await world.money();
  expect(money).toMatchObject({ open: 0, logs: 1 });
  expect(money.quota - before).toBe((await estimates()).reduce((sum, one) => sum + one, 0) - 2 * LINE_PRICE);
  expect(money.log).toMatchObject({
    quota: 2 * LINE_PRICE,
    prompt_tokens: 20,
    completion_tokens: 10,
    model_name: BATCH_MODEL,
    channel_id: batch.channelId,
    content:
      "模型倍率 2，补全倍率 3，分组倍率 1，批处理倍率 0.5；(20 + 10 × 3) × 2 × 1 × 0.5 = 50，共 2 行，逐行向上取整合计 50",
  });
  expect(await checkLedger(world.ctx.db)).toEqual([]);
});

test("1,000 lines, 10 bad and 5 without usage, read twice, come to the exact sum once", async () => {
  await world.setOption("ModelRatio", JSON.stringify({ [BATCH_MODEL]: 0.3 }));
  const ids = named(1_000);
  const { made, upstreamId } = await batch.submitted(ids.map((id) => requestLine(id)));
  const bad = ids.slice(0, 10);
  const untold = ids.slice(10, 15);
  const told = ids.slice(15).map((id, at) => ({ id, prompt_tokens: 10 + at, completion_tokens: at % 7 }));
  const answered = [
    ...untold.map((id) => answerLine(id, null)),
    ...told.map(({ id, ...usage }) => answerLine(id, usage)),
  ];
  // In any order, and some of them twice.
  const output = [
    ...answered.toReversed(),
    ...answered.slice(100, 200),
    "not a line",
    answerLine("nobody's"),
  ];
  // What was answered is paid, whatever the error file says of it.
  const error = [...bad, told[3]?.id ?? ""].map((id) => errorLine(id));
  batch.upstream.end(upstreamId, {
    output: output.join("\n"),
    error: error.join("\r\n"),
    counts: { completed: 990, failed: 10 },
  });
  const each = await estimates();
  // 0.3 × 0.5 = 0.15 for a token, each line rounded up.
  const exact =
    told.reduce(
      (sum, one) => sum + Math.ceil((15 * (one.prompt_tokens + 3 * one.completion_tokens)) / 100),
      0,
    ) + each.slice(10, 15).reduce((sum, one) => sum + Math.ceil((15 * one) / 100), 0);
  await Promise.all([batch.sweep(), batch.client().batches.retrieve(made.id), batch.sweep()]);
  await expect.poll(async () => (await batch.rowOf(made.id)).is_booked).toBe(1);
  await batch.sweep();
  await batch.client().batches.retrieve(made.id);
  expect(await batch.charges()).toEqual([exact]);
  const { log, open } = await world.money();
  expect(open).toBe(0);
  expect(log).toMatchObject({ quota: exact, estimated: 1 });
  expect(log?.content).toContain(`共 990 行，逐行向上取整合计 ${exact}（其中 5 行上游未返回用量`);
  expect(await checkLedger(world.ctx.db)).toEqual([]);
});

describe("a file of two models and more than a thousand lines", () => {
  test("is set aside and booked in parts of a thousand lines of one model", async () => {
    const small = named(1_200, "s");
    const big = named(3, "b");
    const lines = [
      ...small.slice(0, 600).map((id) => requestLine(id)),
      ...big.map((id) => requestLine(id, { model: "other" })),
      ...small.slice(600).map((id) => requestLine(id)),
    ];
    const { made, upstreamId } = await batch.submitted(lines);
    expect(await reserved()).toHaveLength(3);
    const output = [...small, ...big].map((id) => answerLine(id)).join("\n");
    batch.upstream.end(upstreamId, { output, counts: { completed: 1_203, failed: 0 } });
    await batch.sweep();
    expect(await batch.charges()).toEqual([1_000 * LINE_PRICE, 3 * 2 * LINE_PRICE, 200 * LINE_PRICE]);
    expect(await batch.rowOf(made.id)).toMatchObject({ charge: 1_206 * LINE_PRICE, is_booked: 1 });
  });

  test("each entry of the ledger has a receipt that opens, and they add up", async () => {
    const { made, upstreamId } = await batch.submitted(named(1_100).map((id) => requestLine(id)));
    const output = named(1_100)
      .map((id) => answerLine(id))
      .join("\n");
    batch.upstream.end(upstreamId, { output, counts: { completed: 1_100, failed: 0 } });
    await batch.sweep();
    const { db } = world.ctx;
    const parts = await db.selectFrom("batch_parts").select("request_id").orderBy("part").execute();
    const receipts = await Promise.all(
      parts.map(({ request_id }) => {
        const call = { actor: { id: world.userId }, params: { request_id }, language: "zh" };
        // The handler looks at nothing else of a call.
        return receipt.get(world.ctx, call as Parameters<typeof receipt.get>[1]);
      }),
    );
    expect(receipts.map(({ quota }) => quota)).toEqual([1_000 * LINE_PRICE, 100 * LINE_PRICE]);
    expect((await batch.rowOf(made.id)).charge).toBe(receipts.reduce((sum, { quota }) => sum + quota, 0));
    expect(receipts[0]).toMatchObject({
      reason: "complete",
      prompt_tokens: 10_000,
      completion_tokens: 5_000,
      ratios: [
        { name: "模型倍率", value: "2" },
        { name: "补全倍率", value: "3" },
        { name: "分组倍率", value: "1" },
        { name: "批处理倍率", value: "0.5" },
      ],
      formula: "(10000 + 5000 × 3) × 2 × 1 × 0.5 = 25000，共 1000 行，逐行向上取整合计 25000",
    });
  });
});

describe("beyond what its owner has", () => {
  beforeEach(async () => {
    await world.changeToken({ unlimited_quota: 0, remain_quota: 350_000 });
  });

  test("no batch goes upstream, and parts that were set aside already are released", async () => {
    const file = await batch.upload(named(1_500).map((id) => requestLine(id)));
    const before = await world.money();
    const order = batchOrder(file.id);
    const refused = await batch.send("POST", "/v1/batches", { body: order });
    expect(refused.status).toBe(402);
    expect(batch.upstream.batches()).toEqual([]);
    expect(await world.money()).toMatchObject({ quota: before.quota, open: 0 });
    expect(await world.ctx.db.selectFrom("tasks").selectAll().execute()).toEqual([]);
    expect((await batch.send("GET", "/v1/batches")).status).toBe(200);
    // What it has is enough for the first part alone.
    const small = await batch.submitted(named(1_000).map((id) => requestLine(id)));
    expect(small.made.status).toBe("validating");
  });
});

describe("ends", () => {
  test("failed, expired and cancelled lines are free; what was answered before is paid", async () => {
    for (const status of ["expired", "cancelled"]) {
      const { made, upstreamId } = await batch.submitted(named(3).map((id) => requestLine(id)));
      batch.upstream.end(upstreamId, {
        status,
        output: answerLine("r-1"),
        error: [errorLine("r-2", "batch_expired"), errorLine("r-3", "batch_expired")].join("\n"),
        counts: { completed: 1, failed: 2 },
      });
      const done = await batch.client().batches.retrieve(made.id);
      expect(done).toMatchObject({ status, request_counts: { completed: 1, failed: 2 } });
    }
    expect(await batch.charges()).toEqual([LINE_PRICE, LINE_PRICE]);
    expect((await world.money()).open).toBe(0);
  });

  test("a batch that its upstream refuses costs nothing, and its owner learns why", async () => {
    const { made, upstreamId } = await batch.submitted([requestLine("r-1")]);
    batch.upstream.set(upstreamId, {
      status: "failed",
      errors: { object: "list", data: [{ code: "token_limit_exceeded", message: "too many", line: null }] },
    });
    const done = await batch.client().batches.retrieve(made.id);
    expect(done).toMatchObject({ status: "failed", output_file_id: null });
    expect(done.errors?.data?.[0]).toMatchObject({ code: "token_limit_exceeded", message: "too many" });
    expect(await batch.charges()).toEqual([]);
    expect((await world.money()).open).toBe(0);
  });

  test("results that lack lines at first are read again, and then booked as they are", async () => {
    const { made, upstreamId } = await batch.submitted(named(2).map((id) => requestLine(id)));
    batch.upstream.end(upstreamId, { output: answerLine("r-1"), counts: { completed: 2, failed: 0 } });
    // However often a client looks, the store is given its time.
    for (let look = 0; look < 5; look += 1) {
      expect(await batch.client().batches.retrieve(made.id)).toMatchObject({ status: "finalizing" });
      await batch.postpone();
    }
    await batch.sweep();
    expect(await batch.rowOf(made.id)).toMatchObject({ outcome: "", misses: 2 });
    await batch.sweep();
    expect(await batch.client().batches.retrieve(made.id)).toMatchObject({ status: "completed" });
    expect(await batch.charges()).toEqual([LINE_PRICE]);
  });

  test("a status that the gateway does not know, and an error page, end nothing", async () => {
    const { made, upstreamId } = await batch.submitted([requestLine("r-1")]);
    batch.upstream.set(upstreamId, { status: "sleeping" });
    expect(await batch.client().batches.retrieve(made.id)).toMatchObject({ status: "validating" });
    batch.upstream.fail("/v1/batches", 503);
    expect(await batch.client().batches.retrieve(made.id)).toMatchObject({ status: "validating" });
    expect(await batch.rowOf(made.id)).toMatchObject({ outcome: "", is_booked: 0 });
    await world.ctx.db.updateTable("tasks").set({ deadline_at: 1 }).execute();
    await batch.sweep();
  });

  test("404 in turn with another failure is not three times in a row", async () => {
    const { made } = await batch.submitted([requestLine("r-1")]);
    for (const status of [404, 404, 503, 404, 503, 404, 404]) {
      batch.upstream.fail("/v1/batches", status);
      await batch.sweep();
      await batch.postpone();
      expect(await batch.client().batches.retrieve(made.id)).toMatchObject({ status: "validating" });
    }
    expect(await batch.rowOf(made.id)).toMatchObject({ outcome: "", misses: 2 });
    await batch.sweep();
    expect(await batch.client().batches.retrieve(made.id)).toMatchObject({ status: "failed" });
    expect((await world.money()).open).toBe(0);
  });

  test("a client that looks again and again counts one 404, and the upstream is asked in its turn", async () => {
    const { made } = await batch.submitted([requestLine("r-1")]);
    batch.upstream.fail("/v1/batches", 404);
    for (let look = 0; look < 6; look += 1) {
      expect(await batch.client().batches.retrieve(made.id)).toMatchObject({ status: "validating" });
      await batch.postpone();
    }
    expect(await batch.rowOf(made.id)).toMatchObject({ outcome: "", misses: 1 });
    await batch.sweep();
    await batch.sweep();
    expect(await batch.client().batches.retrieve(made.id)).toMatchObject({ status: "failed" });
    expect((await world.money()).open).toBe(0);
  });

  test("cancelling asks the upstream, and it goes on until that has stopped", async () => {
    const { made, upstreamId } = await batch.submitted(named(2).map((id) => requestLine(id)));
    const cancelling = await batch.client().batches.cancel(made.id);
    expect(cancelling.status).toBe("cancelling");
    batch.upstream.set(upstreamId, { status: "cancelled" });
    expect(await batch.client().batches.retrieve(made.id)).toMatchObject({ status: "cancelled" });
    expect(await batch.charges()).toEqual([]);
    await expect(batch.client().batches.cancel(made.id)).rejects.toMatchObject({ status: 409 });
  });
});

describe("its key", () => {
  test("polls with the key that took the file, and fails clearly when that is gone, with a refund", async () => {
    const { made } = await batch.submitted([requestLine("r-1")]);
    await world.clearChannels();
    const done = await batch.client().batches.retrieve(made.id);
    expect(done).toMatchObject({ status: "failed" });
    expect(done.errors?.data?.[0]).toMatchObject({ code: "channel_gone" });
    expect(await batch.charges()).toEqual([]);
    expect((await world.money()).open).toBe(0);
    const again = batchOrder(made.input_file_id);
    const refused = await batch.send("POST", "/v1/batches", { body: again });
    expect([refused.status, await refused.text()]).toEqual([
      410,
      expect.stringContaining("file_channel_gone"),
    ]);
  });
});

test("the price is that of the submission, with the option's ratio", async () => {
  await world.setOption("BatchRatio", "0.25");
  const version = await seedPriceVersion(world.ctx);
  const { made, upstreamId } = await batch.submitted([requestLine("r-1")]);
  await seedPriceVersion(world.ctx);
  await world.setOption("BatchRatio", "1");
  await world.setOption("ModelRatio", JSON.stringify({ [BATCH_MODEL]: 100 }));
  batch.upstream.end(upstreamId, { output: answerLine("r-1"), counts: { completed: 1, failed: 0 } });
  await batch.client().batches.retrieve(made.id);
  await world.setOption("BatchRatio", "0.5");
  // (10 + 15) × 2 × 0.25, rounded up.
  expect(await batch.charges()).toEqual([13]);
  expect((await world.money()).log).toMatchObject({ price_version: version });
});

test("is never submitted again when it may have been taken", async () => {
  const file = await batch.upload([requestLine("r-1")]);
  batch.upstream.fail("/v1/batches", 500);
  const order = batchOrder(file.id);
  const refused = await batch.send("POST", "/v1/batches", { body: order });
  expect(refused.status).toBe(500);
  expect(batch.upstream.calls.filter(({ path }) => path === "/v1/batches")).toHaveLength(1);
  expect((await world.money()).open).toBe(0);
  const [row] = await world.ctx.db.selectFrom("tasks").select(["state", "code", "is_booked"]).execute();
  expect(row).toEqual({ state: "failed", code: "submit_unknown", is_booked: 1 });
});

test("are not served while they are switched off, and what is under way is booked all the same", async () => {
  const client = batch.client();
  const { made, upstreamId } = await batch.submitted([requestLine("r-1")]);
  await world.setOption("BatchesEnabled", "false");
  await expect(client.files.list()).rejects.toMatchObject({ status: 501, code: "api_not_implemented" });
  await expect(client.batches.retrieve(made.id)).rejects.toMatchObject({ status: 501 });
  batch.upstream.end(upstreamId, { output: answerLine("r-1"), counts: { completed: 1, failed: 0 } });
  await batch.sweep();
  await world.setOption("BatchesEnabled", "true");
  expect(await client.batches.retrieve(made.id)).toMatchObject({ status: "completed" });
  expect((await world.money()).log?.quota).toBe(LINE_PRICE);
});
