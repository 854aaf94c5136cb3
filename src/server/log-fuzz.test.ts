// Secrets in odd places, through the whole logger: not one comes out (requirements K08). LOG_FUZZ widens a run.
import { randomBytes } from "node:crypto";
import { inspect } from "node:util";
import { expect, test } from "vitest";
import { createDice, type Dice, pick } from "#test/seeds/random.ts";
import { rounds } from "#test/worlds/soak.ts";
import { hideSecret } from "./log/texts.ts";
import { createLogger } from "./log.ts";

const RUNS = Number(process.env["LOG_FUZZ"] ?? rounds(10_000, 1_000_000));
const SEED = Number(process.env["LOG_FUZZ_SEED"] ?? 20_261_120);

/** A piece this long, or a whole secret that is shorter, is a leak. */
const PIECE = 16;

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const SIGNS = `${BASE62} !"#$%&'()*+,-./:;<=>?@[\\]^_{|}~密钥ü`;

function draw(dice: Dice, alphabet: string, length: number): string {
  return Array.from({ length }, () => alphabet.charAt(dice(alphabet.length))).join("");
}

/** What must not be read, and the text that carries it. */
interface Made {
  readonly secret: string;
  readonly text: string;
}

const withPrefix = (prefix: string, length: number) => (dice: Dice) => {
  const secret = draw(dice, BASE62, length);
  return { secret, text: prefix + secret };
};

/** Known by their form: the logger was told of none of them. */
const FORMS: readonly ((dice: Dice) => Made)[] = [
  ...["sk-", "sk-ant-api03-", "sk-proj-", "sk-or-v1-", "rk-", "xai-", "gsk_", "hf_", "r8_", "nvapi-"].map(
    (prefix) => withPrefix(prefix, 40),
  ),
  ...["AIza", "ya29.", "ghp_", "gho_", "github_pat_", "glpat-", "xoxb-", "pplx-", "AKID", "LTAI", "AKLT"].map(
    (prefix) => withPrefix(prefix, 35),
  ),
  ...["Bearer ", "bearer\t", "Basic ", "Authorization: Digest ", "Bearer: "].map((prefix) =>
    withPrefix(prefix, 32),
  ),
  ...["password=", "x-api-key: ", "api_key: ", "apiKey='", 'client_secret="', "https://h.example/?key="].map(
    (prefix) => withPrefix(prefix, 24),
  ),
  ...[
    "https://h.example/a?b=c&access_token=",
    "mj-api-secret: ",
    "x-goog-api-key,",
    "Cookie: a=b; c=",
    "Authorization: Custom id=1, x=",
  ].map((prefix) => withPrefix(prefix, 24)),
  (dice) => {
    const secret = draw(dice, BASE62.slice(0, 36), 16);
    return { secret, text: `AKIA${secret}` };
  },
  (dice) => {
    const secret = `${draw(dice, BASE62, 40)}.${draw(dice, BASE62, 40)}`;
    return { secret, text: `eyJhbGciOiJIUzI1NiJ9.${secret}` };
  },
  (dice) => {
    const secret = draw(dice, BASE62, 24);
    return { secret, text: `postgres://tollgate:${secret}@db.internal:5432/tollgate` };
  },
  (dice) => {
    const secret = draw(dice, BASE62, 64);
    return { secret, text: `-----BEGIN PRIVATE KEY-----\n${secret}\n-----END PRIVATE KEY-----\n` };
  },
];

/** Of any form: the logger has been told. */
function canary(dice: Dice): Made {
  const alphabet = pick(dice, [BASE62, SIGNS, BASE62.slice(0, 16), BASE62.slice(36)]);
  const secret = draw(dice, alphabet, 12 + dice(60));
  hideSecret(secret, dice(2) === 0);
  return { secret, text: secret };
}

/** How another program writes a text, and how a reader would undo that. */
interface Coding {
  readonly code: (text: string) => string;
  readonly read: (line: string) => string;
}

const same = (text: string) => text;
const inJson = (text: string) => JSON.stringify({ m: text }).slice(5, -1);
const readJson = (line: string) =>
  line.replace(/\\(u[\da-f]{4}|.)/g, (_, sign: string) =>
    sign.length === 5
      ? String.fromCharCode(Number.parseInt(sign.slice(1), 16))
      : ({ n: "\n", t: "\t", r: "\r", b: "\b", f: "\f" }[sign] ?? sign),
  );
const readRuns = (runs: RegExp, coding: BufferEncoding) => (line: string) =>
  (line.match(runs) ?? [])
    .flatMap((run) => [0, 1, 2, 3].map((start) => Buffer.from(run.slice(start), coding).toString()))
    .join("\n");
/** Bytes as JSON and as Node print them. */
const readBytes = (line: string) =>
  Buffer.from(
    [...line.matchAll(/<Buffer ([\da-f ]+)|\[([\d,]+)\]/g)].flatMap(([, hex = "", list = ""]) => [
      ...Buffer.from(hex.replaceAll(" ", ""), "hex"),
      ...list.split(",").map(Number),
    ]),
  ).toString();
const percent = (text: string) =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
const readPercent = (line: string) =>
  line.replace(/(%[\da-f]{2})+/gi, (run) => Buffer.from(run.replaceAll("%", ""), "hex").toString());

const CODINGS: readonly Coding[] = [
  { code: same, read: same },
  { code: inJson, read: readJson },
  { code: (text) => inJson(inJson(text)), read: (line) => readJson(readJson(line)) },
  { code: encodeURIComponent, read: readPercent },
  { code: (text) => encodeURIComponent(inJson(text)), read: (line) => readJson(readPercent(line)) },
  { code: percent, read: readPercent },
  {
    code: (text) =>
      [...text]
        .map((letter) =>
          letter.length > 1 ? letter : `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
        )
        .join(""),
    read: readJson,
  },
  { code: (text) => Buffer.from(text).toString("base64"), read: readRuns(/[\w+/-]{8,}/g, "base64") },
  { code: (text) => Buffer.from(text).toString("base64url"), read: readRuns(/[\w+/-]{8,}/g, "base64") },
  {
    code: (text) => Buffer.from(`user:${text}`).toString("base64"),
    read: readRuns(/[\w+/-]{8,}/g, "base64"),
  },
  { code: (text) => Buffer.from(text).toString("hex"), read: readRuns(/[\da-f]{8,}/g, "hex") },
  // As they are when a caller has cut a message.
  { code: (text) => text.slice(0, Math.ceil(text.length * 0.8)), read: same },
];
/** Forms are looked for in what is written as text; what is hidden in base64 is only known when it is known itself. */
const TEXT_CODINGS = CODINGS.filter(({ code }) => !/base64|hex/.test(String(code)));

class Holder {
  readonly inner: unknown;
  #hidden = "hidden";
  constructor(inner: unknown) {
    this.inner = inner;
  }
  get shown(): unknown {
    return this.inner;
  }
  toJSON(): unknown {
    return { json: this.inner, hidden: this.#hidden };
  }
}

function errorWith(message: string, fields: object): Error {
  return Object.assign(new Error(message), fields);
}

function circular(value: unknown): object {
  const ring: Record<string, unknown> = { value };
  ring["self"] = ring;
  return ring;
}

function deep(value: unknown, depth: number): unknown {
  let nested = value;
  for (let level = 0; level < depth; level += 1)
    nested = level % 2 ? [nested] : { [`level${level}`]: nested };
  return nested;
}

/** Where a text may stand in what is logged. */
const PLACES: readonly ((text: string, dice: Dice) => unknown[])[] = [
  (text) => [text],
  (text) => [{ detail: text }, "relay"],
  (text) => ["failed: %s", text],
  (text) => [{ a: 1 }, "failed: %j %o", { text }, [text]],
  (text, dice) => [{ data: deep(text, dice(14)) }, "deep"],
  (text) => [{ list: ["a", text, { text }] }, "list"],
  (text) => [{ map: new Map([["a", text]]), set: new Set([text]) }, "map"],
  (text) => [{ map: new Map([[{ text }, 1]]) }, "map with objects as keys"],
  (text) => [{ err: new Error(text) }, "error"],
  (text) => [new Error(text)],
  (text) => [new Error("outer", { cause: new Error("inner", { cause: new TypeError(text) }) }), "causes"],
  (text) => [{ err: new AggregateError([new Error(text)], text) }, "many"],
  (text) => [{ err: errorWith("failed", { config: { headers: { accept: text } } }) }, "request failed"],
  (text) => [{ err: errorWith("failed", { request: new Holder(text), response: { data: [text] } }) }, "x"],
  (text) => [{ err: errorWith("failed", { stack: `Error: ${text}\n    at file:///app/a.ts:1:2` }) }, "stack"],
  (text) => [{ holder: new Holder(text) }, "instance"],
  (text) => [new Holder({ text }), "instance alone"],
  (text) => [{ [text]: 1, nested: { [text]: [1] } }, "key"],
  (text) => [{ bytes: Buffer.from(text), more: [new TextEncoder().encode(text)] }, "bytes"],
  (text) => [{ text: JSON.stringify({ bytes: Buffer.from(text) }) }, "bytes in JSON"],
  (text) => [{ text: inspect({ bytes: Buffer.from(text) }) }, "bytes, printed"],
  (text) => [{ [text]: 1 }, "key alone"],
  (text) => [circular(text), "ring"],
  (text) => [Object.assign(Object.create(null), { text }), "no prototype"],
  (text) => [{ text: Object(text) }, "boxed"],
  (text) => [{ url: new URL(`https://h.example/p?q=${encodeURIComponent(text)}`) }, "address"],
  (text) => [{ params: new URLSearchParams({ q: text }) }, "parameters"],
  (text) => [{ thrown: () => text, toJSON: () => text }, "functions"],
  (text, dice) => [
    { text: `${"long ".repeat(dice(8) ? 1 : 3_270 + dice(16))}${text}` },
    "at the end of what is kept",
  ],
  (text, dice) => [{ text: `${text} ${"long ".repeat(dice(8) ? 1 : 4_000)}` }, "at the head of what is cut"],
  (text) => [{ body: JSON.stringify({ error: { message: JSON.stringify({ text }) } }) }, "JSON in JSON"],
];

/** Where a secret of no known form is known by the name beside it. */
const NAMED_PLACES: readonly ((text: string) => unknown[])[] = [
  (text) => [{ headers: { "x-api-key": text, "API-Key": text, "x-goog-api-key": [text] } }, "headers"],
  (text) => [{ headers: { "Proxy-Authorization": text, "set-cookie": [text], Cookie: text } }, "headers"],
  (text) => [{ headers: { "X-Amz-Security-Token": text, "mj-api-secret": text, apikey: text } }, "headers"],
  (text) => [{ rawHeaders: ["accept", "*/*", "x-api-key", text, "Authorization", text] }, "raw headers"],
  (text) => [
    {
      headers: [
        ["accept", "*/*"],
        ["api-key", text],
      ],
    },
    "pairs",
  ],
  (text) => [{ headers: [{ name: "authorization", value: text }] }, "entries"],
  (text) => [{ headers: new Map([["authorization", text]]) }, "map"],
  (text) => [{ headers: new Headers({ "x-api-key": encodeURIComponent(text) }) }, "Headers"],
  (text) => [{ err: errorWith("failed", { config: { auth: { password: text, pass: text } } }) }, "error"],
  (text) => [
    { accessToken: text, access_token: text, refreshToken: { text }, Secret_Access_Key: text },
    "names",
  ],
  (text) => [{ databaseUrl: text, masterKey: text, "original-password": text, smtpPassword: text }, "names"],
  (text) => [{ body: JSON.stringify({ a: 1, api_key: text, nested: { password: text } }) }, "JSON"],
  (text) => [{ body: JSON.stringify({ error: JSON.stringify({ client_secret: text }) }) }, "JSON in JSON"],
  (text) => [{ url: `https://h.example/cb?a=b&code=${encodeURIComponent(text)}&state=1` }, "parameters"],
];

const EDGES = [
  "",
  " ",
  '"',
  "'",
  "{",
  "[",
  "(",
  ":",
  ",",
  "=",
  "\n",
  "\t",
  "错误：",
  "<",
  ">",
  "?k=",
  "&",
  "/",
  "…",
];

interface Shot {
  readonly secret: string;
  readonly read: (line: string) => string;
  readonly args: unknown[];
}

function aim(dice: Dice): Shot {
  const kind = dice(10);
  if (kind === 0) {
    const secret = draw(dice, BASE62, 20 + dice(20));
    return { secret, read: (line) => readPercent(readJson(line)), args: pick(dice, NAMED_PLACES)(secret) };
  }
  const isForm = kind < 5;
  const { secret, text } = isForm ? pick(dice, FORMS)(dice) : canary(dice);
  const { code, read } = pick(dice, isForm ? TEXT_CODINGS : CODINGS);
  const whole = `${pick(dice, EDGES)}${code(text)}${pick(dice, EDGES)}`;
  return { secret, read, args: pick(dice, PLACES)(whole, dice) };
}

/** All texts of a parsed line, names too. */
function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [name, ...textsIn(inner)]);
}

function leaks({ secret, read }: Shot, line: string): boolean {
  const texts = textsIn(JSON.parse(line)).join("\n");
  const seen = [
    texts,
    readJson(texts),
    read(texts),
    read(readJson(readJson(texts))),
    readPercent(texts),
    readBytes(texts),
  ].join("\n");
  const length = Math.min(PIECE, secret.length);
  for (let at = 0; at + length <= secret.length; at += 1) {
    if (seen.includes(secret.slice(at, at + length))) return true;
  }
  return false;
}

test(`${RUNS} secrets in odd places: not one is written`, { timeout: 300_000 }, () => {
  const dice = createDice(SEED);
  const lines: string[] = [];
  const logger = createLogger({
    logLevel: "trace",
    pretty: false,
    now: () => 0,
    destination: { write: (line) => void lines.push(line) },
  });
  const leaked: unknown[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    const shot = aim(dice);
    lines.length = 0;
    const target = dice(20) === 0 ? logger.child({ bound: shot.args }) : logger;
    // As a caller without types would: anything may come.
    Reflect.apply(target.error, target, target === logger ? shot.args : ["child"]);
    const [line = "", ...more] = lines;
    if (line === "" || more.length > 0 || line.indexOf("\n") !== line.length - 1 || leaks(shot, line))
      leaked.push({ run, secret: shot.secret, line: lines.join("").slice(0, 2_000) });
    if (leaked.length >= 5) break;
  }
  expect(leaked).toEqual([]);
});

test("random secrets are not found in an ordinary line", () => {
  for (let index = 0; index < 1_000; index += 1) hideSecret(randomBytes(24).toString("base64"), true);
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const logger = createLogger({ logLevel: "trace", pretty: false, now: () => 0, destination });
  const fields = { requestId: "2026112012000000000000112345678", model: "gpt-4o-mini", promptTokens: 5 };
  logger.info(fields, "relay");
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ level: "info", ...fields, msg: "relay" });
});
