import { describe, expect, it } from "vitest";
import { fakeClock } from "#server/clock.ts";
import { retryAfterOf, statusFault } from "#server/upstream/errors/fault.ts";
import { createRelayWorld, MODEL } from "#test/worlds/relay-world.ts";
import { createHealth } from "./health.ts";

const world = createRelayWorld();

function fresh(channelId = 1) {
  const clock = fakeClock();
  const health = createHealth({ ...world.ctx, clock });
  const fault = (status: number, retryAfter?: string) =>
    statusFault({
      status,
      body: undefined,
      text: "",
      retryAfterMs: retryAfterOf(retryAfter, clock.now()),
      secrets: [],
    });
  return {
    clock,
    health,
    fail: (status: number, retryAfter?: string) =>
      health.failed(channelId, MODEL, fault(status, retryAfter), health.calling(channelId, MODEL)),
    isOpen: () => health.openCircuits(MODEL)?.(channelId) === true,
  };
}

describe("a channel's health", () => {
  it.each([400, 404, 413, 415, 422, 501])(
    "does not suffer from status %d, which the caller caused",
    (status) => {
      const { health, fail } = fresh();
      for (let round = 0; round < 100; round += 1) fail(status);
      expect(health.openCircuits(MODEL)).toBeUndefined();
    },
  );

  it.each([500, 502, 503, 529, 408, 401])("suffers from status %d, three times in a row", (status) => {
    const { fail, isOpen } = fresh();
    fail(status);
    fail(status);
    expect(isOpen()).toBe(false);
    fail(status);
    expect(isOpen()).toBe(true);
  });

  it("heeds Retry-After in seconds and as a date", () => {
    const { clock, fail, isOpen, health } = fresh();
    fail(429, "7");
    clock.advance(6_999);
    expect(isOpen()).toBe(true);
    clock.advance(1);
    expect(isOpen()).toBe(false);
    health.answered(1, MODEL, health.calling(1, MODEL));
    fail(503, new Date(clock.now() + 20_000).toUTCString());
    clock.advance(19_000);
    expect(isOpen()).toBe(true);
    clock.advance(1_000);
    expect(isOpen()).toBe(false);
  });

  it("is restored when the probe of the half-open circuit is answered; a wrong request as the probe proves nothing", () => {
    const { clock, fail, isOpen, health } = fresh();
    fail(429, "1");
    clock.advance(1_000);
    fail(400);
    expect(isOpen()).toBe(false);
    const probe = health.calling(1, MODEL);
    expect(isOpen()).toBe(true);
    health.answered(1, MODEL, probe);
    expect(health.openCircuits(MODEL)).toBeUndefined();
  });
});

describe("a channel that is called differently from now on", () => {
  /** Changes the channel as an administrator does. */
  async function change(id: number, set: Record<string, string | number>): Promise<void> {
    await world.ctx.db.updateTable("channels").set(set).where("id", "=", id).execute();
    await world.ctx.candidates.reload();
  }

  function sealed(key: string) {
    const { secrets } = world.ctx;
    return { key_hash: secrets.hash(key), key_sealed: secrets.seal(key, "channels.key") };
  }

  it.each([
    ["another key", () => sealed("sk-replaced")],
    ["another address", () => ({ base_url: "https://elsewhere.example" })],
    ["been deleted", () => ({ deleted_at: 1 })],
  ])("forgets its past when it has %s", async (_, set) => {
    const id = await world.addChannel();
    const { fail, isOpen } = fresh(id);
    fail(429, "60");
    expect(isOpen()).toBe(true);
    await change(id, set());
    expect(isOpen()).toBe(false);
  });

  it("forgets its past once it is enabled again", async () => {
    const id = await world.addChannel();
    const { fail, isOpen } = fresh(id);
    fail(429, "60");
    await change(id, { status: 2 });
    expect(isOpen()).toBe(true);
    await change(id, { status: 1 });
    expect(isOpen()).toBe(false);
  });

  it("keeps its past when its name or its priority changes, and when another changes", async () => {
    const id = await world.addChannel();
    const other = await world.addChannel();
    const { fail, isOpen } = fresh(id);
    fail(429, "60");
    await change(id, { name: "renamed", priority: 7, weight: 3 });
    await change(other, sealed("sk-replaced"));
    expect(isOpen()).toBe(true);
  });

  it("is not disabled for refusals of the key that it had", async () => {
    await world.setOption("AutomaticDisableChannelEnabled", "true");
    const id = await world.addChannel();
    const { fail } = fresh(id);
    const statusNow = async () => {
      // After the writes that are under way.
      await change(id, { name: "looked at" });
      return world.ctx.candidates.byId(id)?.status;
    };
    fail(401);
    fail(401);
    await change(id, sealed("sk-replaced"));
    fail(401);
    fail(401);
    expect(await statusNow()).toBe(1);
    fail(401);
    expect(await statusNow()).toBe(3);
  });
});
