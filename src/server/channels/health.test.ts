import { describe, expect, it } from "vitest";
import { fakeClock } from "#server/clock.ts";
import { retryAfterOf, statusFault } from "#server/upstream/fault.ts";
import { createRelayWorld, MODEL } from "#test/relay-world.ts";
import { createHealth } from "./health.ts";

const world = createRelayWorld();

function fresh() {
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
      health.failed(1, MODEL, fault(status, retryAfter), health.calling(1, MODEL)),
    isCooling: () => health.cooling(MODEL)?.(1) === true,
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
