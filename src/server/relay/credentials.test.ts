// Credentials that are made for a call, end to end: exchanged once under load, renewed silently when the provider refuses them, and
// a key of the wrong form calls no provider.
import { generateKeyPairSync } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, expect, test } from "vitest";
import { json, type Step } from "#test/emulators/fake-upstream.ts";
import { createRelayWorld, errorOf } from "#test/worlds/relay-world.ts";

const VERTEX = 42;
const MODEL = "gemini-2.5-flash";
const QUESTION = { model: MODEL, messages: [{ role: "user", content: "hello" }] };
const { privateKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
});
const ANSWER = {
  candidates: [{ content: { role: "model", parts: [{ text: "hi" }] }, finishReason: "STOP" }],
  usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 1, totalTokenCount: 6 },
};

const world = createRelayWorld();
let accounts = 0;
let issued = 0;
/** Bearer tokens the model service no longer accepts. */
let refused: Set<string>;

beforeEach(() => {
  issued = 0;
  refused = new Set();
  world.upstream.script(google);
});

/** Google's two services in one: the token endpoint and the models. */
const google: Step = (res, asked) => {
  if (asked.path === "/token") {
    issued += 1;
    return json({ access_token: `ya29.secret-token-${issued}`, expires_in: 3_600 })(res, asked);
  }
  const token = asked.headers.authorization ?? "";
  if (refused.has(token))
    return json({ error: { code: 401, status: "UNAUTHENTICATED", message: token } }, 401)(res, asked);
  return json(ANSWER)(res, asked);
};

/** A key of its own for each test: tokens are cached by key. */
function serviceAccount(): string {
  accounts += 1;
  return JSON.stringify({
    project_id: "my-project",
    client_email: `robot-${accounts}@my-project.iam.example`,
    private_key: privateKey,
    token_uri: `${world.upstream.url}/token`,
  });
}

function callsTo(path: string): number {
  return world.upstream.journal.filter((asked) => asked.path.startsWith(path)).length;
}

test("a service account's token is exchanged once for thirty calls at the same time", async () => {
  await world.addChannel({ type: VERTEX, key: serviceAccount(), models: MODEL });
  const answers = await Promise.all(Array.from({ length: 30 }, () => world.ask(QUESTION)));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  expect(await answers[0]?.json()).toMatchObject({ choices: [{ message: { content: "hi" } }] });
  expect(callsTo("/token")).toBe(1);
  const asked = world.upstream.journal.find(({ path }) => path !== "/token");
  expect(asked?.path).toBe(
    "/v1/projects/my-project/locations/global/publishers/google/models/gemini-2.5-flash:generateContent",
  );
  expect(asked?.headers.authorization).toBe("Bearer ya29.secret-token-1");
});

test("a token that is refused is renewed silently, once", async () => {
  await world.addChannel({ type: VERTEX, key: serviceAccount(), models: MODEL });
  expect((await world.ask(QUESTION)).status).toBe(200);
  refused.add("Bearer ya29.secret-token-1");
  expect((await world.ask(QUESTION)).status).toBe(200);
  expect(callsTo("/token")).toBe(2);

  refused.add("Bearer ya29.secret-token-2").add("Bearer ya29.secret-token-3");
  const answer = await world.ask(QUESTION);
  const error = await errorOf(answer);
  expect(error).toMatchObject({ status: 502, code: "upstream_credential" });
  expect(JSON.stringify(error)).not.toContain("ya29");
  expect(callsTo("/token")).toBe(3);
});

test("an exchange that is refused charges nothing and reveals nothing of the key", async () => {
  await world.addChannel({ type: VERTEX, key: serviceAccount(), models: MODEL });
  world.upstream.script(json({ error: "invalid_grant", error_description: privateKey }, 400));
  let error = {};
  const cost = await world.costOf(async () => {
    error = await errorOf(await world.ask(QUESTION));
  });
  expect(cost).toMatchObject({ charged: 0, open: 0, entries: 0 });
  expect(error).toMatchObject({ status: 502, code: "upstream_credential" });
  expect(JSON.stringify(error)).not.toContain("PRIVATE KEY");
});

test("a key of the wrong form calls no provider, and another channel serves", async () => {
  await world.addChannel({ type: VERTEX, key: "one|two|three", models: MODEL, priority: 1 });
  const error = await errorOf(await world.ask(QUESTION));
  expect(error).toMatchObject({ status: 500, code: "invalid_channel_key" });
  expect(error.message).not.toContain("one");
  expect(world.upstream.journal).toEqual([]);

  await world.setOption("RetryTimes", "1");
  await world.addChannel({ type: VERTEX, key: serviceAccount(), models: MODEL });
  expect((await world.ask(QUESTION)).status).toBe(200);
});

/** The token comes when its client is gone. */
function leaveFirst(leaving: AbortController): Step {
  return async (res, asked) => {
    leaving.abort();
    await sleep(200);
    await google(res, asked);
  };
}

test("a client that leaves while a credential is fetched pays nothing for the call before that failed", async () => {
  await world.setOption("RetryTimes", "1");
  const first = await world.addChannel({ priority: 9, models: MODEL });
  await world.addChannel({ type: VERTEX, key: serviceAccount(), models: MODEL });
  const leaving = new AbortController();
  world.upstream.script(json({ error: { message: "oops" } }, 500), leaveFirst(leaving));
  const { charged, open, entries } = await world.costOf(async () => {
    await expect(world.ask(QUESTION, { signal: leaving.signal })).rejects.toThrow("abort");
  });
  expect({ charged, open, entries }).toEqual({ charged: 0, open: 0, entries: 0 });
  expect(world.upstream.journal.map(({ path }) => path)).toEqual(["/v1/chat/completions", "/token"]);
  const used = await world.ctx.db
    .selectFrom("channels")
    .select("used_quota")
    .where("id", ">=", first)
    .execute();
  expect(used).toEqual([{ used_quota: 0 }, { used_quota: 0 }]);
});

test("a client that leaves while a refused credential is renewed pays nothing", async () => {
  await world.addChannel({ type: VERTEX, key: serviceAccount(), models: MODEL });
  const leaving = new AbortController();
  const unauthorized = json({ error: { code: 401, status: "UNAUTHENTICATED", message: "stale" } }, 401);
  world.upstream.script(google, unauthorized, leaveFirst(leaving));
  const { charged, open, entries } = await world.costOf(async () => {
    await expect(world.ask(QUESTION, { signal: leaving.signal })).rejects.toThrow("abort");
  });
  expect({ charged, open, entries }).toEqual({ charged: 0, open: 0, entries: 0 });
});
