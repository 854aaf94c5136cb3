// Clients that ask leave to send a body (`Expect: 100-continue`), also behind a request that is still being answered.
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { chatReply, createFakeUpstream, type FakeUpstream, json } from "#test/emulators/fake-upstream.ts";
import { seedToken, seedUser } from "#test/seeds/seed.ts";
import { asRoot, createTestApp, type TestApp } from "#test/worlds/app.ts";
import { QUESTION } from "#test/worlds/relay-world.ts";

const BODY = JSON.stringify(QUESTION);
const CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n";

let app: TestApp;
let upstream: FakeUpstream;
let key = "";
let client: Socket;
let heard = "";

beforeAll(async () => {
  app = await createTestApp();
  upstream = await createFakeUpstream();
  const draft = { type: 8, name: "c", key: "k", base_url: upstream.url, models: "gpt-4", group: "default" };
  await app.call(asRoot, "POST", "/api/channel/", draft);
  const { id: userId } = await seedUser(app.ctx, "caller");
  const quota = { delta: 10n ** 9n };
  await app.ctx.ledger.adjust({ userId, kind: "grant", quota, actorId: 1, reason: "test" });
  key = (await seedToken(app.ctx, userId)).key;
});
afterAll(async () => {
  client.destroy();
  await app.close();
  await upstream.close();
});
beforeEach(async () => {
  client?.destroy();
  heard = "";
  client = connect(Number(new URL(await app.listen()).port), "127.0.0.1");
  client.on("data", (data) => {
    heard += data.toString("latin1");
  });
});

function headOf(auth: string, more = ""): string {
  return `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${auth}\r\n${more}Content-Length: ${BODY.length}\r\n\r\n`;
}

/** An upstream that answers when it is told to. */
function hold(): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  upstream.script(
    async (res, asked) => {
      await promise;
      await json(chatReply("first"))(res, asked);
    },
    json(chatReply("second")),
  );
  return resolve;
}

const EXPECT = "Expect: 100-continue\r\n";

test("a client is told to go on, and answered", async () => {
  upstream.script(json(chatReply("hi")));
  client.write(headOf(key, EXPECT));
  await expect.poll(() => heard).toBe(CONTINUE);
  client.write(BODY);
  await expect.poll(() => heard).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n[\s\S]*"hi"/);
});

test("behind another request it is told so when its turn has come", async () => {
  const release = hold();
  const before = upstream.journal.length;
  client.write(headOf(key) + BODY + headOf(key, EXPECT));
  await expect.poll(() => upstream.journal.length).toBe(before + 1);
  release();
  await expect.poll(() => heard.endsWith(CONTINUE)).toBe(true);
  client.write(BODY);
  await expect
    .poll(() => heard)
    .toMatch(
      /^HTTP\/1\.1 200 OK\r\n[\s\S]*"first"[\s\S]*\}HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n[\s\S]*"second"/,
    );
});

test("a client that has its answer before its turn is not told to go on, and nothing stands in the answer", async () => {
  const release = hold();
  const ended: number[] = [];
  const stop = app.ctx.events.onRelayDone(({ status }) => ended.push(status));
  client.write(headOf(key) + BODY + headOf("sk-wrong", EXPECT));
  // The second has its answer, which stands behind that of the first.
  await expect.poll(() => ended).toEqual([401]);
  stop();
  release();
  await expect.poll(() => heard).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*"first"[\s\S]*\}HTTP\/1\.1 401 /);
  await expect.poll(() => heard).toMatch(/HTTP\/1\.1 401 [\s\S]*\r\n\r\n\{"error"[\s\S]*\}$/);
  expect(heard).not.toContain("100 Continue");
});

test("a client that expects anything else is told that it cannot be met", async () => {
  client.write(headOf(key, "Expect: the moon\r\n"));
  await expect.poll(() => heard).toMatch(/^HTTP\/1\.1 417 /);
});
