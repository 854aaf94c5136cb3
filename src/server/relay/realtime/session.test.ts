// Two sockets of unequal speed: while one side does not read, the other is paused.
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createRelay } from "#server/relay/relay.ts";
import { createFakeRealtime, type FakeRealtime } from "#test/emulators/fake-realtime.ts";
import { openClient } from "#test/emulators/realtime-client.ts";
import { createRelayWorld } from "#test/worlds/relay-world.ts";

const MEBIBYTE = 1024 * 1024;
const FRAMES = 64;
const world = createRelayWorld();
const model = "gpt-realtime";
let provider: FakeRealtime;
let url = "";
const closers: (() => unknown)[] = [];

beforeAll(async () => {
  provider = await createFakeRealtime();
  // No client is cut off while it is slow.
  const relay = createRelay(world.ctx, {}, undefined, { pingMs: 60_000, idleMs: 60_000, lifeMs: 60_000 });
  const server = createServer(relay).on("upgrade", relay.upgrade);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  url = `ws://127.0.0.1:${address.port}/v1/realtime?model=${model}`;
  closers.push(
    () => relay.cut(),
    () => server.close(),
    () => provider.close(),
  );
});

afterAll(async () => {
  for (const close of closers) await close();
});

async function converse() {
  await world.addChannel({ type: 1, baseUrl: provider.url, models: model });
  provider.script((talk) => talk.say({ type: "session.created", session: {} }));
  const client = openClient(url, [], { authorization: `Bearer sk-${world.token.key}` });
  await client.until("session.created");
  const talk = provider.talks.at(-1);
  if (talk === undefined) throw new Error("no client called");
  return { client, talk };
}

it("pauses a server whose client does not read, and loses nothing", async () => {
  const { client, talk } = await converse();
  client.socket.pause();
  const filler = "y".repeat(MEBIBYTE);
  for (let sent = 0; sent < FRAMES; sent += 1) talk.say({ type: "x", filler });
  await sleep(400);
  expect(talk.socket.bufferedAmount).toBeGreaterThan((FRAMES / 2) * MEBIBYTE);
  client.socket.resume();
  await client.until("x", FRAMES);
  client.socket.close();
  await talk.closed;
});

it("pauses a client whose server does not read, and loses nothing", async () => {
  const { client, talk } = await converse();
  talk.socket.pause();
  const bytes = Buffer.alloc(MEBIBYTE, 1);
  for (let sent = 0; sent < FRAMES; sent += 1) client.socket.send(bytes);
  await sleep(400);
  expect(client.socket.bufferedAmount).toBeGreaterThan((FRAMES / 2) * MEBIBYTE);
  talk.socket.resume();
  for (let tries = 0; tries < 200 && talk.heard.length < FRAMES; tries += 1) await sleep(10);
  expect(talk.heard).toHaveLength(FRAMES);
  client.socket.close();
  await talk.closed;
});
