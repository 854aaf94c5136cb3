// Channels behind an outbound proxy, end to end (requirements C10, C13, C14, C17). The vendors' names resolve nowhere but at the proxy: what
// does not go through it does not arrive.
import { generateKeyPairSync } from "node:crypto";
import OpenAI, { toFile } from "openai";
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { queryBalance } from "#server/channels/balance.ts";
import { testChannel } from "#server/channels/probe.ts";
import { sealProxy } from "#server/channels/proxies.ts";
import { listUpstreamModels } from "#server/channels/upstream-models.ts";
import { pollTasks } from "#server/tasks/poll.ts";
import { startBatches } from "#test/emulators/batch-emulator.ts";
import { ChinaEmulator } from "#test/emulators/china-emulator.ts";
import { createFakeRealtime, type FakeRealtime } from "#test/emulators/fake-realtime.ts";
import { chatReply, json, raw, type Step } from "#test/emulators/fake-upstream.ts";
import { type ProxyWorld, startHttpProxy } from "#test/emulators/proxies.ts";
import { beginTalk } from "#test/emulators/realtime-client.ts";
import { openResponses } from "#test/emulators/responses-client.ts";
import { startResponses } from "#test/emulators/responses-emulator.ts";
import { answerLine, BATCH_MODEL, requestLine } from "#test/worlds/batch-world.ts";
import {
  CHANNEL_KEY,
  type ChannelSeed,
  createRelayWorld,
  errorOf,
  MODEL,
  QUESTION,
} from "#test/worlds/relay-world.ts";
import { resolveTo } from "#test/worlds/tunnels.ts";

const world = createRelayWorld();
const USER = "proxy-user-canary";
const PASSWORD = "proxy-password-canary";
const HOST = "vendor.example";

let proxy: ProxyWorld;
/** What the proxy says instead of opening a tunnel. */
let said: string | undefined;

beforeAll(async () => {
  proxy = await startHttpProxy({ login: `${USER}:${PASSWORD}`, says: () => said });
});
afterAll(() => proxy.close());
afterEach(() => {
  said = undefined;
  proxy.asked.length = 0;
});

const address = () => `http://${USER}:${PASSWORD}@127.0.0.1:${proxy.port}`;
/** The same server under a name that only the proxy knows. */
const named = (url: string, host = HOST) => url.replace("127.0.0.1", host);

async function addChannel(seed: ChannelSeed = {}, by = address()): Promise<number> {
  const id = await world.addChannel({ baseUrl: named(world.upstream.url), ...seed });
  await setProxy(id, by);
  return id;
}

async function setProxy(id: number, text: string): Promise<void> {
  const { db, secrets, candidates } = world.ctx;
  await db
    .updateTable("channels")
    .set({ proxy_sealed: sealProxy(secrets, text) })
    .where("id", "=", id)
    .execute();
  await candidates.reload();
}

const live = (id: number) => world.ctx.candidates.byId(id) ?? expect.fail("no such channel");
const statusOf = async (id: number) =>
  (await world.ctx.db.selectFrom("channels").select("status").where("id", "=", id).executeTakeFirstOrThrow())
    .status;

function sdk(): OpenAI {
  return new OpenAI({ baseURL: `${world.url}/v1`, apiKey: `sk-${world.token.key}`, maxRetries: 0 });
}

/** Lets what is under way be looked after now. */
async function sweep(): Promise<void> {
  await world.ctx.db.updateTable("tasks").set({ next_at: 0 }).where("is_booked", "=", 0).execute();
  await pollTasks(world.ctx);
}

describe("everything to a vendor leaves by the channel's proxy", () => {
  it("calls, tests, lists of models and balances", async () => {
    const id = await addChannel();
    world.upstream.script((res, asked) => {
      if (asked.path.endsWith("/models")) return json({ data: [{ id: "m" }] })(res, asked);
      if (asked.path.includes("billing/subscription")) return json({ hard_limit_usd: 5 })(res, asked);
      if (asked.path.includes("billing/usage")) return json({ total_usage: 100 })(res, asked);
      return json(chatReply("hi"))(res, asked);
    });
    expect((await world.ask(QUESTION)).status).toBe(200);
    expect((await world.ask({ ...QUESTION, stream: true })).status).toBe(200);
    expect(await testChannel(world.ctx, live(id))).toMatchObject({ ok: true, text: "hi" });
    expect(await listUpstreamModels(world.ctx, live(id))).toEqual({ ok: true, models: ["m"] });
    expect(await queryBalance(world.ctx, live(id))).toEqual({ ok: true, balance: 4 });
    expect(new Set(proxy.asked)).toEqual(new Set([`${HOST}:${new URL(world.upstream.url).port}`]));
    expect(proxy.heads.join("")).not.toContain(CHANNEL_KEY);
  });

  it("the exchange of a token, also at another host, and media that go inline", async () => {
    const { privateKey } = generateKeyPairSync("rsa", {
      modulusLength: 2048,
      publicKeyEncoding: { type: "spki", format: "pem" },
      privateKeyEncoding: { type: "pkcs8", format: "pem" },
    });
    const key = JSON.stringify({
      project_id: "p",
      client_email: "robot@p.iam.example",
      private_key: privateKey,
      token_uri: `${named(world.upstream.url, "token.example")}/token`,
    });
    const google: Step = (res, asked) => {
      if (asked.path === "/token")
        return json({ access_token: "ya29.token-of-the-test", expires_in: 3600 })(res, asked);
      if (asked.path === "/a.png") return raw("png", { "content-type": "image/png" })(res, asked);
      return json({
        candidates: [{ content: { role: "model", parts: [{ text: "hi" }] }, finishReason: "STOP" }],
      })(res, asked);
    };
    world.upstream.script(google);
    await addChannel({ type: 42, key, models: "gemini-2.5-flash" });
    // The address of a caller is resolved here, and the proxy asked for what was judged.
    resolveTo({ "caller.example": "93.184.216.34" });
    const image = {
      type: "image_url",
      image_url: { url: `${named(world.upstream.url, "caller.example")}/a.png` },
    };
    const answer = await world.ask({
      model: "gemini-2.5-flash",
      messages: [{ role: "user", content: [{ type: "text", text: "what" }, image] }],
    });
    expect(answer.status).toBe(200);
    const { port } = new URL(world.upstream.url);
    expect(new Set(proxy.asked)).toEqual(
      new Set([`token.example:${port}`, `93.184.216.34:${port}`, `${HOST}:${port}`]),
    );
  });

  it("videos and their content", async () => {
    await addChannel({ models: "sora-2" });
    await world.setOption("ModelRatio", JSON.stringify({ "sora-2": 50 }));
    world.upstream.script((res, asked) => {
      const step = asked.path.endsWith("/content")
        ? raw("mp4", { "content-type": "video/mp4" })
        : json({ id: "up", status: asked.path.endsWith("/videos") ? "queued" : "completed" });
      return step(res, asked);
    });
    const client = sdk();
    const { id } = await client.videos.create({ model: "sora-2", prompt: "a cat", seconds: "4" });
    await sweep();
    const content = await client.videos.downloadContent(id);
    expect(await content.text()).toBe("mp4");
    expect(new Set(proxy.asked)).toEqual(new Set([`${HOST}:${new URL(world.upstream.url).port}`]));
  });

  it("files, batches and their results", async () => {
    const upstream = await startBatches();
    onTestFinished(() => upstream.close());
    await addChannel({ baseUrl: named(upstream.url), models: BATCH_MODEL });
    await world.setOption("BatchesEnabled", "true");
    await world.setOption("ModelRatio", JSON.stringify({ [BATCH_MODEL]: 2 }));
    const client = sdk();
    const file = await toFile(Buffer.from(requestLine("r-1")), "requests.jsonl");
    const { id: input_file_id } = await client.files.create({ file, purpose: "batch" });
    const order = { input_file_id, endpoint: "/v1/chat/completions", completion_window: "24h" } as const;
    const { id } = await client.batches.create(order);
    const made = upstream.batches().at(-1) ?? expect.fail();
    upstream.end(made, { output: answerLine("r-1"), counts: { completed: 1, failed: 0 } });
    const { output_file_id } = await client.batches.retrieve(id);
    expect(await (await client.files.content(output_file_id ?? "")).text()).toContain("r-1");
    expect(new Set(proxy.asked)).toEqual(new Set([`${HOST}:${new URL(upstream.url).port}`]));
  });

  it("responses that are kept, in the background and on a socket", async () => {
    const upstream = await startResponses("m");
    onTestFinished(() => upstream.close());
    await addChannel({ type: 1, baseUrl: named(upstream.url), models: "gpt-4o" });
    await world.setOption("ResponsesStateEnabled", "true");
    const client = sdk();
    const { id } = await client.responses.create({ model: "gpt-4o", input: "long", background: true });
    upstream.finish(id);
    expect((await client.responses.retrieve(id)).status).toBe("completed");
    const { create, socket } = openResponses(world.url, world.token.key);
    expect((await create({ model: "gpt-4o", input: "hello" })).at(-1)).toMatchObject({
      type: "response.completed",
    });
    socket.terminate();
    expect(new Set(proxy.asked)).toEqual(new Set([`${HOST}:${new URL(upstream.url).port}`]));
  });

  it("realtime conversations", async () => {
    const provider: FakeRealtime = await createFakeRealtime();
    const model = "gpt-realtime";
    await addChannel({ type: 1, baseUrl: named(provider.url), models: model });
    provider.script((talk) => talk.say({ type: "session.created", session: { model } }));
    const client = beginTalk(world.url, world.token.key, model);
    await client.until("session.created");
    expect(proxy.asked).toEqual([`${HOST}:${new URL(provider.url).port}`]);
    client.socket.terminate();
    await provider.close();
  });

  it("the WebSocket wire of Spark", async () => {
    const china = new ChinaEmulator();
    await china.start();
    const url = china.url.replace("http", "ws");
    const key = "spark-app|spark-secret|spark-key";
    await addChannel({ type: 18, key, baseUrl: named(url), mapping: { [MODEL]: "Spark-Max" } });
    expect((await world.ask(QUESTION)).status).toBe(200);
    expect(proxy.asked).toEqual([`${HOST}:${new URL(url).port}`]);
    await china.close();
  });

  it("with the option for all where the channel says nothing, not where it says direct", async () => {
    await world.setOption("OutboundProxy", address());
    const id = await addChannel({}, "");
    expect((await world.ask(QUESTION)).status).toBe(200);
    expect(proxy.asked.length).toBe(1);
    await setProxy(id, "direct");
    expect((await world.ask(QUESTION)).status).toBe(502);
    expect(proxy.asked.length).toBe(1);
    await world.ctx.db.deleteFrom("options").where("key", "=", "OutboundProxy").execute();
    await world.ctx.options.reload();
  });
});

describe("a proxy that fails", () => {
  const REFUSAL = "content-length: 56\r\n\r\n" + '{"error":{"code":"invalid_api_key","message":"revoked"}}';

  it.each([
    ["407", `HTTP/1.1 407 Proxy Auth\r\n${REFUSAL}`],
    ["403", `HTTP/1.1 403 Forbidden\r\n${REFUSAL}`],
    ["401", `HTTP/1.1 401 Unauthorized\r\n${REFUSAL}`],
    ["502", `HTTP/1.1 502 Bad Gateway\r\n${REFUSAL}`],
    ["nothing but a reset", "reset"],
  ])(
    "with %s is to blame itself: after a hundred calls the channel is on, and no caller has paid",
    async (_, text) => {
      await world.setOption("AutomaticDisableChannelEnabled", "true");
      const id = await addChannel();
      said = text;
      const spent = await world.costOf(async () => {
        for (let call = 0; call < 100; call += 10) {
          const answers = await Promise.all(Array.from({ length: 10 }, () => world.ask(QUESTION)));
          for (const answer of answers) {
            const { status, message } = await errorOf(answer);
            expect([status, message.split(" (")[0]]).toEqual([502, "无法连接上游"]);
          }
        }
      });
      expect([spent.charged, spent.open]).toEqual([0, 0]);
      expect(await statusOf(id)).toBe(1);
      expect(world.upstream.journal).toEqual([]);
      const probe = await testChannel(world.ctx, live(id));
      expect(probe).toMatchObject({ ok: false, isDisabling: false });
      said = undefined;
      await setProxy(id, `${address()}?dns=proxy`);
      expect((await world.ask(QUESTION)).status).toBe(200);
      await world.setOption("AutomaticDisableChannelEnabled", "false");
    },
  );

  it("rests after three failures: its channels are passed over until one call has found it well", async () => {
    const other = await startHttpProxy({ says: () => said });
    const behind = await addChannel({ priority: 10 }, `http://127.0.0.1:${other.port}`);
    await world.addChannel({ priority: 0 });
    await world.setOption("RetryTimes", "1");
    said = "HTTP/1.1 503 Down\r\n\r\n";
    const isResting = () =>
      world.ctx.egress.restingProxies()?.(live(behind).route, `http://${HOST}`) === true;
    for (let call = 0; call < 3; call += 1) expect((await world.ask(QUESTION)).status).toBe(200);
    expect(isResting()).toBe(true);
    const asked = other.made();
    for (let call = 0; call < 5; call += 1) expect((await world.ask(QUESTION)).status).toBe(200);
    expect(other.made()).toBe(asked);
    await other.close();
  });
});

describe("a proxy's address and credentials", () => {
  it("are in no answer, no log and no trail", async () => {
    const id = await addChannel();
    said = "HTTP/1.1 407 Proxy Auth\r\n\r\n";
    const answers = await Promise.all(Array.from({ length: 3 }, () => world.ask(QUESTION)));
    const texts = await Promise.all(answers.map((answer) => answer.text()));
    const probe = await testChannel(world.ctx, live(id));
    const logs = await world.ctx.db.selectFrom("logs").selectAll().execute();
    const channels = await world.ctx.db.selectFrom("channels").selectAll().execute();
    const all = JSON.stringify([texts, probe, logs, channels]);
    for (const secret of [USER, PASSWORD, Buffer.from(`${USER}:${PASSWORD}`).toString("base64")])
      expect(all).not.toContain(secret);
    expect(texts.join("")).not.toContain(String(proxy.port));
    expect(JSON.stringify(probe)).toContain("代理：用户名或密码被拒绝");
  });
});
