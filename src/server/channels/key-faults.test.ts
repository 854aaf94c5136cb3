// Whose failure it is when a call with one of several keys fails: the key's, the channel's, or neither's (requirements C13, C26).
import { describe, expect, it } from "vitest";
import { proxyFailure } from "#server/egress/proxy/handshake.ts";
import { networkFault, type RelayFault, statusFault } from "#server/upstream/errors/fault.ts";
import { channelOfKeys, keyRing, rowsOf } from "#test/worlds/key-rings.ts";
import type { Ring } from "./key-ring.ts";
import type { KeyFailure, LiveChannel } from "./live-channel.ts";

const NOW = 1_800_000_000_000;
const channel = channelOfKeys({ keys: undefined, keyMode: "first" });

/** The channel with this key. */
function called(ring: Ring, keyId: number, more: Partial<LiveChannel> = {}, isFreeOnly = false) {
  const tried = new Set(ring.ids.filter((id) => id !== keyId));
  return ring.pick({ ...channel, ...more }, { model: "m", tried, now: NOW, isFreeOnly });
}

function failBy(
  ring: Ring,
  keyId: number,
  fault: RelayFault,
  { proxy = "", ...more }: Partial<KeyFailure> & { readonly proxy?: string } = {},
): string {
  const failure = { model: "m", fault, isDisabling: false, isModelAbsent: false, now: NOW, ...more };
  return ring.failed(called(ring, keyId, { proxy }) ?? expect.fail("no key"), failure);
}

function fail(ring: Ring, keyId: number, status: number, now = NOW): string {
  const fault = statusFault({ status, body: undefined, text: "", retryAfterMs: 0, secrets: [] });
  return failBy(ring, keyId, fault, { isDisabling: status === 401, isModelAbsent: status === 404, now });
}

describe("whose failure it is", () => {
  it("a refused key ends after three in a row, and an answer between them starts anew", () => {
    const ring = keyRing(rowsOf(3));
    expect([fail(ring, 2, 401), fail(ring, 2, 401)]).toEqual(["key", "key"]);
    ring.answered(2, "m");
    expect([401, 401, 401].map((status) => fail(ring, 2, status))).toEqual(["key", "key", "ended"]);
    expect(called(ring, 2, {}, true)).toBeUndefined();
  });

  it.each([
    [403, 403, 401],
    [404, 404, 401],
    [401, 403, 401, 403, 401],
    [401, 404, 401, 404, 401],
    [401, 500, 401, 500, 401],
    [401, 401, 400, 401],
    [401, 401, 429, 401, 401],
  ])("%s, %s, %s … do not end a key: only refusals of the credential in a row do", (...statuses) => {
    const ring = keyRing(rowsOf(3));
    expect(statuses.map((status) => fail(ring, 2, status))).not.toContain("ended");
    expect([401, 401, 401].map((status) => fail(ring, 2, status))).toContain("ended");
  });

  it("a call that got no answer is none: a key that is refused whenever it is answered ends", () => {
    const ring = keyRing(rowsOf(3));
    const silent = () => failBy(ring, 2, networkFault({ code: "timeout", detail: "" }));
    expect([fail(ring, 2, 401), silent(), fail(ring, 2, 401), silent()]).not.toContain("ended");
    expect(fail(ring, 2, 401)).toBe("ended");
  });

  it("a key that is forbidden a model three times rests as long as one that lacks it", () => {
    const ring = keyRing(rowsOf(3));
    const rests = () => ring.state(2, NOW).restsUntilMs - NOW;
    const waits = [403, 403, 401, 403].map((status) => [fail(ring, 2, status), rests()]);
    expect(waits).toEqual([
      ["key", 10_000],
      ["key", 10_000],
      ["key", 10_000],
      ["key", 600_000],
    ]);
  });

  it("a proxy's is a key's where the key has a way of its own, else the channel is passed over", () => {
    const rows = rowsOf(3, (index) => ({ proxy_sealed: index === 0 ? "own" : "" }));
    const verdict = (
      proxy: string,
      keyId: number,
      code: "proxy_auth" | "proxy_unreachable" = "proxy_auth",
    ) => {
      const ring = keyRing(rows);
      const said = failBy(ring, keyId, networkFault(proxyFailure(code, "")), { proxy });
      return [said, ring.state(keyId, NOW).restsUntilMs - NOW > 0];
    };
    const [shared, each] = ["http://shared:1", "http://u-{key_hash}:p@shared:1"];
    expect([verdict(shared, 1), verdict(shared, 2), verdict("", 2)]).toEqual([
      ["key", true],
      ["channel", false],
      ["channel", false],
    ]);
    expect([verdict(each, 1), verdict(each, 2)]).toEqual([
      ["key", true],
      ["key", true],
    ]);
    // Where nothing answers, no other user of the proxy is answered.
    expect(verdict(shared, 1, "proxy_unreachable")).toEqual(["key", true]);
    expect(verdict(each, 2, "proxy_unreachable")[0]).toBe("channel");
  });

  it("a failing server is the channel's, one saturated key the key's, three at once the channel's", () => {
    const ring = keyRing(rowsOf(9));
    expect(fail(ring, 1, 500)).toBe("channel");
    expect([fail(ring, 1, 429), fail(ring, 2, 429), fail(ring, 3, 429)]).toEqual(["key", "key", "channel"]);
    ring.answered(4, "m");
    expect(fail(ring, 5, 429)).toBe("key");
    expect(fail(ring, 6, 429, NOW + 5_000)).toBe("key");
    expect(fail(ring, 7, 429, NOW + 10_000)).toBe("key");
  });
});
