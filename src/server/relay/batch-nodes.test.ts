// Two nodes of one PostgreSQL look after the same batches, and their clients look as well: each part is booked once (requirements C58).
import OpenAI, { toFile } from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkLedger } from "#server/money/ledger-check.ts";
import { pollTasks } from "#server/tasks/poll.ts";
import { type BatchEmulator, startBatches } from "#test/emulators/batch-emulator.ts";
import { answerLine, BATCH_MODEL, batchOrder, named, requestLine } from "#test/worlds/batch-world.ts";
import { PATIENCE } from "#test/worlds/nodes.ts";
import { severalNodes } from "#test/worlds/several-nodes.ts";

const BATCHES = 6;
const LINES = named(1_200);
/** (10 + 5 × 3) × 2 × 0.5 for each line, in two parts. */
const CHARGES = [1_000 * 25, 200 * 25];

let upstream: BatchEmulator;
const nodes = severalNodes(2);
const { apps, urls, node } = nodes;

beforeAll(async () => {
  upstream = await startBatches();
  await nodes.addChannel(BATCH_MODEL, { base_url: upstream.url });
  await nodes.set("ModelRatio", JSON.stringify({ [BATCH_MODEL]: 2 }));
  await nodes.set("CompletionRatio", JSON.stringify({ [BATCH_MODEL]: 3 }));
  await nodes.set("BatchesEnabled", "true");
}, 60_000);
afterAll(() => upstream.close());

test("submitted on one, ended on either, seen on both, booked once each", { timeout: 60_000 }, async () => {
  const { ctx } = node(0);
  const { key } = await nodes.newcomer("maker");
  const clients = urls.map((url) => new OpenAI({ apiKey: `sk-${key}`, baseURL: `${url}/v1`, maxRetries: 0 }));
  const client = (n: number) => clients[n % 2] ?? expect.fail();
  const text = Buffer.from(LINES.map((id) => requestLine(id)).join("\n"));
  const { id: input_file_id } = await client(0).files.create({
    file: await toFile(text, "f"),
    purpose: "batch",
  });
  const order = batchOrder(input_file_id);
  const ids: string[] = [];
  for (let n = 0; n < BATCHES; n += 1) ids.push((await client(n).batches.create(order)).id);
  const open = await ctx.db.selectFrom("reservations").select("node").execute();
  expect(open).toEqual(Array(2 * BATCHES).fill({ node: "kept" }));
  const output = LINES.map((id) => answerLine(id)).join("\n");
  for (const id of upstream.batches())
    upstream.end(id, { output, counts: { completed: LINES.length, failed: 0 } });
  await ctx.db.updateTable("tasks").set({ next_at: 0 }).execute();
  const look = (id: string, n: number) => client(n).batches.retrieve(id);
  await Promise.all([
    ...[...apps, ...apps].map((app) => pollTasks(app.ctx)),
    ...ids.map(look),
    ...ids.map(look),
  ]);
  // What one of them had in its turn while the other looked.
  await expect
    .poll(async () => {
      for (const app of apps) await pollTasks(app.ctx);
      return Promise.all(ids.map(async (id, n) => (await look(id, n + 1)).status));
    }, PATIENCE)
    .toEqual(Array(BATCHES).fill("completed"));
  const entries = await ctx.db.selectFrom("ledger").select("amount").where("kind", "=", "consume").execute();
  expect(entries.map(({ amount }) => -amount).toSorted((one, other) => other - one)).toEqual(
    CHARGES.flatMap((charge) => Array<number>(BATCHES).fill(charge)),
  );
  expect(await ctx.db.selectFrom("reservations").selectAll().execute()).toEqual([]);
  // Each has results of its own.
  const files = await ctx.db
    .selectFrom("files")
    .select("file_id")
    .where("purpose", "=", "batch_output")
    .execute();
  expect(files).toHaveLength(BATCHES);
  expect(await checkLedger(ctx.db)).toEqual([]);
});
