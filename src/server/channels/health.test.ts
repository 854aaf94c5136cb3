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
    isCooling: () => health.cooling(MODEL)?.(channelId) === true,
  };
}

describe("a channel's health", () => {
  it.each([400, 404, 413, 415, 422, 501])(
    "does not suffer from status %d, which the caller caused",
    (status) => {
      const { health, fail } = fresh();
      for (let round = 0; round < 100; round += 1) fail(status);
      expect(health.cooling(MODEL)).toBeUndefined();
    },
  );

  it.each([500, 502, 503, 529, 408, 401])("suffers from status %d, three times in a row", (status) => {
    const { fail, isCooling } = fresh();
    fail(status);
    fail(status);
    expect(isCooling()).toBe(false);
    fail(status);
    expect(isCooling()).toBe(true);
  });

  it("heeds Retry-After in seconds and as a date", () => {
    const { clock, fail, isCooling, health } = fresh();
    fail(429, "7");
    clock.advance(6_999);
    expect(isCooling()).toBe(true);
    clock.advance(1);
    expect(isCooling()).toBe(false);
    health.answered(1, MODEL, health.calling(1, MODEL));
    fail(503, new Date(clock.now() + 20_000).toUTCString());
    clock.advance(19_000);
    expect(isCooling()).toBe(true);
    clock.advance(1_000);
    expect(isCooling()).toBe(false);
  });

  it("is whole again when the one call after the rest is answered; a wrong request in its place proves nothing", () => {
    const { clock, fail, isCooling, health } = fresh();
    fail(429, "1");
    clock.advance(1_000);
    fail(400);
    expect(isCooling()).toBe(false);
    const probe = health.calling(1, MODEL);
    expect(isCooling()).toBe(true);
    health.answered(1, MODEL, probe);
    expect(health.cooling(MODEL)).toBeUndefined();
  });
});

describe("a channel that is called differently from now on", () => {
  /** As an administrator changes it. */
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
    ["no place any more", () => ({ deleted_at: 1 })],
  ])("has no past: %s", async (_, set) => {
    const id = await world.addChannel();
    const { fail, isCooling } = fresh(id);
    fail(429, "60");
    expect(isCooling()).toBe(true);
    await change(id, set());
    expect(isCooling()).toBe(false);
  });

  it("has none either once it is enabled again", async () => {
    const id = await world.addChannel();
    const { fail, isCooling } = fresh(id);
    fail(429, "60");
    await change(id, { status: 2 });
    expect(isCooling()).toBe(true);
    await change(id, { status: 1 });
    expect(isCooling()).toBe(false);
  });

  it("keeps its past when its name or its priority changes, and when another changes", async () => {
    const id = await world.addChannel();
    const other = await world.addChannel();
    const { fail, isCooling } = fresh(id);
    fail(429, "60");
    await change(id, { name: "renamed", priority: 7, weight: 3 });
    await change(other, sealed("sk-replaced"));
    expect(isCooling()).toBe(true);
  });

  it("is not disabled for refusals of the key that it had", async () => {
    await world.setOption("AutomaticDisableChannelEnabled", "true");
    const id = await world.addChannel();
    const { fail } = fresh(id);
    const statusNow = async () => {
      // Behind whatever is being written.
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
