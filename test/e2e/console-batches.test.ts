// Batches in the console: one in each state with its counts and cost, cancelling, and the receipt of a part (requirements C58).
import OpenAI, { toFile } from "openai";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type BatchEmulator, startBatches } from "#test/emulators/batch-emulator.ts";
import {
  answerLine,
  BATCH_MODEL,
  batchOrder,
  errorLine,
  named,
  requestLine,
} from "#test/worlds/batch-world.ts";
import { screenshots } from "#test/worlds/browser.ts";
import { createConsoleWorld } from "#test/worlds/console-world.ts";
import { manage, rootKey } from "#test/worlds/process.ts";

const LINES = named(5);
const PATIENCE = { timeout: 60_000 };
const world = createConsoleWorld();
let upstream: BatchEmulator;
let client: OpenAI;
const ids: string[] = [];

beforeAll(async () => {
  upstream = await startBatches();
  const { url } = world.server;
  const draft = {
    type: 1,
    name: "批量一号",
    key: "k",
    base_url: upstream.url,
    models: BATCH_MODEL,
    group: "default",
  };
  await manage(url, "POST", "/api/channel/", draft);
  await world.setOption("BatchesEnabled", "true");
  await world.setOption("ModelRatio", JSON.stringify({ [BATCH_MODEL]: 2_000 }));
  client = new OpenAI({ apiKey: `sk-${rootKey}`, baseURL: `${url}/v1`, maxRetries: 0 });
  const text = LINES.map((id) => requestLine(id)).join("\n");
  const file = await client.files.create({
    file: await toFile(Buffer.from(text), "f.jsonl"),
    purpose: "batch",
  });
  const order = batchOrder(file.id);
  for (let n = 0; n < 7; n += 1) ids.push((await client.batches.create(order)).id);
  const [, running = "", done = "", failed = "", expired = "", cancelling = "", cancelled = ""] =
    upstream.batches();
  const answered = (count: number) =>
    LINES.slice(0, count)
      .map((id) => answerLine(id))
      .join("\n");
  const counts = { total: 5, completed: 2, failed: 0 };
  upstream.set(running, { status: "in_progress", request_counts: counts });
  upstream.end(done, { output: answered(4), error: errorLine("r-5"), counts: { completed: 4, failed: 1 } });
  const data = [{ code: "token_limit_exceeded", message: "Enqueued token limit reached", line: null }];
  upstream.set(failed, { status: "failed", errors: { object: "list", data } });
  const late = LINES.slice(2)
    .map((id) => errorLine(id, "batch_expired"))
    .join("\n");
  upstream.end(expired, {
    status: "expired",
    output: answered(2),
    error: late,
    counts: { completed: 2, failed: 3 },
  });
  upstream.set(cancelling, { status: "in_progress", request_counts: counts });
  upstream.set(cancelled, { status: "cancelled" });
  for (const id of ids) await client.batches.retrieve(id);
  await client.batches.cancel(ids[5] ?? "");
}, 180_000);

afterAll(() => upstream?.close());

it("are listed with kind, counts, state and cost, and one that runs is cancelled", {
  timeout: 180_000,
}, async () => {
  const states = async () => {
    const rows = (await manage(world.server.url, "GET", "/api/task/")) as { state: string; asked: string }[];
    return rows.map(({ state, asked }) => `${state} ${asked}`);
  };
  await expect
    .poll(states, PATIENCE)
    .toEqual([
      "cancelled 0/5 行",
      "in_progress 2/5 行",
      "failed 2/5 行，失败 3",
      "failed 0/5 行",
      "completed 4/5 行，失败 1",
      "in_progress 2/5 行",
      "queued 0/5 行",
    ]);
  const { page, context } = await world.visit("root");
  await page.goto("/task");
  await page.getByText("已完成", { exact: true }).first().waitFor();
  for (const text of [
    "批处理",
    "批量一号",
    "Enqueued token limit reached",
    "4/5 行，失败 1",
    "已请求取消，已完成的行照常收费",
  ])
    expect(await page.getByText(text).count()).toBeGreaterThan(0);
  await screenshots(page, "batches");
  await page.setViewportSize({ width: 1440, height: 900 });
  const row = page.getByRole("row").filter({ hasText: "排队中" });
  await row.getByRole("button", { name: "取消" }).click();
  await page.getByRole("button", { name: "确认取消" }).click();
  await page.getByText("任务已取消！").waitFor();
  await expect.poll(async () => (await states()).at(-1), PATIENCE).toBe("cancelled 0/5 行");
  await context.close();
});

it("have a receipt that opens", { timeout: 120_000 }, async () => {
  const logs = (await manage(world.server.url, "GET", "/api/log/?type=2")) as { request_id: string }[];
  const { page, context } = await world.visit("root");
  await page.goto(`/receipt/${logs[0]?.request_id}`);
  await page.getByText("批处理倍率", { exact: true }).waitFor();
  await page.getByText("逐行向上取整合计", { exact: false }).waitFor();
  await screenshots(page, "batch-receipt");
  await context.close();
});

it("are a user's own, in English too", { timeout: 120_000 }, async () => {
  const { page, context } = await world.visit("root", undefined, { locale: "en" });
  await page.goto("/task");
  await page.getByText("4/5 lines, 1 failed").waitFor();
  await screenshots(page, "batches-en");
  await context.close();
});
