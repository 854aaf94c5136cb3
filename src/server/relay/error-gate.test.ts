// Every error that a client gets is typed, short, names the request and reveals no internals (requirements P02).
import { beforeEach, describe, expect, it } from "vitest";
import {
  channelFault,
  localFault,
  nativeFault,
  networkFault,
  ownFault,
  type RelayFault,
  saturated,
  statusFault,
  unmappableFault,
  unreadableFault,
  wireFault,
} from "#server/upstream/errors/fault.ts";
import { errorIn } from "#server/upstream/handlers/classify.ts";
import { raw, sse } from "#test/emulators/fake-upstream.ts";
import { createDice, type Dice, pick } from "#test/seeds/random.ts";
import { CHANNEL_KEY, createRelayWorld, MODEL, QUESTION } from "#test/worlds/relay-world.ts";
import { clientBody } from "#test/worlds/wire-cases.ts";
import { errorFormats, realtimeError, responsesStream } from "./http/error-format.ts";

const ROUNDS = 1_000;
/** Characters of an error as JSON. */
const LONGEST = 10_000;
const LONGEST_MESSAGE = 2_100;
const HOST = "api.upstream-canary.example";
const SECRETS = [CHANNEL_KEY, HOST];

/** What no client may read. */
const INSIDE: readonly RegExp[] = [
  /\bat .{0,200}\([^)]*:\d+:\d+\)|\bat (file|node|async|\/).{0,200}:\d+:\d+|\bTraceback \(most|File "[^"]+", line \d/,
  /\b(SELECT\b.*\bFROM|INSERT INTO|UPDATE\b.*\bSET|DELETE FROM)\b/,
  /(^|[\s"'`(=:])\/(app|etc|home|opt|root|srv|tmp|usr|var)\/|[A-Za-z]:\\\\?(Users|app|srv)|file:\/\/\//,
  /\b\d{1,3}(\.\d{1,3}){3}\b|\blocalhost\b|\.(internal|local|svc|lan)\b|fd00:|upstream-canary/,
  /canary|sk-[a-z]/,
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]|\\u00[01]\w(?<!\\u000[9aAdD])/,
];

const ODD: readonly string[] = [
  "TypeError: x is not a function\n    at Object.run (/app/dist/server.js:10:15)\n    at node:internal/main:5:3",
  "boom at async handler (file:///srv/gateway/src/index.ts:1:2)",
  'Traceback (most recent call last):\n  File "/usr/lib/python3/app.py", line 12, in run\nValueError: no',
  "duplicate key: INSERT INTO tokens (id, key) VALUES (1, 'x')",
  "SELECT * FROM users WHERE id = 1 -- failed",
  "UPDATE users SET quota = 5 WHERE id = 1",
  "cannot open /var/lib/gateway/keys.json: ENOENT",
  "C:\\Users\\admin\\keys.txt is locked",
  "connect ECONNREFUSED 10.0.3.7:5432 and [fd00::12]:80",
  "dial tcp: lookup vault.prod.internal on localhost:53, api.default.svc.cluster.local",
  `upstream https://${HOST}/v1/chat said no`,
  `bad key ${CHANNEL_KEY}`,
  `bad key ${CHANNEL_KEY.replace("c", "\\u0063")}`,
  "\u001b[31mred\u001b[0m\u0000\u0007bell",
  "x".repeat(5_000),
  "模型不存在",
  "",
  "The model `gpt-9` does not exist",
];

const DEEP = "[".repeat(20_000) + "]".repeat(20_000);

/** An upstream's error as it is sent. */
function oddError(at: Dice, isEvent = false): string {
  const text = () => pick(at, ODD) + (at(100) < 30 ? `; ${pick(at, ODD)}` : "");
  const error: Record<string, unknown> = { message: text(), type: text(), param: text(), code: text() };
  if (at(100) < 40) error["code"] = at(1000);
  if (at(100) < 30) error["details"] = Array.from({ length: at(40) }, () => ({ [text()]: text() }));
  if (at(100) < 5) error["deep"] = "@deep";
  if (at(100) < 2) error["message"] = "z".repeat(1_000_000);
  const shapes = [
    () => ({ error }),
    () => ({ type: "error", error, request_id: text() }),
    () => ({ error: text() }),
    () => [{ error: { ...error, status: "INTERNAL" } }],
    () => ({ message: text(), detail: text() }),
    () => ({ base_resp: { status_code: 1000, status_msg: text() } }),
    () => text(),
  ];
  const shape = isEvent ? () => ({ type: "error", error }) : pick(at, shapes);
  return JSON.stringify(shape()).replace('"@deep"', DEEP);
}

const STATUSES = [400, 401, 403, 404, 409, 413, 422, 429, 500, 502, 503, 529, 302, 600] as const;

function oddFault(at: Dice): RelayFault {
  const status = pick(at, STATUSES);
  const text = pick(at, ODD);
  const body = at(100) < 20 ? Buffer.from(`<html><title>${text}</title>`) : Buffer.from(oddError(at));
  const error = { status, ...errorIn(body), retryAfterMs: 0, secrets: SECRETS };
  const made = [
    () => statusFault(error),
    () => nativeFault(error),
    () => saturated(statusFault(error)),
    () => wireFault({ status, message: text, code: pick(at, ODD), type: pick(at, ODD) }, SECRETS),
    () => networkFault({ code: "reset", detail: text }),
    () => ownFault(new TypeError(text)),
    () => unreadableFault(text, status),
    () => channelFault("invalid_channel_address", "渠道地址配置有误", text),
    () =>
      localFault(400, "invalid", `参数 ${"m".repeat(1e5)} 无效`, { param: "p".repeat(1e5), detail: text }),
    () => unmappableFault("p".repeat(1e5), "不支持"),
  ];
  return pick(at, made)();
}

function check(told: string, what: string): void {
  expect(told.length, what).toBeLessThan(LONGEST);
  for (const pattern of INSIDE) expect(told.match(pattern)?.[0], what).toBeUndefined();
}

/** What a client makes of an error, in the shape of each format. */
function partsOf(body: unknown): { message: unknown; type: unknown } {
  const { error } = body as { error: { message: unknown; type?: unknown; status?: unknown } }; // checked by the caller
  return typeof error === "string"
    ? { message: error, type: "" }
    : { message: error.message, type: error.type ?? error.status };
}

describe("the words of every fault, in every format", () => {
  const asking = { model: "m", body: clientBody(Buffer.from('{"model":"m"}')), startedMs: 0 };
  const all = { ...errorFormats, responsesStream: responsesStream(asking) };
  it.each(Object.entries(all))("are fit for a client: %s", (name, errorFormat) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const fault = oddFault(createDice(round));
      const what = `${name}, round ${round}`;
      const body = JSON.stringify(errorFormat.body(fault, "req-1"));
      check(body, what);
      // A stream may send it twice.
      for (const told of errorFormat.lastEvent(fault, "req-1").split("\n\n")) check(told, what);
      check(realtimeError(fault, "req-1"), what);
      if (fault.verbatim === undefined) {
        expect(body, what).toContain("req-1");
        const { message, type } = partsOf(JSON.parse(body));
        expect(String(message).length, what).toBeLessThan(LONGEST_MESSAGE);
        expect(typeof type, what).toBe("string");
      }
    }
  });
});

describe("over HTTP", () => {
  const world = createRelayWorld();
  const CLAUDE = "claude-sonnet-4-6";
  const GEMINI = "gemini-2.5-flash";
  const { messages } = QUESTION;
  const ASKS: readonly [string, object][] = [
    ["/v1/chat/completions", { ...QUESTION }],
    ["/v1/messages", { model: CLAUDE, max_tokens: 10, messages }],
    [`/v1beta/models/${GEMINI}:generateContent`, { contents: [{ role: "user", parts: [{ text: "hi" }] }] }],
    ["/v1/responses", { model: MODEL, input: "hi" }],
    ["/v1/messages", { model: MODEL, max_tokens: 10, messages }],
  ];

  beforeEach(async () => {
    await world.addChannel();
    await world.addChannel({ type: 14, models: CLAUDE });
    await world.addChannel({ type: 24, models: GEMINI });
  });

  it("an error reveals no internals, and names the request", async () => {
    for (let round = 0; round < 150; round += 1) {
      const at = createDice(round);
      const [path, body] = pick(at, ASKS);
      const isEvent = at(100) < 30;
      const odd = isEvent || at(100) < 90 ? oddError(at, isEvent) : pick(at, ODD);
      const text = odd.replaceAll(HOST, new URL(world.upstream.url).host);
      const type = { "content-type": pick(at, ["application/json", "text/html", "text/event-stream"]) };
      const status = isEvent ? 200 : pick(at, [400, 404, 422, 429, 500, 529]);
      world.upstream.script(isEvent ? sse(`data: ${text}\n\n`) : raw(text, type, status));
      const response = await world.ask(
        { ...body, ...(isEvent && !path.includes("beta") && { stream: true }) },
        { path },
      );
      const what = `round ${round}: ${path} ${status}`;
      expect(response.status, what).toBeGreaterThanOrEqual(400);
      expect(response.headers.get("x-oneapi-request-id"), what).toMatch(/^\w{8,}/);
      check(await response.text(), what);
    }
  });

  it("an error stays short whatever the caller sends", async () => {
    const long = "y".repeat(100_000);
    const bodies = [
      { model: long, messages },
      { ...QUESTION, model: 1 },
      `{"${long}`,
      { ...QUESTION, n: long },
      long,
    ];
    for (const [path] of ASKS)
      for (const body of bodies) {
        const response = await world.ask(body, { path });
        check(await response.text(), path);
      }
    const lost = await world.ask({}, { path: `/v1/${"z".repeat(10_000)}` });
    expect((await lost.text()).length).toBeLessThan(2_000);
  });
});
