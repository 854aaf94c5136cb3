// Channels of New API after the move: the same requests of the official SDK leave through the channel's proxy as New API sends them, byte for
// byte, and answers keep their statuses (requirements C30, C37, C38).
import { join } from "node:path";
import OpenAI, { APIError } from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chatReply } from "#test/emulators/fake-upstream.ts";
import { type ProxyWorld, startChainProxy, startSocksProxy } from "#test/emulators/proxies.ts";
import { type RawRequest, type RawUpstream, startRawUpstream } from "#test/emulators/raw-upstream.ts";
import { newApi } from "#test/seeds/new-api.ts";
import {
  type Ask,
  CASES,
  type Case,
  HI,
  operations,
  PATH,
  SEVERAL,
  STATUS_MAPPING,
  STATUSES,
} from "#test/seeds/new-api-channels.ts";
import { keys } from "#test/seeds/one-api.ts";
import { writeSqlite } from "#test/seeds/one-api-files.ts";
import { importByCommand } from "#test/worlds/import-command.ts";
import { type ServerProcess, startServer, temporaryDir } from "#test/worlds/process.ts";

const STREAMED = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "hi" } }] })}\n\ndata: [DONE]\n\n`;
const dir = temporaryDir();
let upstream: RawUpstream;
let proxies: readonly ProxyWorld[];
let server: ServerProcess;
let client: OpenAI;
let report = "";

function answerTo({ body }: RawRequest): string {
  const asked: { model?: string; stream?: boolean } = JSON.parse(body);
  const [status = 200] = Object.entries(STATUSES).find(([model]) => model === asked.model)?.[1] ?? [];
  const isStream = asked.stream === true && status === 200;
  const text = isStream
    ? STREAMED
    : JSON.stringify(status === 200 ? chatReply("hi") : { error: { message: "no", code: "no" } });
  const type = isStream ? "text/event-stream" : "application/json";
  return `HTTP/1.1 ${status} X\r\ncontent-type: ${type}\r\ncontent-length: ${Buffer.byteLength(text)}\r\nconnection: close\r\n\r\n${text}`;
}

/** Channels have one of either kind in turn. */
function proxyOf(at: number): ProxyWorld {
  const [socks, http] = proxies;
  const proxy = at % 2 === 0 ? socks : http;
  if (proxy === undefined) throw new Error("no proxy");
  return proxy;
}

/** What the source has of a channel: its name, its only model and its key in one word, its proxy. */
function channelRow(name: string, at: number, { channel, setting }: Pick<Case, "channel" | "setting">) {
  const address = `user:p%40ss@127.0.0.1:${proxyOf(at).port}`;
  return {
    id: at + 1,
    name,
    models: name,
    key: `sk-${name}`,
    // No resolver knows it: nothing arrives but through a proxy.
    base_url: `http://upstream.example:${upstream.port}`,
    setting: JSON.stringify({ ...setting, proxy: `${at % 2 === 0 ? "socks5" : "http"}://${address}` }),
    ...channel,
  };
}

beforeAll(async () => {
  upstream = await startRawUpstream(answerTo);
  proxies = [await startSocksProxy("user:p@ss"), await startChainProxy("user:p@ss")];
  const refusal = { message: "not here", status_code: 403, code: "denied" };
  const wanted: readonly (readonly [name: string, Pick<Case, "channel" | "setting">])[] = [
    ...Object.entries(CASES),
    ...Object.entries(SEVERAL).map(([name, channel]) => [name, { channel }] as const),
    ...Object.keys(STATUSES).map(
      (name) => [name, { channel: { status_code_mapping: STATUS_MAPPING } }] as const,
    ),
    ["far", { channel: { group: "far" } }],
    ["refused", { channel: { param_override: operations({ mode: "return_error", value: refusal }) } }],
  ];
  const file = join(dir.path, "new-api.db");
  writeSqlite(
    file,
    newApi({
      tokens: [
        { id: 1, user_id: 1, key: keys.root, name: "root" },
        { id: 2, user_id: 1, key: keys.alice, name: "auto", group: "auto", cross_group_retry: true },
        { id: 3, user_id: 1, key: keys.orphan, name: "gone", group: "gone" },
      ],
      channels: wanted.map(([name, channel], at) => channelRow(name, at, channel)),
      options: {
        RetryTimes: "0",
        ModelRatio: JSON.stringify(Object.fromEntries(wanted.map(([name]) => [name, 1]))),
        AutomaticDisableChannelEnabled: "false",
        GroupRatio: '{"default":1,"near":1,"far":1}',
        UserUsableGroups: '{"near":"","far":""}',
        AutoGroups: '["near","far"]',
      },
    }),
  );
  const dataDir = join(dir.path, "data");
  const { code, lines } = await importByCommand(file, dataDir);
  report = lines.join("\n");
  expect(code, report).toBe(0);
  server = await startServer(dataDir);
  client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: `sk-${keys.root}`, maxRetries: 0 });
});

afterAll(async () => {
  await server?.kill();
  await Promise.all(proxies.map((proxy) => proxy.close()));
  await upstream.close();
  dir.remove();
});

/** Asks by the SDK and reads the answer to its end. Returns the one request that arrived. */
async function sentFor(model: string, ask: Ask, headers: Readonly<Record<string, string>> = {}) {
  const before = upstream.requests.length;
  // A model in the question stands where the question has it.
  const params = "model" in ask ? { ...ask, model } : { model, ...ask };
  const answer = await client.chat.completions.create(params as OpenAI.ChatCompletionCreateParams, {
    headers,
  });
  if (Symbol.asyncIterator in answer) for await (const _chunk of answer);
  const [request, ...more] = upstream.requests.slice(before);
  expect(more).toEqual([]);
  if (request === undefined) throw new Error("nothing arrived");
  return request;
}

function caseOf(name: string): Case {
  const found = CASES[name];
  if (found === undefined) throw new Error(`no case ${name}`);
  return found;
}

describe("what leaves", () => {
  it.each(Object.keys(CASES).map((name, at) => [name, at] as const))("%s", async (name, at) => {
    const { ask, headers, line = PATH, sent = {}, body } = caseOf(name);
    const { asked } = proxyOf(at);
    const tunnels = asked.length;
    const request = await sentFor(name, ask, headers);
    expect(request.body).toBe(body);
    expect(request.line).toBe(line);
    expect(request.headers.get("content-type")).toBe("application/json");
    for (const [header, value] of Object.entries(sent)) expect(request.headers.get(header) ?? "").toBe(value);
    // Through the channel's own proxy, which is told the name.
    const target = `upstream.example:${upstream.port}`;
    expect(request.headers.get("host")).toBe(target);
    expect(asked.slice(tunnels)).toEqual([target]);
  });
});

describe("several keys", () => {
  async function keysOf(model: string, calls: number): Promise<string[]> {
    const seen: string[] = [];
    for (let call = 0; call < calls; call += 1) {
      const { headers, body } = await sentFor(model, { messages: HI });
      expect(body).toBe(`{"model":"${model}","messages":[{"role":"user","content":"hi"}]}`);
      // The header that names the key has the one that is called with.
      expect(`Bearer ${headers.get("x-key")}`).toBe(headers.get("authorization"));
      seen.push(headers.get("x-key") ?? "");
    }
    return seen;
  }

  it("at random: each that is enabled, never another one", async () => {
    expect(new Set(await keysOf("random", 30))).toEqual(new Set(["sk-r1", "sk-r3"]));
  });

  it("in turn: each that is enabled after the one before it", async () => {
    const order = ["sk-p2", "sk-p3", "sk-p4"];
    const seen = await keysOf("polled", 6);
    const start = order.indexOf(seen[0] ?? "");
    expect(seen).toEqual(Array.from({ length: 6 }, (_, call) => order[(start + call) % 3]));
  });
});

it("a token with the group auto is served by the first of its groups that has a channel", async () => {
  const as = (key: string) => new OpenAI({ baseURL: `${server.url}/v1`, apiKey: `sk-${key}`, maxRetries: 0 });
  const ask = { model: "far", messages: HI };
  expect((await as(keys.alice).chat.completions.create(ask)).choices).toHaveLength(1);
  await expect(client.chat.completions.create(ask)).rejects.toMatchObject({ status: 503 });
  await expect(as(keys.orphan).chat.completions.create(ask)).rejects.toMatchObject({ status: 403 });
});

describe("what comes back", () => {
  async function failureOf(model: string): Promise<APIError> {
    const failed = await client.chat.completions
      .create({ model, messages: HI })
      .catch((error: unknown) => error);
    if (!(failed instanceof APIError)) throw new Error(`${model} did not fail`);
    return failed;
  }

  it.each(Object.entries(STATUSES))("%s: %j", async (model, [, told]) => {
    const before = upstream.requests.length;
    expect((await failureOf(model)).status).toBe(told);
    expect(upstream.requests.length).toBe(before + 1);
  });

  it("an operation that refuses does so without a call", async () => {
    const before = upstream.requests.length;
    const { status, message } = await failureOf("refused");
    expect([status, message]).toEqual([403, expect.stringContaining("not here")]);
    expect(upstream.requests.length).toBe(before);
  });

  it("nothing of it was left out by the import, but for what it names", () => {
    expect(report).not.toContain("has no words here");
    expect(report).toContain(
      "settings of channels that have no place here were left out: allowed (allow_service_tier)",
    );
    expect(report).toContain(
      "model mappings that did nothing, since bodies passed as they were, were left out: passed",
    );
    expect(report).not.toContain("p%40ss");
  });
});
