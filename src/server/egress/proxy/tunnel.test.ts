// Calls through real proxies: an HTTP proxy of ours that records what it is told, `proxy-chain` and `simple-socks` (requirements C01, C02,
// C04, C05, C07, C12, C15).
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  type ProxyWorld,
  startChainProxy,
  startHttpProxy,
  startSocksProxy,
} from "#test/emulators/proxies.ts";
import { until } from "#test/emulators/raw-http.ts";
import { makeCertificate } from "#test/seeds/certificate.ts";
import {
  egressFor,
  httpProxy,
  KEY,
  kept,
  NAME,
  ofProxy,
  resolveTo,
  routeOf,
  through,
  tlsUpstream,
  trusted,
  upstream,
} from "#test/worlds/tunnels.ts";

const stranger = makeCertificate(NAME);
const known = getCACertificates("default");
beforeAll(() => setDefaultCACertificates([...known, trusted.cert, ofProxy.cert]));
afterAll(() => setDefaultCACertificates(known));

describe("an HTTP proxy", () => {
  test("is asked for a tunnel to every destination, and learns nothing of the call", async () => {
    const plain = await upstream();
    const secure = await tlsUpstream();
    const proxy = await httpProxy();
    const egress = egressFor({
      allow: [
        { cidr: "127.0.0.0/8", port: undefined },
        { cidr: "2001:db8::/32", port: undefined },
      ],
    });
    const address = `http://127.0.0.1:${proxy.port}`;
    for (const origin of [
      `http://${NAME}:${plain.port}`,
      `https://${NAME}:${secure.port}`,
      `http://[2001:db8::1]:${plain.port}`,
    ])
      expect(await through(egress, address, origin)).toBe("good");
    expect(proxy.asked).toEqual([
      `${NAME}:${plain.port}`,
      `${NAME}:${secure.port}`,
      `[2001:db8::1]:${plain.port}`,
    ]);
    expect(proxy.heads.every((head) => head.startsWith("CONNECT "))).toBe(true);
    expect(proxy.heads.join("")).not.toMatch(new RegExp(`${KEY}|authorization|accept`, "i"));
    // The port of the scheme is named too.
    const refusing = await httpProxy({ says: () => "HTTP/1.1 403 No\r\n\r\n" });
    for (const scheme of ["http", "https"])
      expect(await through(egress, `http://127.0.0.1:${refusing.port}`, `${scheme}://${NAME}`)).toBe(
        "proxy_refused!",
      );
    expect(refusing.heads.map((head) => head.split("\r\n").slice(0, 2))).toEqual([
      [`CONNECT ${NAME}:80 HTTP/1.1`, `Host: ${NAME}:80`],
      [`CONNECT ${NAME}:443 HTTP/1.1`, `Host: ${NAME}:443`],
    ]);
  });

  test("gets another user with each tunnel where its user says so (requirements C63)", async () => {
    const { port } = await upstream();
    const proxy = await httpProxy();
    for (const egress of [egressFor(), egressFor()])
      expect(
        await through(egress, `http://u-{random}:p@127.0.0.1:${proxy.port}`, `http://${NAME}:${port}`),
      ).toBe("good");
    const users = proxy.heads.map((head) => {
      const [, said = ""] = /Basic (\S+)/.exec(head) ?? [];
      return Buffer.from(said, "base64").toString();
    });
    expect(users).toHaveLength(2);
    for (const user of users) expect(user).toMatch(/^u-[0-9a-f]{16}:p$/);
    expect(users[0]).not.toBe(users[1]);
  });

  test.each([
    ["ours", (login: string) => startHttpProxy({ login })],
    ["proxy-chain", (login: string) => startChainProxy(login)],
  ])("takes credentials once: %s", async (_, start) => {
    const { port } = await upstream();
    const proxy = await kept(start("us er:p@:ss"));
    const egress = egressFor();
    const at = `127.0.0.1:${proxy.port}`;
    const origin = `http://${NAME}:${port}`;
    expect(await through(egress, `http://us%20er:p%40%3Ass@${at}`, origin)).toBe("good");
    expect(proxy.made()).toBe(1);
    expect(await through(egress, `http://us%20er:wrong@${at}`, origin)).toBe("proxy_auth!");
    expect(await through(egress, `http://us%20er@${at}`, origin)).toBe("proxy_auth!");
    expect(await through(egress, `http://${at}`, origin)).toBe("proxy_auth!");
    expect(proxy.made()).toBe(4);
  });

  test.each([
    ["HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nbad", "proxy_protocol!"],
    ["HTTP/1.1 200 OK\r\n\r\n\u0015\u0003\u0003\u0000\u0002\u0002\u0028", "proxy_protocol!"],
    ["reset", "proxy_unreachable!"],
    ["HTTP/1.1 502 Bad\r\n\r\n", "proxy_target!"],
    ["220 smtp.example\r\n", "proxy_protocol!"],
  ])("that says %j is the fault %s", async (said, expected) => {
    const { port, made } = await upstream();
    const proxy = await httpProxy({ says: () => said });
    expect(await through(egressFor(), `http://127.0.0.1:${proxy.port}`, `http://${NAME}:${port}`)).toBe(
      expected,
    );
    expect(made()).toBe(0);
    await until(() => proxy.sockets.size === 0);
  });

  test("that is not there, or not allowed, is unreachable", async () => {
    const gone = await startHttpProxy();
    await gone.close();
    const address = `http://127.0.0.1:${gone.port}`;
    expect(await through(egressFor(), address, `http://${NAME}`)).toBe("proxy_unreachable!");
    const proxy = await httpProxy();
    const strict = egressFor({ allow: [] });
    expect(await through(strict, `http://127.0.0.1:${proxy.port}`, `http://${NAME}`)).toBe(
      "proxy_unreachable!",
    );
    resolveTo({ "proxy.example": "127.0.0.1" });
    expect(await through(strict, `http://proxy.example:${proxy.port}`, `http://${NAME}`)).toBe(
      "proxy_unreachable!",
    );
    const own = egressFor({ ownPorts: [proxy.port] });
    expect(await through(own, `http://127.0.0.1:${proxy.port}`, `http://${NAME}`)).toBe("proxy_unreachable!");
    expect(proxy.made()).toBe(0);
    const proxyAllow = [{ cidr: "127.0.0.1", port: proxy.port }];
    const allowed = egressFor({ allow: [], proxyAllow });
    const { port } = await upstream();
    expect(await through(allowed, `http://127.0.0.1:${proxy.port}`, `http://${NAME}:${port}`)).toBe("good");
    // What proxies may be, channels may not.
    expect(await through(allowed, "direct", `http://127.0.0.1:${proxy.port}`)).toBe("blocked");
  });
});

describe("certificates", () => {
  test("of the proxy and of the destination are both verified", async () => {
    const secure = await tlsUpstream();
    const proxy = await httpProxy({ certificate: ofProxy });
    resolveTo({ "proxy.example": "127.0.0.1" });
    const egress = egressFor();
    const address = `https://proxy.example:${proxy.port}`;
    expect(await through(egress, address, `https://${NAME}:${secure.port}`)).toBe("good");
    expect(await through(egress, address, `http://${NAME}:${(await upstream()).port}`)).toBe("good");
    // By another name than its certificate's, and with an unknown one.
    expect(await through(egress, `https://127.0.0.1:${proxy.port}`, `https://${NAME}:${secure.port}`)).toBe(
      "proxy_unreachable!",
    );
    const unknown = await httpProxy({ certificate: makeCertificate("proxy.example") });
    expect(
      await through(egress, `https://proxy.example:${unknown.port}`, `https://${NAME}:${secure.port}`),
    ).toBe("proxy_unreachable!");
    expect(await through(egress, address, `https://${NAME}:${(await tlsUpstream(stranger)).port}`)).toBe(
      "tls!",
    );
    expect(await through(egress, address, `https://other.example:${secure.port}`)).toBe("tls!");
    // A proxy without TLS where TLS is expected.
    const plainProxy = await httpProxy();
    expect(await through(egress, `https://proxy.example:${plainProxy.port}`, `https://${NAME}:1`)).toBe(
      "proxy_unreachable!",
    );
  });

  test("a wrong one of the destination blames the channel when there is no proxy", async () => {
    resolveTo({ [NAME]: "127.0.0.1" });
    expect(
      await through(egressFor(), "direct", `https://${NAME}:${(await tlsUpstream(stranger)).port}`),
    ).toBe("tls");
  });
});

describe("a SOCKS5 proxy", () => {
  test("gets a name with socks5h and the judged address with socks5", async () => {
    const plain = await upstream();
    const secure = await tlsUpstream();
    const proxy = await kept(startSocksProxy());
    const names = resolveTo({ [NAME]: "127.0.0.1" });
    const egress = egressFor();
    for (const scheme of ["socks5h", "socks"]) {
      expect(
        await through(egress, `${scheme}://127.0.0.1:${proxy.port}`, `http://${NAME}:${plain.port}`),
      ).toBe("good");
      expect(
        await through(egress, `${scheme}://127.0.0.1:${proxy.port}`, `https://${NAME}:${secure.port}`),
      ).toBe("good");
    }
    expect(proxy.asked).toEqual([`${NAME}:${plain.port}`, `${NAME}:${secure.port}`]);
    expect(names).toEqual([]);
    // The certificate has the name all the same.
    expect(await through(egress, `socks5://127.0.0.1:${proxy.port}`, `https://${NAME}:${secure.port}`)).toBe(
      "good",
    );
    expect(proxy.asked.at(-1)).toBe(`127.0.0.1:${secure.port}`);
    expect(names).toEqual([NAME]);
    const long = `${"a.".repeat(128)}example`;
    expect(await through(egress, `socks5h://127.0.0.1:${proxy.port}`, `http://${long}`)).toBe("dns");
  });

  test("takes credentials", async () => {
    const { port } = await upstream();
    const proxy = await kept(startSocksProxy("user:p@ss"));
    const egress = egressFor();
    const origin = `http://${NAME}:${port}`;
    expect(await through(egress, `socks5h://user:p%40ss@127.0.0.1:${proxy.port}`, origin)).toBe("good");
    expect(await through(egress, `socks5h://user:wrong@127.0.0.1:${proxy.port}`, origin)).toBe("proxy_auth!");
    expect(await through(egress, `socks5h://127.0.0.1:${proxy.port}`, origin)).toBe("proxy_auth!");
  });
});

describe("tunnels are kept apart", () => {
  test("by proxy, by its credential and by channel", async () => {
    const { port, made } = await upstream();
    const [one, other] = [await httpProxy(), await httpProxy()];
    const egress = egressFor();
    const origin = `http://${NAME}:${port}`;
    const call = async (proxy: ProxyWorld, login: string, owner: string) => {
      const route = routeOf(`http://${login}127.0.0.1:${proxy.port}`, owner);
      expect(await through(egress, "", origin, { route })).toBe("good");
      await new Promise(setImmediate);
    };
    const ways: [ProxyWorld, string, string][] = [
      [one, "", "channel 1"],
      [other, "", "channel 1"],
      [one, "a:b@", "channel 1"],
      [one, "a:c@", "channel 1"],
      [one, "", "channel 2"],
    ];
    for (let round = 0; round < 2; round += 1) for (const way of ways) await call(...way);
    expect(made()).toBe(5);
    expect([one.made(), other.made()]).toEqual([4, 1]);
  });

  test("by names that tell no credentials (requirements C17)", async () => {
    const secure = await tlsUpstream();
    const proxy = await httpProxy({ login: "canary-user:canary-word" });
    const egress = egressFor();
    const names = vi.spyOn(Map.prototype, "set");
    const address = `http://canary-user:canary-word@127.0.0.1:${proxy.port}`;
    for (let call = 0; call < 2; call += 1)
      expect(await through(egress, address, `https://${NAME}:${secure.port}`)).toBe("good");
    const told = names.mock.calls.map(([name]) => String(name));
    names.mockRestore();
    // The exit and the TLS session were named.
    expect(told.filter((name) => name.includes(NAME)).length).toBeGreaterThan(1);
    expect(told.filter((name) => name.includes("canary"))).toEqual([]);
  });

  test("an idle one is kept for 15 s (requirements C22)", async () => {
    vi.useFakeTimers({ toFake: ["performance", "setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const { port, made, sockets } = await upstream();
    const proxy = await httpProxy();
    const egress = egressFor();
    const call = () => through(egress, `http://127.0.0.1:${proxy.port}`, `http://${NAME}:${port}`);
    expect(await call()).toBe("good");
    await new Promise(setImmediate);
    vi.advanceTimersByTime(14_000);
    expect([await call(), made()]).toEqual(["good", 1]);
    await new Promise(setImmediate);
    vi.advanceTimersByTime(16_000);
    await until(() => sockets.size === 0);
    expect([await call(), made()]).toEqual(["good", 2]);
  });

  test("a changed channel has no idle ones", async () => {
    const { port, sockets } = await upstream();
    const proxy = await httpProxy();
    const egress = egressFor();
    const origin = `http://${NAME}:${port}`;
    const address = `http://127.0.0.1:${proxy.port}`;
    for (const owner of ["channel 1", "channel 2"])
      expect(await through(egress, "", origin, { route: routeOf(address, owner) })).toBe("good");
    await new Promise(setImmediate);
    egress.forget("channel 1");
    await until(() => sockets.size === 1);
    await until(() => proxy.sockets.size === 1);
    expect(await through(egress, "", origin, { route: routeOf(address, "channel 1") })).toBe("good");
  });
});
