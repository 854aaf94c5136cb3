// What the tests of files and batches share: a relay, a channel at an emulator of OpenAI's interface, files of lines and their results.
import OpenAI, { toFile } from "openai";
import { afterAll, beforeAll, beforeEach, expect } from "vitest";
import { pollTasks } from "#server/tasks/poll.ts";
import { type BatchEmulator, startBatches } from "#test/emulators/batch-emulator.ts";
import { createRelayWorld, type World, type WorldOptions } from "./relay-world.ts";

/** Model ratio 2, completion ratio 4 by its name's rule is overridden: prices are easy to see. */
export const BATCH_MODEL = "gpt-4o-mini";
export const OPENAI_TYPE = 8;

export interface LineWish {
  readonly model?: string;
  readonly maxTokens?: number;
  readonly url?: string;
  readonly body?: object;
}

/** A line of a file of requests. */
export function requestLine(id: string, wish: LineWish = {}): string {
  const { model = BATCH_MODEL, maxTokens = 100, url = "/v1/chat/completions", body } = wish;
  const usual = { model, messages: [{ role: "user", content: "hello" }], max_tokens: maxTokens };
  return JSON.stringify({ custom_id: id, method: "POST", url, body: body ?? usual });
}

/** A line of an output file; `usage` null = none is told. */
export function answerLine(
  id: string,
  usage: object | null = { prompt_tokens: 10, completion_tokens: 5 },
): string {
  const body = { id: "c", object: "chat.completion", choices: [], ...(usage !== null && { usage }) };
  return JSON.stringify({
    id: `batch_req_${id}`,
    custom_id: id,
    response: { status_code: 200, request_id: "r", body },
    error: null,
  });
}

/** What submits a file of requests. */
export const batchOrder = (input_file_id: string) =>
  ({ input_file_id, endpoint: "/v1/chat/completions", completion_window: "24h" }) as const;

/** A line of an error file. */
export function errorLine(id: string, code = "server_error"): string {
  const error = { code, message: "no" };
  return JSON.stringify({ id: `batch_req_${id}`, custom_id: id, response: null, error });
}

export function named(count: number, prefix = "r"): string[] {
  return Array.from({ length: count }, (_, at) => `${prefix}-${at + 1}`);
}

/** Sets it up for the tests of a file. */
export function createBatchWorld(options?: WorldOptions) {
  const world: World = createRelayWorld(options);
  let emulator: BatchEmulator | undefined;
  let channelId = 0;
  let lastEntry = 0;

  beforeAll(async () => {
    emulator = await startBatches();
  });
  afterAll(() => emulator?.close());
  beforeEach(async () => {
    batch.upstream.reset();
    const { db } = world.ctx;
    // Nothing is under way when a test begins.
    await db
      .updateTable("tasks")
      .set({ deadline_at: 1, upstream_sealed: "" })
      .where("is_booked", "=", 0)
      .execute();
    await batch.sweep();
    for (const table of ["tasks", "files", "file_parts", "batch_parts"] as const)
      await db.deleteFrom(table).execute();
    await expect.poll(async () => (await world.money()).open).toBe(0);
    const last = await db.selectFrom("ledger").select("id").orderBy("id", "desc").executeTakeFirst();
    lastEntry = last?.id ?? 0;
    await world.clearChannels();
    await world.setOption("ModelRatio", JSON.stringify({ [BATCH_MODEL]: 2, other: 4 }));
    await world.setOption("CompletionRatio", JSON.stringify({ [BATCH_MODEL]: 3, other: 3 }));
    await world.setOption("FallbackModelRatio", "");
    await world.setOption("BatchesEnabled", "true");
    channelId = await world.addChannel({
      type: OPENAI_TYPE,
      baseUrl: batch.upstream.url,
      models: `${BATCH_MODEL},other`,
    });
  });

  const batch = {
    world,
    get upstream(): BatchEmulator {
      if (emulator === undefined) throw new Error("the world is not set up yet");
      return emulator;
    },
    get channelId(): number {
      return channelId;
    },
    client: (key = world.token.key) =>
      new OpenAI({ apiKey: `sk-${key}`, baseURL: `${world.url}/v1`, maxRetries: 0 }),
    send: (method: string, path: string, init: { key?: string; body?: object } = {}) =>
      fetch(world.url + path, {
        method,
        headers: {
          authorization: `Bearer sk-${init.key ?? world.token.key}`,
          ...(init.body && { "content-type": "application/json" }),
        },
        ...(init.body && { body: JSON.stringify(init.body) }),
      }),
    /** Uploads a file as a form. */
    post(text: string | Buffer, fields: Record<string, string> = { purpose: "batch" }, query = "") {
      const form = new FormData();
      form.append("file", new Blob([text as BlobPart]), "requests.jsonl");
      for (const [name, value] of Object.entries(fields)) form.append(name, value);
      const headers = { authorization: `Bearer sk-${world.token.key}` };
      return fetch(`${world.url}/v1/files${query}`, { method: "POST", headers, body: form });
    },
    upload: async (lines: readonly string[]) =>
      batch.client().files.create({
        file: await toFile(Buffer.from(`${lines.join("\n")}\n`), "requests.jsonl"),
        purpose: "batch",
      }),
    /** Uploads lines and submits them. Returns the batch, and the upstream's name of it. */
    async submitted(lines: readonly string[]) {
      const file = await batch.upload(lines);
      const made = await batch.client().batches.create(batchOrder(file.id));
      return { file, made, upstreamId: batch.upstream.batches().at(-1) ?? expect.fail() };
    },
    /** Lets what is under way be looked after now. */
    async sweep() {
      await world.ctx.db.updateTable("tasks").set({ next_at: 0 }).where("is_booked", "=", 0).execute();
      await pollTasks(world.ctx);
    },
    /** Puts off what is under way: nothing comes to its turn by itself. */
    async postpone() {
      await world.ctx.db
        .updateTable("tasks")
        .set({ next_at: 2 ** 40 })
        .where("is_booked", "=", 0)
        .execute();
    },
    rowOf: (id: string) =>
      world.ctx.db.selectFrom("tasks").selectAll().where("task_id", "=", id).executeTakeFirstOrThrow(),
    /** What was charged in this test, entry by entry. */
    async charges(): Promise<number[]> {
      const { db } = world.ctx;
      const rows = await db
        .selectFrom("ledger")
        .select("amount")
        .where("kind", "=", "consume")
        .where("id", ">", lastEntry)
        .orderBy("id")
        .execute();
      return rows.map(({ amount }) => -amount);
    },
  };
  return batch;
}
