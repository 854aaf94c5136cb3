// Conversations that end before both sides could talk: nothing is charged, and no channel's circuit counts it.
import { afterAll, beforeAll, expect, it } from "vitest";
import { createFakeRealtime, type FakeRealtime } from "#test/emulators/fake-realtime.ts";
import { beginTalk, type RealtimeClient } from "#test/emulators/realtime-client.ts";
import { createRelayWorld } from "#test/worlds/relay-world.ts";
import { createRelay } from "./relay.ts";

const world = createRelayWorld();
const model = "gpt-realtime";
let provider: FakeRealtime;

beforeAll(async () => {
  provider = await createFakeRealtime();
});

afterAll(() => provider.close());

/** A conversation whose server sends nothing, ended by `end`; returns the operator's events, and what it cost. */
async function silentTalk(base: string, end: (client: RealtimeClient) => unknown) {
  provider.talks.length = 0;
  provider.script(() => undefined);
  await world.addChannel({ type: 1, baseUrl: provider.url, models: model });
  const { events } = world.ctx;
  const faults: string[] = [];
  const failed: number[] = [];
  const stops = [
    events.onRelayDone(({ fault }) => faults.push(fault)),
    events.onChannelFailed(({ channelId }) => failed.push(channelId)),
  ];
  const cost = await world.costOf(async () => {
    const client = beginTalk(base, world.token.key, model);
    await expect.poll(() => provider.talks.length).toBe(1);
    await end(client);
    await client.closed;
    await expect.poll(() => faults.length).toBe(1);
  });
  for (const stop of stops) stop();
  return { faults, failed, ...cost };
}

const NOTHING = { failed: [], charged: 0, entries: 0, open: 0 };

it("because the client left", async () => {
  const told = await silentTalk(world.url, ({ socket }) => socket.terminate());
  expect(told).toMatchObject({ ...NOTHING, faults: ["client_gone"] });
});

it("because the process ends", async () => {
  const relay = createRelay(world.ctx);
  const told = await silentTalk(await world.serve(relay), () => relay.cut());
  expect(told).toMatchObject({ ...NOTHING, faults: ["server_stopping"] });
});
