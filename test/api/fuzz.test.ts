// The whole printed API, each endpoint as it should be called and then with values made from its own schemas, by every actor: no 5xx,
// answers as printed, no secret in any answer or log line. FUZZ_CALLS and FUZZ_SEED widen a run.
import fc from "fast-check";
import pino from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import type { Endpoint } from "#contract/endpoint.ts";
import { api } from "#contract/index.ts";
import { answerSchema, type JsonObject, type JsonValue, printOpenApi } from "#contract/openapi.ts";
import { guide } from "#test/seeds/fuzz-recipes.ts";
import { anyJson, recordOf, spoilt, valuesOf } from "#test/seeds/schema-values.ts";
import { databases, type Who } from "#test/worlds/app.ts";
import {
  type CallerName,
  callerNames,
  canary,
  createFuzzWorld,
  type FuzzWorld,
  type Generation,
  type Guided,
  newPeople,
} from "#test/worlds/fuzz-world.ts";
import { rounds } from "#test/worlds/soak.ts";
import { freshAddress } from "#test/worlds/visitor.ts";

const CALLS = Number(process.env["FUZZ_CALLS"] ?? rounds(2_700, 10_500));
const SEED = Number(process.env["FUZZ_SEED"] ?? 20_261_120);
/** After so many calls new users are made, since the old ones may have been deleted, banned or renamed. */
const GENERATION = 350;

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

const SECRET_FORMS = /argon2id|\$2[aby]\$\d\d|key_sealed|key_hash|access_token_hash|v1:[\w-]{24}/;
/** Internal details: stacks, files, SQL. */
const INSIDES =
  /\n\s+at |node:internal|\/src\/server|SQLITE_|syntax error|constraint failed|violates|relation "/;

/** Actors that are let in reach more code. */
const often: readonly CallerName[] = ["root", "root", "admin", "admin", "alice", "session", "bob"];

describe.each(databases)("fuzzing on $name", (database) => {
  let world: FuzzWorld;
  const lines: string[] = [];
  let current: Generation;
  /** The calls that succeed, as they were made for the current users. */
  const guided = new Map<string, Guided>();
  let calls = 0;
  /** Of all generations. */
  const personal = new Set<string>();
  /** Successes of calls that were made up, by route. */
  const reached = new Map<string, number>();
  const refused: string[] = [];

  beforeAll(async () => {
    const logger = pino({ level: "trace" }, { write: (line: string) => void lines.push(line) });
    world = await createFuzzWorld(database, logger);
  }, 60_000);
  afterAll(() => world.close());

  /** New users; each endpoint is called once as it should be. */
  async function begin(serial: number): Promise<void> {
    // The limits of mails and guesses fill again.
    world.clock.advance(4 * 3_600_000);
    current = await newPeople(world, serial);
    for (const operation of table.values()) {
      const call = await guide(world, current, operation);
      guided.set(operation.route, call);
      const { caller, path, headers } = call;
      const body = call.body && JSON.stringify(call.body);
      const isDone = await make({ route: operation.route, caller, path, body }, headers);
      if (!isDone) refused.push(operation.route);
    }
  }

  /** One call: its actor, and its path and body made from what is printed, with the current hints. */
  interface Draft {
    readonly route: string;
    readonly caller: CallerName;
    readonly path: string;
    readonly body: string | undefined;
  }

  function drafts(): fc.Arbitrary<Draft> {
    return fc
      .constantFrom(...table.values())
      .chain((operation) => fc.tuple(fc.constant(operation), callerOf(operation)))
      .chain(([operation, caller]) =>
        fc
          .oneof(fc.tuple(pathOf(operation), bodyOf(operation)), bentOf(operation))
          .map(([path, body]) => ({ route: operation.route, caller, path, body })),
      );
  }

  /** Everybody, and the one whose call succeeds as often as all others together: refusals of rank have a test of their own. */
  function callerOf({ route }: Operation): fc.Arbitrary<CallerName> {
    const anybody = fc.constantFrom(...callerNames, ...often);
    const known = guided.get(route)?.caller;
    return known === undefined ? anybody : fc.oneof(anybody, fc.constant(known));
  }

  /** The call that succeeds, with one thing of it otherwise. */
  function bentOf(operation: Operation): fc.Arbitrary<[string, string | undefined]> {
    const known = guided.get(operation.route);
    if (!known) throw new Error(operation.route);
    if (known.body === undefined)
      return fc.oneof(
        fc.constant<[string, undefined]>([known.path, undefined]),
        pathOf(operation).map((path): [string, undefined] => [path, undefined]),
      );
    const schema = bodySchemaOf(operation);
    const fields = recordOf(schema["properties"]);
    const names = Object.keys(fields);
    const bent =
      names.length === 0
        ? anyJson
        : fc
            .constantFrom(...names)
            .chain((name) =>
              fc
                .oneof(valuesOf(recordOf(fields[name]), current.hints, name), anyJson)
                .map((value) => ({ ...known.body, [name]: value })),
            );
    return bent.map((body) => [known.path, JSON.stringify(body)]);
  }

  function bodySchemaOf({ printed }: Operation): JsonObject {
    const content = recordOf(recordOf(recordOf(printed["requestBody"])["content"])["application/json"]);
    return recordOf(content["schema"]);
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

  function bodyOf(operation: Operation): fc.Arbitrary<string | undefined> {
    if (operation.printed["requestBody"] === undefined) return fc.constant(undefined);
    const schema = bodySchemaOf(operation);
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

  /** Makes a call and looks at its answer. Returns whether it succeeded. */
  async function make({ route, caller, path, body }: Draft, headers: Who = {}): Promise<boolean> {
    const operation = table.get(route);
    if (!operation) throw new Error(route);
    const response = await world.app.request(path, {
      method: operation.endpoint.method,
      headers: {
        host: "localhost",
        "content-type": "application/json",
        "x-forwarded-for": freshAddress(),
        ...current.callers[caller],
        ...headers,
      },
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
    return response.status !== 429 && response.status !== 404 && judge(operation, JSON.parse(text), what);
  }

  /** Whether an answer is one of the two that are printed. */
  function judge({ answer: printed }: Operation, answer: JsonObject, what: string): boolean {
    expect(answer, what).toMatchObject({ success: expect.any(Boolean), message: expect.any(String) });
    expect(answer["message"], what).not.toMatch(INSIDES);
    if (answer["success"] === false) {
      const { code, ...others } = answer;
      if (code !== undefined) expect(code, what).toMatch(/^(VERIFICATION|MFA)_[A-Z_]+$/);
      expect(Object.keys(others).sort(), what).toEqual(["data", "message", "success"]);
      return false;
    }
    const read = printed.safeParse(answer);
    expect(read.success ? "" : JSON.stringify(read.error.issues), what).toBe("");
    return true;
  }

  test(
    `${CALLS} calls: no 5xx, answers as printed, no other user's secret`,
    async () => {
      for (let start = 0; start < CALLS; start += GENERATION) {
        await begin(start / GENERATION);
        await fc.assert(
          fc.asyncProperty(drafts(), async (draft) => {
            calls += 1;
            if (await make(draft)) reached.set(draft.route, (reached.get(draft.route) ?? 0) + 1);
          }),
          // What one call did changes the next: making the failing one smaller would tell nothing.
          { numRuns: Math.min(GENERATION, CALLS - start), seed: SEED + start, endOnFailure: true },
        );
      }
      expect(calls).toBe(CALLS);
    },
    60_000 + CALLS * 250,
  );

  test("every endpoint answers a call that is as it should be, and most of them calls that were made up", () => {
    expect(refused).toEqual([]);
    const missed = [...table.keys()].filter((route) => !reached.has(route));
    const successes = [...reached.values()].reduce((sum, count) => sum + count, 0);
    process.stdout.write(
      `fuzz on ${database.name}: ${guided.size} endpoints, each answered success; ${calls} made-up calls, ` +
        `${successes} of them successful, at ${reached.size} endpoints; not at ${missed.join(", ") || "none"}\n`,
    );
    expect(guided.size).toBe(table.size);
    // Calls that are made up come from the callers alone: not from a browser that a user has just signed in at, nor from a team's owner.
    const open = [...guided].filter(
      ([route, { headers }]) => headers?.["cookie"] === undefined && !route.includes("/api/team/:id"),
    );
    expect(reached.size, missed.join(", ")).toBeGreaterThan(open.length * 0.65);
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
  // Dots alone would name another path.
  if (/^\.{1,2}$/.test(text)) return "%20";
  try {
    return encodeURIComponent(text) || "%20";
  } catch {
    // Half a surrogate pair cannot be written.
    return "0";
  }
}
