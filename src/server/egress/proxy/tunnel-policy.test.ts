// The address policy behind a proxy (requirements C11): what may not be reached directly is not reached through one either.
import { describe, expect, test } from "vitest";
import { startHttpProxy, startSocksProxy } from "#test/emulators/proxies.ts";
import { egressFor, kept, NAME, resolveTo, routeOf, through, upstream } from "#test/worlds/tunnels.ts";

describe("the address policy", () => {
  test("holds where we resolve: the proxy is not even asked", async () => {
    const proxy = await kept(startSocksProxy());
    resolveTo({ "inner.example": "10.0.0.7", "meta.example": "169.254.169.254", [NAME]: "127.0.0.1" });
    const allow = [{ cidr: "127.0.0.1", port: proxy.port }];
    const egress = egressFor({ allow });
    for (const proxyAddress of [
      `socks5://127.0.0.1:${proxy.port}`,
      `http://127.0.0.1:${proxy.port}?dns=local`,
    ])
      for (const host of ["inner.example", "meta.example", NAME, "10.0.0.7"])
        expect(await through(egress, proxyAddress, `http://${host}:81`)).toBe("blocked");
    expect(proxy.made()).toBe(0);
  });

  test("judges names as text where the proxy resolves", async () => {
    const proxy = await kept(startSocksProxy());
    const egress = egressFor();
    for (const host of [
      "metadata.google.internal",
      "metadata",
      "localhost",
      "router",
      "a.local",
      "db.internal",
      "a.localhost.",
      "169.254.169.254",
      "10.0.0.1",
      "[::ffff:169.254.169.254]",
    ])
      expect([host, await through(egress, `socks5h://127.0.0.1:${proxy.port}`, `http://${host}:81`)]).toEqual(
        [host, "blocked"],
      );
    expect(proxy.made()).toBe(0);
  });

  test("a name is judged anew for each connection", async () => {
    const proxy = await kept(startSocksProxy());
    const { port } = await upstream();
    const table: Record<string, string> = { [NAME]: "127.0.0.1" };
    resolveTo(table);
    const egress = egressFor();
    const once = { route: { ...routeOf(`socks5://127.0.0.1:${proxy.port}`), isOnce: true } } as const;
    expect(await through(egress, "", `http://${NAME}:${port}`, once)).toBe("good");
    table[NAME] = "10.0.0.1";
    expect(await through(egress, "", `http://${NAME}:${port}`, once)).toBe("blocked");
    expect(proxy.asked).toEqual([`127.0.0.1:${port}`]);
  });

  test("media at an address of a caller are resolved here, whatever the proxy would", async () => {
    const proxy = await kept(startSocksProxy());
    const names = resolveTo({ "inner.example": "10.0.0.7", "caller.example": "93.184.216.34" });
    const { port } = await upstream();
    const egress = egressFor();
    const more = { publicOnly: true } as const;
    const address = `socks5h://127.0.0.1:${proxy.port}`;
    expect(await through(egress, address, `http://inner.example:${port}`, more)).toBe("blocked");
    expect(await through(egress, address, `http://127.0.0.1:${port}`, more)).toBe("blocked");
    expect(proxy.made()).toBe(0);
    expect(await through(egress, address, `http://caller.example:${port}`, more)).toBe("good");
    expect(proxy.asked).toEqual([`93.184.216.34:${port}`]);
    expect(names.filter((name) => name.endsWith(".example"))).toEqual(["inner.example", "caller.example"]);
  });
});

test("a proxy that is silent about an address of a caller is not blamed for it", async () => {
  const proxy = await kept(startHttpProxy({ says: () => "" }));
  const address = `http://127.0.0.1:${proxy.port}`;
  const route = { ...routeOf(address), connectMs: 100 };
  const origin = "http://93.184.216.34";
  const egress = egressFor();
  expect(await through(egress, address, origin, { route, publicOnly: true })).toBe("proxy_target");
  expect(await through(egress, address, origin, { route })).toBe("proxy_unreachable!");
  expect(proxy.made()).toBe(2);
});
