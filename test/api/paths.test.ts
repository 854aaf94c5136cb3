// The listener as an outside client sees it: whatever a path, a Host or an Authorization header looks like, no client gains access with
// it (requirements Z11, Z12, D09). Real sockets, since a URL parser in between would tidy paths up.
import { request } from "node:http";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Endpoint } from "#contract/endpoint.ts";
import { api } from "#contract/index.ts";
import { faults, renderEnvelope } from "#server/errors.ts";
import { roleTable, routeOf } from "#test/seeds/role-table.ts";
import { type SeededUser, seedUser } from "#test/seeds/seed.ts";
import { createTestApp, type TestApp, type Who } from "#test/worlds/app.ts";

const MUTATIONS = Number(process.env["PATH_MUTATIONS"] ?? 10_000);

let app: TestApp;
let port = 0;
let alice: SeededUser;

beforeAll(async () => {
  app = await createTestApp();
  alice = await seedUser(app.ctx, "alice");
  port = Number(new URL(await app.listen()).port);
});
afterAll(() => app.close());

/** Sends a path exactly as it is. */
function send(method: string, path: string, headers: Who): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const call = request({ host: "127.0.0.1", port, method, path, headers }, (response) => {
      let text = "";
      response.on("data", (data) => {
        text += String(data);
      });
      response.on("end", () => {
        const type = response.headers["content-type"] ?? "";
        resolve({ status: response.statusCode ?? 0, type, text });
      });
    });
    call.on("error", reject);
    call.end(method === "GET" || method === "DELETE" ? undefined : "{}");
  });
}

interface Seen {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

const TOO_LOW = JSON.stringify(renderEnvelope(faults.roleTooLow(), "zh"));

/** The call was refused: not signed in, no such path, a role too low, no path at all, or a page of the console, which is public. */
const isShut = ({ status, type, text }: Seen) =>
  status === 401 ||
  status === 404 ||
  text === TOO_LOW ||
  (status === 400 && text === "") ||
  (status === 200 && !type.includes("json"));

/** The endpoints that only administrators may call. */
const guarded = Object.values(api)
  .flatMap((resource) => Object.values<Endpoint>(resource))
  .filter((endpoint) => roleTable.get(routeOf(endpoint)) === "admin")
  .map(({ method, path }) => ({ method, path: path.replace(":id", "1") }));

/** Method and path of the others. */
const open = new Set([...roleTable].flatMap(([route, level]) => (level === "admin" ? [] : [route])));

/** Those with an id in the path: another spelling of a name beside it is an id that is none. */
const openPatterns = [...open]
  .filter((route) => route.includes("/:"))
  .map((route) => new RegExp(`^${route.replaceAll(/:\w+/g, "[^/?#]+")}(?:[?#].*)?$`));
const BAD_INPUT = '{"success":false,"message":"请求参数有误","data":null}';

const PIECES = [
  "%2f",
  "%2F",
  "%2e%2e",
  "%2e",
  ";x",
  ".",
  "..",
  "/",
  "//",
  "\\",
  "%5c",
  "%00",
  "%20",
  "%252f",
  "?",
  "#",
  "%ff",
  "%c0%af",
];

/** A path with a few things put in, upper case here and there. */
const mutated = fc
  .tuple(
    fc.constantFrom(...guarded),
    fc.array(fc.tuple(fc.nat(40), fc.constantFrom(...PIECES)), { maxLength: 3 }),
    fc.option(fc.nat(40), { nil: undefined }),
  )
  .map(([{ method, path }, pieces, upper]) => {
    let text = path;
    for (const [at, piece] of pieces) {
      const place = at % (text.length + 1);
      text = text.slice(0, place) + piece + text.slice(place);
    }
    if (upper !== undefined) {
      const place = upper % text.length;
      text = text.slice(0, place) + (text[place] ?? "").toUpperCase() + text.slice(place + 1);
    }
    return { method, path: text.startsWith("/") ? text : `/${text}` };
  })
  // What stands before a question mark may be the path of an endpoint that is open: that call is no odd spelling.
  .filter(({ method, path }) => !open.has(routeOf({ method, path: path.replace(/[?#].*$/, "") })));

test(`${MUTATIONS} odd spellings of guarded paths lead neither guests nor users in`, {
  timeout: 120_000,
}, async () => {
  const who: readonly Who[] = [{}, alice.who];
  for (const one of who)
    for (const { method, path } of guarded)
      expect(await send(method, path, one)).toMatchObject(
        one === alice.who ? { text: TOO_LOW } : { status: 401 },
      );
  await fc.assert(
    fc.asyncProperty(mutated, fc.constantFrom(...who), async ({ method, path }, headers) => {
      const answer = await send(method, path, headers);
      // Dots before it lead nowhere else.
      const plain = path.replace(/^(\/\.{1,2})+(?=\/)/, "");
      const isOpen = openPatterns.some((pattern) => pattern.test(routeOf({ method, path: plain })));
      const isRefused = isShut(answer) || (isOpen && answer.text === BAD_INPUT);
      expect(isRefused, `${method} ${path} → ${answer.status} ${answer.text.slice(0, 200)}`).toBe(true);
    }),
    { numRuns: MUTATIONS, seed: 20_261_120 },
  );
});

const FORGED = ["evil.example", "localhost:1", "127.0.0.1", "admin", "[::1]:80"];

test("a forged Host, or one that an untrusted proxy forwards, decides nothing", async () => {
  for (const host of FORGED) {
    for (const headers of [
      { host },
      { "x-forwarded-host": host, "x-forwarded-for": "127.0.0.1", "x-forwarded-proto": "https" },
      {
        forwarded: `host=${host};for=127.0.0.1`,
        "x-original-url": "/api/status",
        "x-rewrite-url": "/api/status",
      },
    ] as Who[]) {
      for (const { method, path } of guarded) {
        expect((await send(method, path, headers)).status).toBe(401);
        expect((await send(method, path, { ...headers, ...alice.who })).text).toBe(TOO_LOW);
      }
      // Cookies do not change with it: an untrusted client does not decide that the connection is https.
      const { text } = await send("GET", "/api/status", headers);
      expect(text).not.toContain("evil.example");
    }
  }
});

const INJECTIONS = [
  "' OR '1'='1",
  '" OR ""="',
  "'; DROP TABLE users; --",
  "x' UNION SELECT access_token_hash FROM users --",
  "%27%20OR%201=1",
  "\\'; SELECT pg_sleep(5); --",
  "1) OR (1=1",
  "sk-' OR key_hash IS NOT NULL --",
];

test("an Authorization header is a value, not SQL, for the console and for the relay", async () => {
  for (const text of INJECTIONS) {
    for (const authorization of [text, `Bearer ${text}`]) {
      const answer = await send("GET", "/api/user/self", { authorization });
      expect(answer.text).toBe('{"success":false,"message":"访问凭证无效","data":null}');
      const relayed = await send("POST", "/v1/chat/completions", { authorization });
      expect([relayed.status, relayed.text.includes("SQL")]).toEqual([401, false]);
    }
  }
  expect((await app.call(alice.who, "GET", "/api/user/self")).data.username).toBe("alice");
});
