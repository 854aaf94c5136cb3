// Proxies of channels: how one rests and returns, whose failure it is, and what is kept and shown of it (requirements C13, C14, C17).
import { describe, expect, it } from "vitest";
import { readProxy } from "#server/egress/proxy/address.ts";
import { proxyFailure } from "#server/egress/proxy/handshake.ts";
import { ProxyHealth } from "#server/egress/proxy/health.ts";
import { createSecrets } from "#server/secrets.ts";
import { CircuitBreakers } from "./circuit-breakers.ts";
import {
  channelOf,
  editedProxy,
  filledProxy,
  openProxy,
  ownerOf,
  routeWith,
  sealProxy,
  showProxy,
} from "./proxies.ts";

function proxyAt(text: string) {
  const reading = readProxy(text);
  if (reading.kind !== "proxy") throw new Error("unreadable");
  return reading.proxy;
}

const ONE = proxyAt("http://one:1");
const OTHER = proxyAt("http://other:1");
const ORIGIN = "https://a.example";
const REFUSED = proxyFailure("proxy_auth", "407");
const TARGET = proxyFailure("proxy_target", "502");

function world() {
  let nowMs = 1_000_000;
  const breaker = new CircuitBreakers();
  const health = new ProxyHealth({ breaker, now: () => nowMs });
  return {
    health,
    pass: (ms: number) => {
      nowMs += ms;
    },
    rests: (proxy = ONE) => health.restsUntil(proxy, nowMs) > 0,
    /** Opens a tunnel with this end. */
    end: (fault: Parameters<ReturnType<ProxyHealth["opening"]>>[0], proxy = ONE, origin = ORIGIN) =>
      health.opening(proxy, origin)(fault),
  };
}

describe("a proxy", () => {
  it("rests after three failures in a row, by itself, and one tunnel brings it back", () => {
    const { end, rests, pass, health } = world();
    end(REFUSED);
    end(REFUSED);
    end(undefined);
    end(REFUSED);
    end(REFUSED);
    expect(rests()).toBe(false);
    end(REFUSED);
    expect([rests(), rests(OTHER)]).toEqual([true, false]);
    pass(10_001);
    expect(rests()).toBe(false);
    // One tunnel is the probe; until it has ended, the others stay away.
    const report = health.opening(ONE, ORIGIN);
    expect(rests()).toBe(true);
    report(undefined);
    expect(rests()).toBe(false);
  });

  it("rests for longer when the probe fails, and not when we gave it up", () => {
    const { end, rests, pass, health } = world();
    for (let call = 0; call < 3; call += 1) end(REFUSED);
    pass(10_001);
    health.opening(ONE, ORIGIN)({ code: "aborted", detail: "" });
    expect(rests()).toBe(false);
    end(REFUSED);
    pass(10_001);
    expect(rests()).toBe(true);
    pass(10_000);
    expect(rests()).toBe(false);
  });

  it("that nothing answers for rests with all its users; one that refuses a user rests for that one", () => {
    const { end, rests, pass, health } = world();
    const [first, second, third] = ["a", "b", "c"].map((user) => proxyAt(`http://${user}:p@shared:1`));
    const elsewhere = proxyAt("http://a:p@shared:2");
    const gone = proxyFailure("proxy_unreachable", "ECONNREFUSED");
    end(gone, first);
    end(gone, second);
    // It is there: nothing is counted on.
    end(REFUSED, second);
    for (const proxy of [first, second]) end(gone, proxy);
    expect(rests(third)).toBe(false);
    end(gone, first);
    expect([first, second, third, elsewhere].map((proxy) => rests(proxy))).toEqual([true, true, true, false]);
    // One tunnel finds out for all of them.
    pass(10_001);
    expect(rests(third)).toBe(false);
    const report = health.opening(third ?? ONE, ORIGIN);
    expect([rests(second), rests(third)]).toEqual([true, true]);
    report(undefined);
    expect([rests(second), rests(third)]).toEqual([false, false]);
    for (let call = 0; call < 3; call += 1) end(REFUSED, second);
    expect([rests(second), rests(third)]).toEqual([true, false]);
  });

  it("that cannot reach one destination is told as the proxy's failure, and counts against neither proxy nor channel", () => {
    const { end, rests } = world();
    for (let call = 0; call < 20; call += 1) expect(end(TARGET)?.isProxy).toBe(true);
    expect(rests()).toBe(false);
    // A second destination that fails the same way makes it the proxy's.
    for (let call = 0; call < 3; call += 1) end(TARGET, ONE, "https://b.example");
    expect(rests()).toBe(true);
  });

  it("is not to blame when another way to the same destination failed within a minute", () => {
    const { end, health, pass, rests } = world();
    health.directFailed(ORIGIN);
    pass(59_000);
    expect(end(TARGET)?.isProxy).toBeUndefined();
    expect(end(TARGET, OTHER)?.isProxy).toBeUndefined();
    pass(61_000);
    expect(end(TARGET)?.isProxy).toBe(true);
    expect(rests()).toBe(false);
    // A wrong certificate behind a proxy is the proxy's, whatever happened elsewhere.
    health.directFailed(ORIGIN);
    expect(end({ code: "tls", detail: "", isProxy: true })?.isProxy).toBe(true);
  });
});

describe("what is kept of a proxy", () => {
  const secrets = createSecrets(new Uint8Array(32));
  const TYPED = "HTTP://User:pass%40word@Proxy.example:8080";

  it("opens as it was written, and shows no credentials", () => {
    const sealed = sealProxy(secrets, TYPED);
    expect(sealed).not.toContain("pass");
    const opened = openProxy(secrets, sealed);
    expect(proxyAt(opened).login).toEqual({ user: "User", password: "pass@word" });
    expect(showProxy(opened)).toEqual({ proxy: "http://proxy.example:8080", proxy_login: true });
    expect(showProxy("")).toEqual({ proxy: "", proxy_login: false });
    expect(showProxy(openProxy(secrets, sealProxy(secrets, " Direct ")))).toEqual({
      proxy: "direct",
      proxy_login: false,
    });
    expect([sealProxy(secrets, ""), sealProxy(secrets, "inherit"), openProxy(secrets, "")]).toEqual([
      "",
      "",
      "",
    ]);
  });

  it("keeps its credentials for the same address only", () => {
    const stored = proxyAt(TYPED).name;
    expect(editedProxy("http://proxy.example:8080", stored)).toBe(stored);
    expect(editedProxy("http://proxy.example:8081", stored)).toBe("http://proxy.example:8081");
    expect(editedProxy("socks5h://proxy.example:8080", stored)).toBe("socks5h://proxy.example:8080");
    expect(editedProxy("http://thief.example:8080", stored)).toBe("http://thief.example:8080");
    expect(editedProxy("http://@proxy.example:8080", stored)).toBe("http://@proxy.example:8080");
    expect(editedProxy("http://a:b@proxy.example:8080", stored)).toBe("http://a:b@proxy.example:8080");
    expect(editedProxy("", stored)).toBe("");
  });

  it("belongs to a channel by name", () => {
    expect([channelOf(ownerOf(7)), channelOf(""), channelOf("channel x")]).toEqual([7, undefined, undefined]);
  });
});

describe("the user of a proxy (requirements C63)", () => {
  const keyHash = Buffer.from("00112233445566778899aabbccddeeff", "hex").toString("base64url");
  const sender = { channelId: 7, keyHash };

  it("may name the key and the channel; the password and what is no proxy stay", () => {
    const filled = filledProxy("socks5h://u-{key_hash}-{channel_id}:{key_hash}@p.example:1080", sender);
    expect(proxyAt(filled).login).toEqual({ user: "u-0011223344556677-7", password: "{key_hash}" });
    for (const text of ["", "direct", "http://p.example:1", "http://u:key_hash@p.example:1"])
      expect(proxyAtOrText(filledProxy(text, sender))).toBe(proxyAtOrText(text));
  });

  it("is another one for each key, also where the proxy is the channel's", () => {
    const proxy = "http://u-{key_hash}:p@p.example:1";
    const channel = { id: 7, proxy, route: { owner: "channel 7", proxies: [filledProxy(proxy, sender)] } };
    const own = routeWith(channel, { proxy: "", keyHash: "AAAAAAAAAAAAAAAAAAAAAA" });
    expect(own.proxies.at(-1)).toContain("u-0000000000000000:p@");
    const plain = { ...channel, proxy: "http://u:p@p.example:1" };
    expect(routeWith(plain, { proxy: "", keyHash })).toBe(plain.route);
  });
});

function proxyAtOrText(text: string): string {
  const reading = readProxy(text);
  return reading.kind === "proxy" ? reading.proxy.name : text;
}
