// The whole printed API with values made from its own schemas, by everybody: no 5xx, answers as printed, no secret in any answer or
// log line. FUZZ_CALLS and FUZZ_SEED widen a run.
import fc from "fast-check";
import pino from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import type { Endpoint } from "#contract/endpoint.ts";
import { api } from "#contract/index.ts";
import { answerSchema, type JsonObject, type JsonValue, printOpenApi } from "#contract/openapi.ts";
import { optionTable } from "#contract/option.ts";
import { asRoot, createTestApp, databases, rootAccess, type TestApp, type Who } from "./app.ts";
import { anyJson, type Hints, recordOf, spoilt, valuesOf } from "./schema-values.ts";
import { seedPassword, seedToken, seedUser } from "./seed.ts";
import { seedChannel } from "./stores.ts";

const CALLS = Number(process.env["FUZZ_CALLS"] ?? 1_000);
const SEED = Number(process.env["FUZZ_SEED"] ?? 20_261_120);
/** After so many calls new people come, since the old ones may have been deleted, banned or renamed. */
const GENERATION = 150;

interface Operation {
  readonly route: string;
  readonly endpoint: Endpoint;
  readonly printed: JsonObject;
  readonly answer: z.ZodType;
}

/** Every operation of the printed document with the endpoint it was printed from. */
function operations(): Operation[] {
  const paths = recordOf(printOpenApi(api, "fuzz")["paths"]);
  return Object.values(api)
    .flatMap((resource) => Object.values<Endpoint>(resource))
    .map((endpoint) => {
      const path = endpoint.path.replace(/:(\w+)/g, "{$1}");
      const printed = recordOf(recordOf(paths[path])[endpoint.method.toLowerCase()]);
      // zod reads the printed schema back.
      const answer = z.fromJSONSchema(answerSchema(endpoint) as Parameters<typeof z.fromJSONSchema>[0]);
      return { route: `${endpoint.method} ${endpoint.path}`, endpoint, printed, answer };
    });
}

const table = new Map(operations().map((operation) => [operation.route, operation]));

/** Texts that must stay where they are. */
const canary = {
  channelKey: "sk-canary-channel-key-7f3a9b2c",
  otherKey: "canary-second-channel-8d4e1f",
  mail: "canary-smtp-token-11aa22",
  github: "canary-github-secret-33bb44",
  wechat: "canary-wechat-token-55cc66",
  pusher: "canary-pusher-token-77dd88",
  turnstile: "canary-turnstile-secret-99ee00",
} as const;
const SECRET_FORMS = /argon2id|\$2[aby]\$\d\d|key_sealed|key_hash|access_token_hash|v1:[\w-]{24}/;
/** Words of the inside: stacks, files, SQL. */
const INSIDES =
  /\n\s+at |node:internal|\/src\/server|SQLITE_|syntax error|constraint failed|violates|relation "/;

const callerNames = [
  "guest",
  "banned",
  "alice",
  "bob",
  "admin",
  "root",
  "session",
  "relay key",
  "nobody's token",
] as const;
type CallerName = (typeof callerNames)[number];
/** Those who get past the door get further. */
const often: readonly CallerName[] = ["root", "root", "admin", "admin", "alice", "session", "bob"];

interface Generation {
  readonly callers: Readonly<Record<CallerName, Who>>;
  readonly hints: Hints;
  /** Secrets of one person that no other may see. */
  readonly own: readonly { readonly secret: string; readonly owner: readonly CallerName[] }[];
}

/** Options whose change would make the server call out in ways this test does not answer. */
const LEFT_ALONE = ["SMTPServer", "MessagePusherAddress", "WeChatServerAddress"];

describe.each(databases)("fuzzing on $name", (database) => {
  let app: TestApp;
  let drop: () => Promise<void>;
  const lines: string[] = [];
  let serial = 0;
  let current: Generation;
  let calls = 0;
  /** Of all generations. */
  const personal = new Set<string>();
  const reached = new Map<string, number>();

  beforeAll(async () => {
    const made = await database.create();
    drop = made.drop;
    const logger = pino({ level: "trace" }, { write: (line: string) => void lines.push(line) });
    app = await createTestApp({ databaseUrl: made.url, logger });
    const { ctx } = app;
    // The world outside does not answer.
    Object.assign(ctx.egress, {
      send: (_: unknown, sink: { onFault(fault: { code: "dns"; detail: string }): void }) => {
        queueMicrotask(() => sink.onFault({ code: "dns", detail: "fuzz" }));
        return { isSent: false, pause: () => undefined, resume: () => undefined, abort: () => undefined };
      },
    });
    for (const [key, value] of [
      ["SMTPToken", canary.mail],
      ["GitHubClientSecret", canary.github],
      ["WeChatServerToken", canary.wechat],
      ["MessagePusherToken", canary.pusher],
      ["TurnstileSecretKey", canary.turnstile],
    ] as const)
      await ctx.options.set(key, value);
    for (const [index, key] of [canary.channelKey, canary.otherKey].entries())
      await seedChannel(ctx.db, {
        type: index === 0 ? 1 : 8,
        key_hash: ctx.secrets.hash(key),
        key_sealed: ctx.secrets.seal(key, "channels.key"),
        base_url: "https://upstream.example",
      });
    await ctx.coord.publish("channels", "");
    current = await people();
  }, 60_000);
  afterAll(async () => {
    await app.close();
    await drop();
  });

  /** New people with things of their own. */
  async function people(): Promise<Generation> {
    const { ctx } = app;
    serial += 1;
    const alice = await seedUser(ctx, `a${serial}`);
    const bob = await seedUser(ctx, `b${serial}`);
    const admin = await seedUser(ctx, `m${serial}`, { role: 10 });
    const banned = await seedUser(ctx, `x${serial}`, { status: 2 });
    const [aliceKey, bobKey] = [await seedToken(ctx, alice.id), await seedToken(ctx, bob.id)];
    // Not through the login, which after many wrong passwords is closed to this address.
    const session = { cookie: `session=${await ctx.sessions.start(alice.id)}` };
    const code = await app.call(asRoot, "POST", "/api/redemption/", {
      name: `r${serial}`,
      quota: 1_000,
      count: 1,
    });
    const codes: string[] = Array.isArray(code.data) ? code.data : [];
    const ids = [1, 2, 3, alice.id, bob.id, aliceKey.id, bobKey.id];
    return {
      callers: {
        guest: {},
        banned: banned.who,
        alice: alice.who,
        bob: bob.who,
        admin: admin.who,
        root: asRoot,
        session,
        "relay key": { authorization: `Bearer sk-${aliceKey.key}` },
        "nobody's token": { authorization: "0".repeat(32) },
      },
      hints: {
        id: ids,
        user_id: ids,
        username: [alice.username, bob.username, admin.username, "root", `n${serial}`],
        password: [seedPassword, "short", "a-good-password-1"],
        original_password: [seedPassword, "wrong-password-1"],
        action: ["enable", "disable", "delete", "promote", "demote"],
        key: [
          ...Object.keys(optionTable).filter((name) => !LEFT_ALONE.includes(name)),
          ...codes,
          "sk-new\nsk-other",
        ],
        value: ["true", "false", "0", "1", "{}", '{"default":1}', "https://example.com"],
        gift_code: ["", "NOPE", `A${serial}`],
        aff_code: ["", `A${serial}`],
        type: [0, 1, 1, 2, 3, 4, 8, 8, 30, 99],
        name: [`n${serial}`, "名称"],
        display_name: ["显示"],
        base_url: ["", "https://example.com"],
        model_mapping: ["", "{}", '{"a":"b"}'],
        config: ["", "{}"],
        other: ["", "x"],
        subnet: [""],
        quota: [0, 1_000, 500_000],
        remain_quota: [0, 5_000],
        count: [1, 3],
        expired_time: [-1, 4_000_000_000],
        weight: [0, 5],
        priority: [0, -3],
        status: [1, 2, 3],
        status_only: ["", "true"],
        scope: ["", "all", "disabled", "x"],
        group: ["default", "vip", "default,vip"],
        models: ["gpt-4o", "gpt-4o,claude-3"],
        p: ["0", "1", "-1", "1000000", "x"],
        size: ["10", "100", "0", "101", "x"],
        keyword: ["", "a", "%_%", "root", "1"],
        start_timestamp: ["0", "1", "1700000000", "-5"],
        end_timestamp: ["0", "1700000000", "99999999999999999999"],
        target_timestamp: ["0", "1", "99999999999"],
        verify: ["true", "false"],
        email: [`a${serial}@example.com`, "not-an-address", "x@qq.com"],
        order: ["id", "quota", "key_sealed", "id; DROP TABLE users"],
      },
      own: [
        { secret: aliceKey.key, owner: ["alice", "session"] },
        { secret: bobKey.key, owner: ["bob"] },
        { secret: alice.who["authorization"] ?? "", owner: [] },
        { secret: bob.who["authorization"] ?? "", owner: [] },
        { secret: admin.who["authorization"] ?? "", owner: [] },
        { secret: rootAccess, owner: [] },
        { secret: seedPassword, owner: [] },
      ],
    };
  }

  /** One call: by whom, and its path and body made from what is printed. Hints are those of the moment. */
  interface Draft {
    readonly route: string;
    readonly caller: CallerName;
    readonly path: string;
    readonly body: string | undefined;
  }

  function drafts(): fc.Arbitrary<Draft> {
    return fc
      .tuple(fc.constantFrom(...table.values()), fc.constantFrom(...callerNames, ...often))
      .chain(([operation, caller]) =>
        fc
          .tuple(pathOf(operation), bodyOf(operation))
          .map(([path, body]) => ({ route: operation.route, caller, path, body })),
      );
  }

  function pathOf({ endpoint, printed }: Operation): fc.Arbitrary<string> {
    const parameters = Array.isArray(printed["parameters"]) ? printed["parameters"].map(recordOf) : [];
    const values = parameters.map((parameter) => {
      const name = String(parameter["name"]);
      const texts = valuesOf(recordOf(parameter["schema"]), current.hints, name).map((value) =>
        typeof value === "string" ? value : JSON.stringify(value),
      );
      return fc
        .option(texts, { nil: undefined, freq: 4 })
        .map((text) => ({ name, place: parameter["in"], text }));
    });
    return fc.tuple(...values).map((given) => {
      const query = new URLSearchParams();
      let path: string = endpoint.path;
      for (const { name, place, text } of given) {
        if (place === "path") path = path.replace(`:${name}`, encodePath(text ?? "7"));
        else if (text !== undefined) query.set(name, text);
      }
      const search = query.toString();
      return search === "" ? path : `${path}?${search}`;
    });
  }

  function bodyOf({ printed }: Operation): fc.Arbitrary<string | undefined> {
    const content = recordOf(recordOf(recordOf(printed["requestBody"])["content"])["application/json"]);
    if (!content["schema"]) return fc.constant(undefined);
    const schema = recordOf(content["schema"]);
    const fitting = valuesOf(schema, current.hints);
    const names = Object.keys(recordOf(schema["properties"]));
    const value = fc.oneof(
      { weight: 7, arbitrary: fitting },
      { weight: 2, arbitrary: spoilt(fitting, names) },
      { weight: 1, arbitrary: anyJson },
    );
    const text = fc.constantFrom("", "{", "not json", '{"a":1}{"b":2}', "[".repeat(2_000));
    return fc.oneof(
      { weight: 15, arbitrary: value.map((one: JsonValue) => JSON.stringify(one)) },
      { weight: 1, arbitrary: text },
    );
  }

  async function make({ route, caller, path, body }: Draft): Promise<void> {
    const operation = table.get(route);
    if (!operation) throw new Error(route);
    const response = await app.request(path, {
      method: operation.endpoint.method,
      headers: { host: "localhost", "content-type": "application/json", ...current.callers[caller] },
      ...(body === undefined ? {} : { body }),
    });
    const text = await response.text();
    const what = `${caller}: ${operation.endpoint.method} ${path} ${body ?? ""} → ${response.status} ${text.slice(0, 300)}`;
    expect(response.status, what).toBeLessThan(500);
    for (const { secret } of current.own) personal.add(secret);
    const foreign = current.own.filter(({ owner }) => !owner.includes(caller)).map(({ secret }) => secret);
    for (const secret of [...foreign, ...Object.values(canary)]) expect(text, what).not.toContain(secret);
    expect(text, what).not.toMatch(SECRET_FORMS);
    // Too many calls have no body; a path with an odd id in it may be no path of the table any more.
    if (response.status !== 429 && response.status !== 404) judge(operation, JSON.parse(text), what);
  }

  /** Whether an answer is one of the two that are printed. */
  function judge({ route, answer: printed }: Operation, answer: JsonObject, what: string): void {
    expect(answer, what).toMatchObject({ success: expect.any(Boolean), message: expect.any(String) });
    expect(answer["message"], what).not.toMatch(INSIDES);
    if (answer["success"] === false) {
      expect(Object.keys(answer).sort(), what).toEqual(["data", "message", "success"]);
      return;
    }
    const read = printed.safeParse(answer);
    expect(read.success ? "" : JSON.stringify(read.error.issues), what).toBe("");
    reached.set(route, (reached.get(route) ?? 0) + 1);
  }

  test(
    `${CALLS} calls: no 5xx, answers as printed, nobody else's secret`,
    async () => {
      for (let start = 0; start < CALLS; start += GENERATION) {
        if (start > 0) current = await people();
        await fc.assert(
          fc.asyncProperty(drafts(), async (draft) => {
            calls += 1;
            await make(draft);
          }),
          // What one call did changes the next: making the failing one smaller would tell nothing.
          { numRuns: Math.min(GENERATION, CALLS - start), seed: SEED + start, endOnFailure: true },
        );
      }
      expect(calls).toBe(CALLS);
    },
    30_000 + CALLS * 60,
  );

  test("most of the table was got through to", () => {
    const missed = [...table.keys()].filter((route) => !reached.has(route));
    expect(missed.length, missed.join(", ")).toBeLessThan(table.size / 2);
  });

  test("no line of the log holds a secret, a password or a key", () => {
    const text = lines.join("");
    expect(lines.length).toBeGreaterThan(CALLS / 2);
    for (const secret of [...Object.values(canary), ...personal])
      expect(text.includes(secret), `${secret} in the log`).toBe(false);
    expect(text).not.toMatch(SECRET_FORMS);
    expect(lines.filter((line) => line.includes('"level":50') && line.includes("api failed"))).toEqual([]);
  });
});

/** As a browser would: everything but the slash may stand in a segment. */
function encodePath(text: string): string {
  try {
    return encodeURIComponent(text) || "%20";
  } catch {
    // Half a surrogate pair cannot be written.
    return "0";
  }
}
