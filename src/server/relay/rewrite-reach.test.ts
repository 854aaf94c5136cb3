// Rules of channels reach every request to a channel: work in the background, files, conversations, and the gateway's own questions
// (requirements C32).

import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { queryBalance } from "#server/channels/balance-query.ts";
import { listUpstreamModels } from "#server/channels/upstream-models.ts";
import { pollTasks } from "#server/tasks/poll.ts";
import { createFakeRealtime, type FakeRealtime } from "#test/emulators/fake-realtime.ts";
import { type Asked, json, raw } from "#test/emulators/fake-upstream.ts";
import { openClient } from "#test/emulators/realtime-client.ts";
import { batchOrder } from "#test/worlds/batch-world.ts";
import { addRuled, expectShown, oneRule, previewer } from "#test/worlds/channel-rules.ts";
import { CHANNEL_KEY, createRelayWorld, errorOf } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();
/** Of OpenAI, which has all of these interfaces, and a gateway like it. */
const OPENAI = 1;
const GATEWAY = 8;
const MINIMAX = 27;
const VIDEO = "sora-2";
const TEXT = "gpt-4o-mini";
const REALTIME = "gpt-realtime";
const ON_HEADERS = [
  { op: "setHeader", name: "x-gate", value: "{{channel_id}} {{model}}" },
  { op: "setHeader", name: "x-key", value: "k {{key}}" },
  { op: "setHeader", name: "user-agent", value: "gate/1" },
  { op: "passHeader", name: "x-team" },
];
/** Of a body that is none: never met. */
const REFUSED_UNLESS_USER = {
  id: "users",
  when: { lacks: ["/user"], formats: ["chat", "videos", "responses", "batches", "realtime"] },
  do: [{ op: "refuse", status: 403, code: "no_user", message: "没有 user" }],
};

let preview: Awaited<ReturnType<typeof previewer>>;
beforeAll(async () => {
  preview = await previewer(world);
});

beforeEach(async () => {
  const { db } = world.ctx;
  const forgotten = { deadline_at: 1, next_at: 0, upstream_sealed: "" };
  await db.updateTable("tasks").set(forgotten).where("is_booked", "=", 0).execute();
  await pollTasks(world.ctx);
  for (const table of ["tasks", "files", "file_parts", "batch_parts", "stored_responses"] as const)
    await db.deleteFrom(table).execute();
  await world.setOption("ModelRatio", JSON.stringify({ [VIDEO]: 50, [TEXT]: 2, [REALTIME]: 2 }));
  await world.setOption("BatchesEnabled", "true");
  await world.setOption("ResponsesStateEnabled", "true");
  world.upstream.journal.length = 0;
});

function send(method: string, path: string, body?: object | FormData): Promise<Response> {
  const isForm = body instanceof FormData;
  return fetch(world.url + path, {
    method,
    headers: {
      authorization: `Bearer sk-${world.token.key}`,
      "x-team": "red",
      ...(body !== undefined && !isForm && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
  });
}

// Fields of any answer.
// biome-ignore lint/suspicious/noExplicitAny: the tests know what they asked for.
async function read(response: Response): Promise<any> {
  expect(response.status, await response.clone().text()).toBe(200);
  return response.json();
}

/** A call that `REFUSED_UNLESS_USER` is met by: nothing is sent, and nothing paid. */
async function isRefusedFree(path: string, body: object): Promise<void> {
  const { charged, open } = await world.costOf(async () => {
    const refused = await errorOf(await send("POST", path, body));
    expect(refused).toMatchObject({ status: 403, code: "no_user" });
  });
  expect([charged, open, world.upstream.journal]).toEqual([0, 0, []]);
}

async function sweep(): Promise<void> {
  await world.ctx.db.updateTable("tasks").set({ next_at: 0 }).where("is_booked", "=", 0).execute();
  await pollTasks(world.ctx);
}

/** All that came to the upstream: its method and path, and that it has what the rules set. */
function cameRuled(id: number, model: string, team: (asked: Asked) => string | undefined): string[] {
  return world.upstream.journal.map((asked) => {
    const { headers, method, path } = asked;
    expect([path, headers["x-gate"]]).toEqual([path, `${id} ${model}`.trim()]);
    expect(headers["x-key"]).toBe(`k ${CHANNEL_KEY}`);
    expect([path, headers["user-agent"]]).toEqual([path, "gate/1"]);
    expect([path, headers["x-team"]]).toEqual([path, team(asked)]);
    expect(headers.authorization).toBe(`Bearer ${CHANNEL_KEY}`);
    return `${method} ${path}`;
  });
}

const rulesOf = (...more: readonly unknown[]) => ({
  rewrite: { v: 1, rules: [{ id: "head", do: ON_HEADERS }, ...more] },
});

describe("videos", () => {
  const order = { model: VIDEO, prompt: "a cat", seconds: "5", size: "1280x720", user: "u" };

  it("are submitted with all rules, and asked for, fetched and cancelled with those on headers", async () => {
    const onBody = {
      id: "body",
      when: { formats: ["videos"], has: ["/prompt"] },
      do: [
        { op: "append", path: "/prompt", value: ", in the rain" },
        { op: "set", path: "/user", value: "{{user_hash}}" },
        // What decides the price stays.
        { op: "remove", path: "/seconds" },
        { op: "remove", path: "/size" },
      ],
    };
    const id = await addRuled(world, rulesOf(onBody), { type: GATEWAY, models: VIDEO });
    world.upstream.script(
      json({ id: "up-1", status: "queued" }),
      json({ id: "up-1", status: "in_progress" }),
      json({ id: "up-1", status: "completed" }),
      raw("film", { "content-type": "video/mp4" }),
      json({ id: "up-2", status: "queued" }),
      json({ id: "up-2", status: "cancelled" }),
    );
    const made = await read(await send("POST", "/v1/videos", order));
    expect(world.upstream.journal[0]?.json).toEqual({
      model: VIDEO,
      prompt: "a cat, in the rain",
      user: expect.stringMatching(/^[0-9a-f]{16}$/),
      seconds: "5",
      size: "1280x720",
    });
    await sweep();
    await sweep();
    expect(await (await send("GET", `/v1/videos/${made.id}/content`)).text()).toBe("film");
    const other = await read(await send("POST", "/v1/videos", order));
    await read(await send("POST", `/v1/videos/${other.id}/cancel`));
    // The job has no client whose headers it could pass on.
    const job = new Set(["GET /v1/videos/up-1", "POST /v1/videos/up-2/cancel"]);
    const team = ({ method, path }: Asked) => (job.has(`${method} ${path}`) ? undefined : "red");
    expect(cameRuled(id, VIDEO, team)).toEqual([
      "POST /v1/videos",
      "GET /v1/videos/up-1",
      "GET /v1/videos/up-1",
      "GET /v1/videos/up-1/content",
      "POST /v1/videos",
      "POST /v1/videos/up-2/cancel",
    ]);
  });

  it("are refused by a rule before anything is sent, and then cost nothing", async () => {
    await addRuled(world, rulesOf(REFUSED_UNLESS_USER), { type: GATEWAY, models: VIDEO });
    await isRefusedFree("/v1/videos", order);
  });
});

it("a video at another address than the channel's interface is fetched without rules, which may have the key", async () => {
  await addRuled(world, rulesOf(), { type: MINIMAX, models: VIDEO });
  world.upstream.script(
    json({ task_id: "7", base_resp: { status_code: 0 } }),
    json({ status: "Success", file_id: "f9" }),
    json({ file: { download_url: `${world.upstream.url}/cdn/f9` } }),
    raw("film", { "content-type": "video/mp4" }),
  );
  const made = await read(await send("POST", "/v1/videos", { model: VIDEO, prompt: "a cat" }));
  await sweep();
  expect(await (await send("GET", `/v1/videos/${made.id}/content`)).text()).toBe("film");
  const keys = world.upstream.journal.map(({ headers }) => headers["x-key"]);
  expect(keys).toEqual([...Array(3).fill(`k ${CHANNEL_KEY}`), undefined]);
});

describe("files and batches", () => {
  it("are sent, looked at, fetched, cancelled and deleted with the rules on headers; their lines with all", async () => {
    const onBody = { id: "body", do: [{ op: "set", path: "/user", value: "u" }] };
    const rules = rulesOf(onBody, REFUSED_UNLESS_USER);
    const id = await addRuled(world, rules, { type: GATEWAY, models: TEXT });
    world.upstream.script((res, asked) => {
      const { method, path } = asked;
      if (path.endsWith("/content")) return raw("lines", {})(res, asked);
      if (method === "DELETE") return json({ id: "f-1", deleted: true })(res, asked);
      if (path.endsWith("/files")) return json({ id: "f-1", object: "file" })(res, asked);
      const status = path.endsWith("/cancel") ? "cancelling" : "validating";
      return json({ id: "b-1", object: "batch", status })(res, asked);
    });
    const body = { model: TEXT, messages: [{ role: "user", content: "hi" }], max_tokens: 5 };
    const line = { custom_id: "l", method: "POST", url: "/v1/chat/completions", body };
    const form = new FormData();
    form.append("purpose", "batch");
    form.append("file", new Blob([JSON.stringify(line)]), "lines.jsonl");
    const file = await read(await send("POST", "/v1/files", form));
    expect(world.upstream.journal[0]?.text).toContain('"max_tokens":5,"user":"u"}');
    const order = batchOrder(file.id);
    const batch = await read(await send("POST", "/v1/batches", order));
    // A call of control has no body that rules change.
    expect(world.upstream.journal[1]?.json).toEqual({ ...order, input_file_id: "f-1" });
    await read(await send("GET", `/v1/batches/${batch.id}`));
    await read(await send("POST", `/v1/batches/${batch.id}/cancel`));
    expect(await (await send("GET", `/v1/files/${file.id}/content`)).text()).toBe("lines");
    await read(await send("DELETE", `/v1/files/${file.id}`));
    const named = world.upstream.journal.map(({ headers }) => headers["x-gate"]);
    expect(named).toEqual([...Array(4).fill(`${id} ${TEXT}`), ...Array(2).fill(String(id))]);
    for (const asked of world.upstream.journal) asked.headers["x-gate"] = String(id);
    const job = new Set(["GET /v1/batches/b-1", "POST /v1/batches/b-1/cancel"]);
    const team = ({ method, path }: Asked) => (job.has(`${method} ${path}`) ? undefined : "red");
    expect(cameRuled(id, "", team)).toEqual([
      "POST /v1/files",
      "POST /v1/batches",
      "GET /v1/batches/b-1",
      "POST /v1/batches/b-1/cancel",
      "GET /v1/files/f-1/content",
      "DELETE /v1/files/f-1",
    ]);
  });
});

describe("responses in the background", () => {
  const asked = { model: TEXT, input: "hi", background: true, store: true, max_output_tokens: 50 };
  const answer = (status: string) =>
    json({ id: "resp_1", object: "response", status, model: TEXT, output: [], store: true });

  it("are made with all rules, also streamed, and looked at, cancelled and deleted with those on headers", async () => {
    const onBody = {
      id: "body",
      do: [
        { op: "system", text: "be brief" },
        { op: "set", path: "/user", value: "u" },
        { op: "set", path: "/max_output_tokens", value: 900 },
      ],
    };
    const id = await addRuled(world, rulesOf(onBody), { type: OPENAI, models: TEXT });
    world.upstream.script(answer("queued"));
    const made = await read(await send("POST", "/v1/responses", asked));
    expect(world.upstream.journal[0]?.json).toEqual({
      ...asked,
      instructions: "be brief",
      user: "u",
      max_output_tokens: 900,
    });
    // What is set aside follows the rule: three times the ratio for each of 900 tokens.
    const [row] = await world.ctx.db.selectFrom("reservations").select("amount").execute();
    expect(row?.amount).toBeGreaterThan(900 * 2);
    await read(await send("GET", `/v1/responses/${made.id}`));
    world.upstream.script(answer("cancelled"));
    await read(await send("POST", `/v1/responses/${made.id}/cancel`));
    await read(await send("DELETE", `/v1/responses/${made.id}`));
    const event = `event: response.completed\ndata: ${JSON.stringify({
      type: "response.completed",
      response: { id: "resp_2", status: "completed", usage: { input_tokens: 1, output_tokens: 1 } },
    })}\n\n`;
    world.upstream.script(raw(event, { "content-type": "text/event-stream" }));
    const streamed = await send("POST", "/v1/responses", { ...asked, stream: true });
    expect(await streamed.text()).toContain("resp_2");
    expect(world.upstream.journal.at(-1)?.json).toMatchObject({ user: "u", stream: true });
    expect(cameRuled(id, TEXT, () => "red")).toEqual([
      "POST /v1/responses",
      "GET /v1/responses/resp_1",
      "POST /v1/responses/resp_1/cancel",
      "DELETE /v1/responses/resp_1",
      "POST /v1/responses",
    ]);
  });

  it("are refused by a rule before anything is sent, and then cost nothing", async () => {
    await addRuled(world, rulesOf(REFUSED_UNLESS_USER), { type: OPENAI, models: TEXT });
    await isRefusedFree("/v1/responses", asked);
  });
});

describe("conversations", () => {
  let provider: FakeRealtime;
  beforeAll(async () => {
    provider = await createFakeRealtime();
  });
  afterAll(() => provider.close());

  function talk() {
    const url = `${world.url.replace("http", "ws")}/v1/realtime?model=${REALTIME}`;
    const headers = { authorization: `Bearer sk-${world.token.key}`, "x-team": "red" };
    return openClient(url, [], headers);
  }
  const seed = () => ({ type: OPENAI, models: REALTIME, baseUrl: provider.url });

  it("are opened with the rules on headers; settings of the session have those that name them", async () => {
    const onSession = {
      id: "session",
      when: { formats: ["realtime"], lacks: ["/session/turn_detection"] },
      do: [
        { op: "set", path: "/session/instructions", value: "be brief" },
        { op: "set", path: "/temperature", value: 0 },
      ],
    };
    const refusing = {
      id: "no dogs",
      when: { like: { "/session/instructions": "*dog*" } },
      do: [{ op: "refuse", status: 422, code: "no_dogs", message: "没有狗" }],
    };
    const rules = rulesOf(refusing, onSession, REFUSED_UNLESS_USER);
    const id = await addRuled(world, rules, seed());
    provider.script((one) => one.say({ type: "session.created", session: {} }));
    const client = talk();
    await client.until("session.created");
    const { req, heard } = provider.talks.at(-1) ?? expect.fail("nobody called");
    const settings = { type: "session.update", session: { voice: "alloy" } };
    const shown = await preview({
      ...{ id, format: "realtime", ...rules, headers: { "x-team": "red" } },
      body: JSON.stringify({ model: REALTIME, ...settings }),
    });
    expectShown({ method: req.method, path: req.url ?? "", headers: req.headers }, shown);
    expect([shown.reach, shown.fired]).toEqual(["opening", ["head", "session"]]);
    expect(JSON.parse(shown.after).session).toEqual({ voice: "alloy", instructions: "be brief" });
    expect(req.headers).toMatchObject({
      "x-gate": `${id} ${REALTIME}`,
      "x-key": `k ${CHANNEL_KEY}`,
      "x-team": "red",
      "user-agent": "gate/1",
      authorization: `Bearer ${CHANNEL_KEY}`,
    });
    const say = (event: object) => client.socket.send(JSON.stringify(event));
    say(settings);
    say({ type: "conversation.item.create", item: { note: "session.update" } });
    say({ type: "session.update", session: { instructions: "like a dog" } });
    await client.until("error");
    expect(client.events.at(-1)?.error).toMatchObject({ code: "no_dogs" });
    say({ type: "session.update", session: { turn_detection: null } });
    for (let tries = 0; heard.length < 3 && tries < 500; tries += 1)
      await new Promise((resolve) => setTimeout(resolve, 10));
    expect(heard).toEqual([
      '{"type":"session.update","session":{"voice":"alloy","instructions":"be brief"}}',
      '{"type":"conversation.item.create","item":{"note":"session.update"}}',
      '{"type":"session.update","session":{"turn_detection":null}}',
    ]);
    client.socket.terminate();
  });

  it("are refused by a rule before the upstream is called", async () => {
    const refuse = { op: "refuse", status: 403, code: "no_voices", message: "没有语音" };
    await addRuled(world, oneRule(refuse), seed());
    // The conversation of the test before is settled after its client has left.
    await expect.poll(async () => (await world.money()).open).toBe(0);
    provider.talks.length = 0;
    const client = talk();
    await client.until("error");
    expect(client.events[0]?.error).toMatchObject({ code: "no_voices" });
    expect(provider.talks).toEqual([]);
    await client.closed;
    expect((await world.money()).open).toBe(0);
  });
});

describe("the gateway's own questions", () => {
  it("for models and for the balance have the rules on headers", async () => {
    const rules = rulesOf(REFUSED_UNLESS_USER);
    const id = await addRuled(world, rules, { type: GATEWAY });
    world.upstream.script((res, asked) => {
      if (asked.path.endsWith("/models")) return json({ data: [{ id: "m" }] })(res, asked);
      if (asked.path.includes("subscription")) return json({ hard_limit_usd: 5 })(res, asked);
      return json({ total_usage: 100 })(res, asked);
    });
    const live = world.ctx.candidates.byId(id) ?? expect.fail("no channel");
    expect(await listUpstreamModels(world.ctx, live)).toEqual({ ok: true, models: ["m"] });
    expect(await queryBalance(world.ctx, live)).toEqual({ ok: true, balance: 4, currency: "" });
    const [sent] = world.upstream.journal;
    const shown = await preview({ id, format: "models", ...rules, body: "{}" });
    expectShown(sent ?? expect.fail("nothing was asked"), shown);
    expect([shown.reach, shown.fired, shown.after]).toEqual(["control", ["head"], ""]);
    const paths = cameRuled(id, "", () => undefined).map((path) => path.replace(/\?.*/, ""));
    expect(paths).toEqual([
      "GET /v1/models",
      "GET /v1/dashboard/billing/subscription",
      "GET /v1/dashboard/billing/usage",
    ]);
  });
});
