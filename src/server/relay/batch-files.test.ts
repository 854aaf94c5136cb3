// Files of batches: counted and changed line by line on their way to the one channel that keeps them, and refused with the line that is wrong.
import { createHash } from "node:crypto";
import { beforeEach, describe, expect, it, test } from "vitest";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import {
  answerLine,
  BATCH_MODEL,
  batchOrder,
  createBatchWorld,
  named,
  requestLine,
} from "#test/worlds/batch-world.ts";
import { errorOf } from "#test/worlds/relay-world.ts";

const batch = createBatchWorld();
const { world } = batch;

describe("what is written in a file", () => {
  test("a mark at its begin, CRLF and empty lines are no part of its lines", async () => {
    const lines = [requestLine("a"), "", requestLine("b"), requestLine("c"), "", ""];
    const answer = await batch.post(`\ufeff${lines.join("\r\n")}`);
    expect(answer.status).toBe(200);
    expect(batch.upstream.lines().map(({ custom_id }) => custom_id)).toEqual(["a", "b", "c"]);
    expect(batch.upstream.taken[0]?.text).toBe(`${[lines[0], lines[2], lines[3]].join("\n")}\n`);
    const parts = await world.ctx.db.selectFrom("file_parts").select(["model", "lines"]).execute();
    expect(parts).toEqual([{ model: BATCH_MODEL, lines: 3 }]);
  });

  test("the last line needs no end", async () => {
    expect((await batch.post(requestLine("a"))).status).toBe(200);
    expect(batch.upstream.lines()).toHaveLength(1);
  });

  test.each([
    ["no JSON", "{", "第 3 行：不是合法的 JSON 对象"],
    ["a custom_id that was there", requestLine("a"), "第 3 行：custom_id 与第 1 行重复"],
    ["no custom_id", requestLine(""), "第 3 行：custom_id 须为 1 到 512 个字符"],
    [
      "another address",
      requestLine("c", { url: "/v1/embeddings", body: { model: BATCH_MODEL, input: "x" } }),
      "第 3 行：url 与前面的 /v1/chat/completions 不同",
    ],
    ["an address that is none", requestLine("c", { url: "/v1/images/generations" }), "第 3 行：url 须为"],
    [
      "a model without a price",
      requestLine("c", { model: "unpriced" }),
      "第 3 行：模型 unpriced 尚未设置价格",
    ],
    [
      "a model of another channel",
      requestLine("c", { model: "elsewhere" }),
      "第 3 行：模型 elsewhere 与前面的模型不能由同一渠道处理",
    ],
    [
      "a stream",
      requestLine("c", {
        body: { model: BATCH_MODEL, stream: true, messages: [{ role: "user", content: "x" }] },
      }),
      "第 3 行：批处理不支持流式输出",
    ],
    [
      "no messages",
      requestLine("c", { body: { model: BATCH_MODEL, messages: [] } }),
      "第 3 行：缺少参数 messages",
    ],
    [
      "a limit that is no number",
      requestLine("c", {
        body: { model: BATCH_MODEL, max_tokens: "9", messages: [{ role: "user", content: "x" }] },
      }),
      "第 3 行：参数 max_tokens 无效",
    ],
    [
      "the same name twice",
      requestLine("c").replace('"method"', '"url":"/x","method"'),
      "第 3 行：存在重复的字段",
    ],
  ])("%s is told with its line, and nothing is left upstream", async (_, line, told) => {
    await world.clearChannels();
    await world.addChannel({ baseUrl: batch.upstream.url, models: `${BATCH_MODEL},unpriced` });
    const answer = await batch.post([requestLine("a"), requestLine("b"), line, requestLine("d")].join("\n"));
    const error = await errorOf(answer);
    expect(error).toMatchObject({ status: 400, message: expect.stringContaining(told) });
    expect(batch.upstream.taken).toEqual([]);
    expect(await world.ctx.db.selectFrom("files").selectAll().execute()).toEqual([]);
  });

  test("a model that the token may not use is told with its line", async () => {
    await world.changeToken({ models: BATCH_MODEL });
    const error = await errorOf(
      await batch.post([requestLine("a"), requestLine("b", { model: "other" })].join("\n")),
    );
    expect(error).toMatchObject({ status: 403, code: "model_not_allowed" });
    expect(error.message).toContain("第 2 行");
  });

  test("an empty file, and one of 50,001 lines, are refused", async () => {
    expect(await errorOf(await batch.post("\n\n"))).toMatchObject({
      status: 400,
      message: expect.stringContaining("没有请求"),
    });
    const many = named(50_001).map((id) => requestLine(id));
    expect(await errorOf(await batch.post(many.join("\n")))).toMatchObject({
      status: 400,
      message: expect.stringContaining("第 50001 行：超过 50000 行"),
    });
    expect(batch.upstream.taken).toEqual([]);
  });
});

describe("what it is for", () => {
  test.each([
    ["before the file", true],
    ["behind it", false],
  ])("another purpose is refused, named %s", async (_, isFirst) => {
    const form = new FormData();
    if (isFirst) form.append("purpose", "fine-tune");
    form.append("file", new Blob([`${requestLine("a")}\n`]), "f.jsonl");
    if (!isFirst) form.append("purpose", "fine-tune");
    const headers = { authorization: `Bearer sk-${world.token.key}` };
    const answer = await fetch(`${world.url}/v1/files`, { method: "POST", headers, body: form });
    expect(await errorOf(answer)).toMatchObject({
      status: 400,
      code: "purpose_not_supported",
      param: "purpose",
    });
    expect(batch.upstream.taken).toEqual([]);
  });

  test("without a purpose, and without a form, nothing is taken", async () => {
    expect(await errorOf(await batch.post(requestLine("a"), {}))).toMatchObject({
      status: 400,
      param: "purpose",
    });
    expect(await errorOf(await world.ask("{}", { path: "/v1/files" }))).toMatchObject({ status: 400 });
    expect(batch.upstream.taken).toEqual([]);
  });

  test("how long it is kept goes with it", async () => {
    const fields = {
      purpose: "batch",
      "expires_after[anchor]": "created_at",
      "expires_after[seconds]": "7200",
    };
    const file = (await (await batch.post(requestLine("a"), fields)).json()) as {
      created_at: number;
      expires_at: number;
    };
    expect(file.expires_at - file.created_at).toBe(7_200);
    const wrong = await batch.post(requestLine("a"), { ...fields, "expires_after[seconds]": "5" });
    expect(await errorOf(wrong)).toMatchObject({ status: 400, param: "expires_after" });
  });
});

describe("its channel", () => {
  test("has each line by the name that it maps a model to", async () => {
    await world.clearChannels();
    await world.addChannel({
      baseUrl: batch.upstream.url,
      models: BATCH_MODEL,
      mapping: { [BATCH_MODEL]: "their-name" },
    });
    await batch.post([requestLine("a"), requestLine("b")].join("\n"));
    expect(batch.upstream.lines().map(({ body }) => body.model)).toEqual(["their-name", "their-name"]);
  });

  test("has its rules applied to each line", async () => {
    await world.clearChannels();
    const id = await world.addChannel({ baseUrl: batch.upstream.url, models: BATCH_MODEL });
    const set = { op: "set", path: "/temperature", value: 0.5 };
    const config = JSON.stringify({ rewrite: { v: 1, rules: [{ id: "r", do: [set] }] } });
    await world.ctx.db.updateTable("channels").set({ config }).where("id", "=", id).execute();
    await world.ctx.candidates.reload();
    await batch.post([requestLine("a"), requestLine("b")].join("\n"));
    expect(batch.upstream.lines().map(({ body }) => body.temperature)).toEqual([0.5, 0.5]);
  });

  test("a field that would change the price does not go out", async () => {
    const body = { model: BATCH_MODEL, service_tier: "priority", messages: [{ role: "user", content: "x" }] };
    await batch.post(requestLine("a", { body }));
    expect(batch.upstream.lines()[0].body).not.toHaveProperty("service_tier");
  });

  test("is Azure's where its address is", async () => {
    await world.clearChannels();
    await world.addChannel({ type: 3, baseUrl: batch.upstream.url, models: BATCH_MODEL, key: "azure-key-1" });
    const { made } = await batch.submitted([requestLine("a", { url: "/chat/completions" })]);
    expect(made.status).toBe("validating");
    expect(batch.upstream.calls.map(({ method, path, key }) => `${method} ${path} ${key}`)).toEqual([
      "POST /openai/v1/files azure-key-1",
      "POST /openai/v1/batches azure-key-1",
    ]);
  });

  test("is the one that takes batches, of several", async () => {
    await world.clearChannels();
    // Claude's wire has no such files.
    await world.addChannel({ type: 14, models: BATCH_MODEL, priority: 9 });
    expect(await errorOf(await batch.post(requestLine("a")))).toMatchObject({
      status: 400,
      code: "batch_not_supported",
    });
    await world.addChannel({ baseUrl: batch.upstream.url, models: BATCH_MODEL });
    expect((await batch.post(requestLine("a"))).status).toBe(200);
  });

  test("that turns out not to take files is asked no more", async () => {
    await world.clearChannels();
    batch.upstream.fail("/v1/files", 404);
    await world.addChannel({ baseUrl: batch.upstream.url, models: BATCH_MODEL, priority: 9 });
    expect((await batch.post(requestLine("a"))).status).toBe(404);
    batch.upstream.reset();
    expect(await errorOf(await batch.post(requestLine("a")))).toMatchObject({ code: "batch_not_supported" });
    expect(batch.upstream.calls).toEqual([]);
  });

  test("may be another model's than the first line's, where the request says so", async () => {
    await world.clearChannels();
    await world.addChannel({ models: BATCH_MODEL });
    await world.addChannel({ baseUrl: batch.upstream.url, models: `${BATCH_MODEL},other` });
    for (let round = 0; round < 4; round += 1)
      expect((await batch.post(requestLine("a"), { purpose: "batch" }, "?model=other")).status).toBe(200);
    expect(batch.upstream.taken).toHaveLength(4);
  });
});

describe("another's", () => {
  let other: { key: string };
  beforeEach(async () => {
    const { id } = await seedUser(
      world.ctx,
      `other-${createHash("sha1").update(String(performance.now())).digest("hex").slice(0, 8)}`,
    );
    other = await seedToken(world.ctx, id);
  });

  it("file and batch do not exist: the same 404 everywhere, lists and cursors too", async () => {
    const { file, made, upstreamId } = await batch.submitted([requestLine("a")]);
    batch.upstream.end(upstreamId, { output: answerLine("a"), counts: { completed: 1, failed: 0 } });
    const done = await batch.client().batches.retrieve(made.id);
    const { key } = other;
    for (const [method, path] of [
      ["GET", `/v1/files/${file.id}`],
      ["GET", `/v1/files/${file.id}/content`],
      ["DELETE", `/v1/files/${file.id}`],
      ["GET", `/v1/files/${done.output_file_id}/content`],
      ["GET", `/v1/files?after=${file.id}`],
      ["GET", `/v1/batches/${made.id}`],
      ["POST", `/v1/batches/${made.id}/cancel`],
      ["GET", `/v1/batches?after=${made.id}`],
    ] as const) {
      const theirs = await batch.send(method, path, { key });
      const none = await batch.send(method, path.replace(/(file-|batch_)\w+/, "$1none"), { key });
      expect([path, theirs.status, none.status]).toEqual([path, 404, 404]);
      expect((await theirs.text()).replace(/(file-|batch_)\w+|"message":"[^"]*"/g, "")).toBe(
        (await none.text()).replace(/(file-|batch_)\w+|"message":"[^"]*"/g, ""),
      );
    }
    const order = batchOrder(file.id);
    expect((await batch.send("POST", "/v1/batches", { key, body: order })).status).toBe(404);
    for (const path of ["/v1/files", "/v1/batches"]) {
      const list = (await (await batch.send("GET", path, { key })).json()) as { data: unknown[] };
      expect(list.data).toEqual([]);
    }
  });
});

test("files of more than 20 GB in all are not added to", async () => {
  const { id } = await batch.upload([requestLine("a")]);
  await world.ctx.db
    .updateTable("files")
    .set({ bytes: 21 * 1024 ** 3 })
    .execute();
  expect(await errorOf(await batch.post(requestLine("a")))).toMatchObject({
    status: 400,
    code: "file_storage_full",
  });
  await batch.client().files.delete(id);
  expect((await batch.post(requestLine("a"))).status).toBe(200);
});

test("lists go on from a cursor, both ways, and by purpose", async () => {
  const files = [];
  for (const id of ["a", "b", "c"]) files.push((await batch.upload([requestLine(id)])).id);
  const seen = [];
  for await (const file of batch.client().files.list({ limit: 2 })) seen.push(file.id);
  expect(seen).toEqual(files.toReversed());
  const ascending = await batch.client().files.list({ order: "asc", after: files[0] ?? "" });
  expect(ascending.data.map(({ id }) => id)).toEqual(files.slice(1));
  const outputs = await batch.client().files.list({ purpose: "batch_output" });
  expect(outputs.data).toEqual([]);
});

test("a file is told, fetched and deleted by OpenAI's own SDK", async () => {
  const { id } = await batch.upload([requestLine("a")]);
  expect(await batch.client().files.retrieve(id)).toMatchObject({ id, bytes: requestLine("a").length + 1 });
  expect(await (await batch.client().files.content(id)).text()).toBe(`${requestLine("a")}\n`);
  expect(await batch.client().files.delete(id)).toMatchObject({ id, deleted: true });
  expect(batch.upstream.calls.at(-1)).toMatchObject({
    method: "DELETE",
    path: `/v1/files/${batch.upstream.taken[0]?.id}`,
  });
  await expect(batch.client().files.retrieve(id)).rejects.toMatchObject({ status: 404 });
});
