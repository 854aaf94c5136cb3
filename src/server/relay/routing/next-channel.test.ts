// What a call holds of its channel is given back however it ends, also by an unexpected error.
import { beforeEach, describe, expect, it } from "vitest";
import { createHealth } from "#server/channels/health.ts";
import { fakeClock } from "#server/clock.ts";
import { createServices } from "#server/relay/services.ts";
import { Cancellation } from "#server/upstream/cancellation.ts";
import { statusFault } from "#server/upstream/errors/fault.ts";
import { asRoot } from "#test/worlds/app.ts";
import { createRelayWorld, MODEL } from "#test/worlds/relay-world.ts";
import { hedge } from "./hedge.ts";
import { NextChannel } from "./next-channel.ts";

const world = createRelayWorld();
let id = 0;

beforeEach(async () => {
  id = await world.addChannel();
  const path = `/api/channel/${id}/keys`;
  expect(await world.app.call(asRoot, "POST", path, { text: "sk-second-0123456789" })).toMatchObject({
    success: true,
  });
});

/** What chooses for a stream of the model, where a probe decides whether its channel's circuit closes. */
async function chooser() {
  const clock = fakeClock();
  const { ctx } = world;
  const health = createHealth({ ...ctx, clock });
  const tools = { ...createServices(ctx, {}), health };
  const fault = statusFault({ status: 500, body: undefined, text: "", retryAfterMs: 0, secrets: [] });
  for (let call = 0; call < 5; call += 1) health.failed(id, MODEL, fault, health.calling(id, MODEL));
  expect(isOpen()).toBe(true);
  clock.advance(3_600_000);
  expect(isOpen()).toBe(false);
  const caller = { group: "default", pin: undefined } as never; // what the choice reads of one
  const search = {
    ...{ caller, model: MODEL, isStream: true, isTimed: true, cancellation: new Cancellation() },
    candidates: ctx.candidates.find("default", MODEL),
    demand: { tokens: () => 1, hold: () => Promise.resolve(undefined) },
    wordsOf: () => "",
  };
  const next = new NextChannel(tools, search);
  const turn = await next.take(undefined);

  function isOpen(): boolean {
    return health.openCircuits(MODEL)?.(id) === true;
  }
  async function held() {
    const { data } = await world.app.call(asRoot, "GET", `/api/channel/${id}/keys`);
    const inFlight: number[] = data.map((row: { in_flight: number }) => row.in_flight);
    return {
      keys: inFlight.reduce((sum, one) => sum + one, 0),
      measured: health.pace.speedOf(id, MODEL, true).inFlight,
      isOpen: isOpen(),
    };
  }
  return { next, turn, held, tools, search };
}

const HELD = { keys: 1, measured: 1, isOpen: true };
const FREE = { keys: 0, measured: 0, isOpen: false };

describe("what a call holds of its channel is free again", () => {
  it.each<[string, () => Promise<never>]>([
    ["when what makes it rejects", () => Promise.reject(new Error("disk full"))],
    [
      "when what makes it throws",
      () => {
        throw new Error("disk full");
      },
    ],
  ])("%s", async (_, fail) => {
    const { next, turn, held } = await chooser();
    const ask = async () => {
      expect(await held()).toEqual(HELD);
      return fail();
    };
    await expect(next.call(turn, ask)).rejects.toThrow("disk full");
    expect(await held()).toEqual(FREE);
    await expect(next.call(turn, fail)).rejects.toThrow("disk full");
    expect(await held()).toEqual(FREE);
  });

  it("when that happens to a stream which another call may overtake", async () => {
    const { next, turn, held, tools, search } = await chooser();
    const hedged = { tools, search, ask: () => Promise.reject(new Error("disk full")) };
    // What it reads of a request when no second call is made.
    const state = { trace: { firstByteMs: 0, isSent: false } };
    await expect(hedge({ ...hedged, state } as never, next, turn)).rejects.toThrow("disk full");
    expect(await held()).toEqual(FREE);
  });
});
