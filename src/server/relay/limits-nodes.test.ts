// Limits of tokens and users, and rotations of keys, hold over all nodes of one PostgreSQL together (requirements L06, K12).
import { afterAll, beforeAll, expect, test } from "vitest";
import { chatReply, createFakeUpstream, type FakeUpstream, json } from "#test/emulators/fake-upstream.ts";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { PATIENCE } from "#test/worlds/nodes.ts";
import { errorOf, QUESTION } from "#test/worlds/relay-world.ts";
import { severalNodes } from "#test/worlds/several-nodes.ts";

let upstream: FakeUpstream;
const nodes = severalNodes(3);
const { urls, node } = nodes;

beforeAll(async () => {
  upstream = await createFakeUpstream();
  await nodes.addChannel("gpt-4", { base_url: upstream.url });
});
afterAll(() => upstream.close());

const limit = (option: "TokenRequestsPerMinute" | "UserConcurrency", most: number) =>
  nodes.set(option, String(most));

function ask(node: number, key: string): Promise<Response> {
  return fetch(`${urls[node]}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer sk-${key}` },
    body: JSON.stringify(QUESTION),
  });
}

test("calls a minute count together, whichever node takes them", async () => {
  upstream.script(json(chatReply("hi")));
  await limit("TokenRequestsPerMinute", 6);
  const { key } = await nodes.newcomer("minute");
  const answers = await Promise.all(Array.from({ length: 16 }, (_, index) => ask(index % 3, key)));
  const statuses = answers.map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(6);
  expect(statuses.filter((status) => status === 429)).toHaveLength(10);
  await limit("TokenRequestsPerMinute", 0);
});

test("calls at once count together, and room on one node is room on the others", async () => {
  const opened = Promise.withResolvers<void>();
  upstream.script(
    (res) =>
      void opened.promise.then(() =>
        res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(chatReply("hi"))),
      ),
  );
  await limit("UserConcurrency", 4);
  const { key } = await nodes.newcomer("at-once");
  const before = upstream.journal.length;
  let answered = 0;
  const answers = Array.from({ length: 12 }, async (_, index) => {
    const answer = await ask(index % 3, key);
    answered += 1;
    return answer;
  });
  await expect.poll(() => [upstream.journal.length - before, answered], PATIENCE).toEqual([4, 8]);
  expect(await errorOf(await ask(1, key))).toMatchObject({ status: 429, code: "concurrency_limit_exceeded" });
  opened.resolve();
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(4);
  expect(statuses.filter((status) => status === 429)).toHaveLength(8);
  upstream.script(json(chatReply("hi")));
  for (const node of [0, 1, 2])
    await expect.poll(async () => (await ask(node, key)).status, PATIENCE).toBe(200);
  await limit("UserConcurrency", 0);
});

test("a key that is rotated out is refused by another node once it is told so, without waiting for a timer", async () => {
  upstream.script(json(chatReply("hi")));
  const app = node(0);
  const { id, who } = await seedUser(app.ctx, "rotator");
  const token = await seedToken(app.ctx, id);
  const status = async (key: string) => {
    const answer = await ask(1, key);
    await answer.text();
    return answer.status;
  };
  expect(await status(token.key)).toBe(200);
  // A timer tells that anything may have changed: it names no token.
  const told: string[] = [];
  const stop = node(1).ctx.coord.subscribe("tokens", (payload) => told.push(payload));
  const { data } = await app.call(who, "POST", `/api/token/${token.id}/rotate`, { overlap: 0 });
  await expect.poll(() => told, PATIENCE).toContain(String(token.id));
  expect([await status(token.key), await status(data.key)]).toEqual([401, 200]);
  stop();
});
