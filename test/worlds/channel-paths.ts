// Every way in which a channel calls its vendor at once (requirements C10): what a client or an administrator asks for, and what it sees, with
// the proxy and without. What goes on in the background is in `task-paths`.
import { generateKeyPairSync } from "node:crypto";
import { queryBalance } from "#server/channels/balance-query.ts";
import { withKey } from "#server/channels/candidates.ts";
import { testKey } from "#server/channels/key-tests.ts";
import { testChannel } from "#server/channels/probe.ts";
import { listUpstreamModels } from "#server/channels/upstream-models.ts";
import { addKeys, listSealedKeys } from "#server/store/channel-keys.ts";
import { ChinaEmulator } from "#test/emulators/china-emulator.ts";
import { createFakeRealtime } from "#test/emulators/fake-realtime.ts";
import { chatReply, chunk, DONE, json, raw, type Step, sse } from "#test/emulators/fake-upstream.ts";
import { beginTalk } from "#test/emulators/realtime-client.ts";
import { openResponses } from "#test/emulators/responses-client.ts";
import type { ChannelExit } from "./channel-exit.ts";
import { named, placeOf } from "./outside-proxies.ts";
import { MODEL, QUESTION } from "./relay-world.ts";

/** A path: where it goes, and what is seen of it. */
export interface ChannelPath {
  /** Adds the channel and what the call needs; returns the call, which is made once with each proxy. */
  begin(exit: ChannelExit): Promise<() => Promise<string>>;
  /** What is seen when it goes well. */
  readonly good: string;
  /** What is seen when the channel's proxy is not there. */
  readonly down: string;
  /** Another channel serves then. */
  readonly movesOn?: true;
  /** Where it goes besides the vendor's own host. */
  readonly besides?: (exit: ChannelExit) => readonly string[];
}

/** What a client sees of a channel whose proxy is not there. */
export const UNREACHED = "502 proxy_failed 无法连接上游";
/** The same in a format that has no place for a code of ours. */
const UNREACHED_BARE = "502 无法连接上游";

/** A call of clients that other channels can serve. */
const relayed = (begin: ChannelPath["begin"], more: Partial<ChannelPath> = {}): ChannelPath => ({
  begin,
  good: "200",
  down: UNREACHED,
  movesOn: true,
  ...more,
});

interface Posted {
  /** Type of the channel. */
  readonly type?: number;
  /** Where the body does not name it. */
  readonly model?: string;
  readonly more?: Partial<ChannelPath>;
}

/** One POST of this body, to which the vendor says this. */
const posted = (path: string, body: object, answer: Step, { type = 8, more, ...asked }: Posted = {}) =>
  relayed(async (exit) => {
    const { model = MODEL } = { ...(body as { model?: string }), ...asked };
    await exit.add({ type, models: model });
    exit.world.upstream.script(answer);
    return () => exit.told("POST", path, body);
  }, more);

const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const MESSAGE = {
  ...{ id: "msg_1", type: "message", role: "assistant", model: "claude-sonnet-4-6" },
  ...{ content: [{ type: "text", text: "hi" }], stop_reason: "end_turn" },
  usage: { input_tokens: 1, output_tokens: 1 },
};
const RESPONSE = {
  ...{ id: "resp_1", object: "response", status: "completed", model: "gpt-4o", created_at: 1 },
  output: [
    {
      ...{ type: "message", id: "m", role: "assistant", status: "completed" },
      content: [{ type: "output_text", text: "hi", annotations: [] }],
    },
  ],
  usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
};
const SPEECH = raw("mp3", { "content-type": "audio/mpeg" });
const REALTIME = "gpt-realtime";
const HELLO = [{ role: "user", content: "hello" }];

function spoken(): FormData {
  const form = new FormData();
  form.set("model", "whisper-1");
  form.set("file", new Blob([Buffer.alloc(4_000)]), "a.mp3");
  return form;
}

/** Vertex keys sign with RSA; one pair is enough. */
const { privateKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
});
let accounts = 0;

/** A service account that no token is known of. */
function accountKey(tokenUrl: string): string {
  accounts += 1;
  return JSON.stringify({
    project_id: "p",
    client_email: `robot-${accounts}@p.iam.example`,
    private_key: privateKey,
    token_uri: tokenUrl,
  });
}

const GOOGLE_CHAT = {
  candidates: [{ content: { role: "model", parts: [{ text: "hi" }] }, finishReason: "STOP" }],
};
/** Google's hosts on one server: tokens, media, the model. */
const google: Step = (res, asked) => {
  if (asked.path === "/token")
    return json({ access_token: "ya29.token-of-the-test", expires_in: 3600 })(res, asked);
  if (asked.path === "/a.png") return raw("png", { "content-type": "image/png" })(res, asked);
  return json(GOOGLE_CHAT)(res, asked);
};
const GEMINI = "gemini-2.5-flash";
/** A caller's address is resolved here, and the proxy is asked for what was judged. */
export const CALLER = { name: "caller.example", address: "93.184.216.34" };
const TOKENS = "token.example";

/** What an administrator is told: good, or why not. */
const verdictOf = (told: { ok: boolean; message?: string }) => (told.ok ? "good" : (told.message ?? ""));
const PROBED = "无法连接上游（代理：无法连接）";

export const CHANNEL_PATHS: Readonly<Record<string, ChannelPath>> = {
  "a chat": posted("/v1/chat/completions", QUESTION, json(chatReply("hi"))),
  "a stream": posted(
    "/v1/chat/completions",
    { ...QUESTION, stream: true },
    sse(chunk({ content: "hi" }), DONE),
  ),
  Responses: posted("/v1/responses", { model: "gpt-4o", input: "hi" }, json(RESPONSE), { type: 1 }),
  Messages: posted(
    "/v1/messages",
    { model: "claude-sonnet-4-6", messages: HELLO, max_tokens: 9 },
    json(MESSAGE),
    { type: 14, more: { down: UNREACHED_BARE } },
  ),
  generateContent: posted(
    `/v1beta/models/${GEMINI}:generateContent`,
    { contents: [{ role: "user", parts: [{ text: "hi" }] }] },
    json(GOOGLE_CHAT),
    { type: 24, model: GEMINI, more: { down: UNREACHED_BARE } },
  ),
  embeddings: posted(
    "/v1/embeddings",
    { model: "text-embedding-3-small", input: "hi" },
    json({ object: "list", data: [{ object: "embedding", index: 0, embedding: [0.1] }], usage: USAGE }),
  ),
  images: posted(
    "/v1/images/generations",
    { model: "dall-e-2", prompt: "a cat", size: "256x256" },
    json({ created: 1, data: [{ url: "https://pictures.example/1" }] }),
  ),
  speech: posted("/v1/audio/speech", { model: "tts-1", input: "hi", voice: "alloy" }, SPEECH),
  transcriptions: relayed(async (exit) => {
    await exit.add({ models: "whisper-1" });
    exit.world.upstream.script(json({ text: "hi" }));
    return () => exit.told("POST", "/v1/audio/transcriptions", spoken());
  }),
  "a realtime conversation": relayed(
    async (exit) => {
      const provider = await exit.kept(createFakeRealtime());
      await exit.add({ type: 1, baseUrl: named(provider.url), models: REALTIME });
      provider.script((talk) => talk.say({ type: "session.created", session: { model: REALTIME } }));
      return async () => {
        const client = beginTalk(exit.world.url, exit.world.token.key, REALTIME);
        await Promise.race([client.until("session.created"), client.closed]);
        const said = client.events.map(({ type, error }) => error?.code ?? type);
        client.socket.terminate();
        return said.join();
      };
    },
    { good: "session.created", down: "proxy_failed" },
  ),
  "Responses on a socket": relayed(
    async (exit) => {
      await exit.add({ type: 1, models: "gpt-4o" });
      exit.world.upstream.script(
        sse(
          `event: response.completed\ndata: ${JSON.stringify({ type: "response.completed", response: RESPONSE })}\n\n`,
        ),
      );
      return async () => {
        const client = openResponses(exit.world.url, exit.world.token.key);
        const [last] = (await client.create({ model: "gpt-4o", input: "hi" })).slice(-1);
        client.socket.terminate();
        if (last.type !== "error") return last.type;
        return `${last.status} ${last.error.code} ${last.error.message.split(" (")[0]}`;
      };
    },
    { good: "response.completed" },
  ),
  "Spark's socket": relayed(async (exit) => {
    const china = await chinese(exit);
    await exit.add({
      ...{ type: 18, key: "spark-app|spark-secret|spark-key", mapping: { [MODEL]: "Spark-Max" } },
      baseUrl: named(china.url.replace("http", "ws")),
    });
    return () => exit.told("POST", "/v1/chat/completions", QUESTION);
  }),
  "Google's token, at another host": relayed(
    async (exit) => {
      const key = accountKey(`${named(exit.world.upstream.url, TOKENS)}/token`);
      await exit.add({ type: 42, key, models: GEMINI });
      exit.world.upstream.script(google);
      return () => exit.told("POST", "/v1/chat/completions", { ...QUESTION, model: GEMINI });
    },
    { besides: (exit) => [placeOf(exit.world.upstream.url, TOKENS)] },
  ),
  "Baidu's token": relayed(async (exit) => {
    const china = await chinese(exit);
    const mapping = { [MODEL]: "ERNIE-3.5-8K" };
    await exit.add({ type: 15, key: "api-key-1|secret-1", baseUrl: named(china.url), mapping });
    return () => exit.told("POST", "/v1/chat/completions", QUESTION);
  }),
  "a picture that a caller names": relayed(
    async (exit) => {
      await exit.add({ type: 24, models: GEMINI });
      exit.world.upstream.script(google);
      const url = `${named(exit.world.upstream.url, CALLER.name)}/a.png`;
      const content = [
        { type: "text", text: "what" },
        { type: "image_url", image_url: { url } },
      ];
      const question = { model: GEMINI, messages: [{ role: "user", content }] };
      return () => exit.told("POST", "/v1/chat/completions", question);
    },
    { besides: (exit) => [placeOf(exit.world.upstream.url, CALLER.address)] },
  ),
  "a channel's test": {
    begin: async (exit) => {
      await exit.add();
      return async () => {
        const probe = await testChannel(exit.world.ctx, exit.live());
        return probe.ok ? "good" : `${probe.message} ${probe.isDisabling}`;
      };
    },
    good: "good",
    down: `${PROBED} false`,
  },
  "a key's test": {
    begin: async (exit) => {
      const { db } = exit.world.ctx;
      await exit.add();
      await db.transaction().execute((tx) => addKeys(tx, exit.id, [], 1));
      return async () => {
        const [row] = await listSealedKeys(db, exit.id);
        if (row === undefined) throw new Error("the channel has no key");
        return verdictOf(await testKey(exit.world.ctx, exit.live(), row));
      };
    },
    good: "good",
    down: PROBED,
  },
  "a list of models": {
    begin: async (exit) => {
      await exit.add();
      exit.world.upstream.script(json({ data: [{ id: "m" }] }));
      return async () => verdictOf(await listUpstreamModels(exit.world.ctx, withKey(exit.live())));
    },
    good: "good",
    down: "获取模型列表失败（proxy_unreachable）",
  },
  "a balance": {
    begin: async (exit) => {
      await exit.add();
      exit.world.upstream.script((res, asked) =>
        json(asked.path.includes("usage") ? { total_usage: 100 } : { hard_limit_usd: 5 })(res, asked),
      );
      return async () => verdictOf(await queryBalance(exit.world.ctx, exit.live()));
    },
    good: "good",
    down: "查询余额失败（proxy_unreachable）",
  },
};

function chinese(exit: ChannelExit): Promise<ChinaEmulator> {
  const china = new ChinaEmulator();
  return exit.kept(china.start().then(() => china));
}
