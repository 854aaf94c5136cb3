// Which way a destination goes (requirements C08, C12), and how an address of a proxy is read.
import { describe, expect, test } from "vitest";
import { type Config, readConfig } from "#server/config.ts";
import { createEgress, NO_BREAKER } from "#server/egress/dispatcher.ts";
import { type Exit, Exits } from "#server/egress/exits.ts";
import { faultOf } from "#server/egress/send.ts";
import { dropsLogin, readProxy } from "./address.ts";
import { readEnvironment } from "./environment.ts";
import { ProxyHealth } from "./health.ts";

function exitsFor(
  forAll: string,
  environment?: Config["proxyEnvironment"],
  isUsed: (exit: Exit) => boolean = () => false,
): Exits {
  const exits = new Exits({
    allow: [],
    proxyAllow: [],
    ownPorts: [],
    environment: environment && readEnvironment(environment),
    health: new ProxyHealth({ breaker: NO_BREAKER, now: () => 0 }),
    isUsed,
  });
  exits.setProxyForAll(forAll);
  return exits;
}

/** The proxy by which a destination is reached, `direct`, or the fault. */
function wayOf(exits: Exits, proxies: readonly string[], origin = "https://api.example.com"): string {
  try {
    const exit: Exit = exits.exitFor({ origin, route: { owner: "o", proxies } });
    return exit.path?.proxy.host ?? "direct";
  } catch (error) {
    return faultOf(error).code;
  }
}

describe("the order", () => {
  const own = ["", "http://own:1", "direct"];
  const rows = own.flatMap((key) =>
    ["", "socks5h://channel:1", "direct"].flatMap((channel) =>
      ["", "http://option:1", "direct"].flatMap((option) =>
        ["", "http://environment:1"].map((environment) => [key, channel, option, environment] as const),
      ),
    ),
  );

  test.each(rows)("key %j, channel %j, option %j, environment %j", (...row) => {
    const [key, channel, option, environment] = row;
    const exits = exitsFor(option, { http: "", https: environment, noProxy: "" });
    const first = row.find((text) => text !== "") ?? "direct";
    expect(wayOf(exits, [key, channel])).toBe(/\/\/(\w+):/.exec(first)?.[1] ?? "direct");
  });

  test.each(["socks4://a:1", "http://", "nonsense here", "http://a:99999", "quic://a:1", "http://a:1/path"])(
    "%s is an error wherever it stands, and never direct",
    (text) => {
      const environment = { http: text, https: text, noProxy: "" };
      expect(wayOf(exitsFor(""), ["", text])).toBe("proxy_unreachable");
      expect(wayOf(exitsFor(""), [text, "http://good:1"])).toBe("proxy_unreachable");
      expect(wayOf(exitsFor(text), [])).toBe("proxy_unreachable");
      expect(wayOf(exitsFor("", environment), [])).toBe("proxy_unreachable");
      expect(createEgress({ allow: [] }).refusalOfProxy(text)).toMatch(/代理/);
      // It decides nothing where something before it does.
      expect(wayOf(exitsFor(text), ["direct"])).toBe("direct");
    },
  );

  test("this machine is never reached by a proxy for all, but by one of its own", () => {
    const exits = exitsFor("http://option:1", { http: "http://e:1", https: "http://e:1", noProxy: "" });
    for (const origin of [
      "http://127.0.0.1:11434",
      "http://localhost:1",
      "http://[::1]:1",
      "http://a.localhost",
    ])
      expect(wayOf(exits, [], origin)).toBe("direct");
    expect(wayOf(exits, ["http://own:1"], "http://127.0.0.1:11434")).toBe("own");
  });

  test("follows the option from one call to the next", () => {
    const exits = exitsFor("");
    const route = { owner: "o", proxies: [""] };
    const wayNow = () => exits.exitFor({ origin: "https://a.example", route }).path?.proxy.host;
    expect(wayNow()).toBeUndefined();
    exits.setProxyForAll("http://option:1");
    expect(wayNow()).toBe("option");
  });
});

describe("thousands of exits", () => {
  const origin = "https://a.example";
  const routesOf = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ owner: `channel ${at}`, proxies: [] }));

  test("in use cost a call no look at the others, and a new one less than three looks", () => {
    let looks = 0;
    const exits = exitsFor("", undefined, () => {
      looks += 1;
      return true;
    });
    const routes = routesOf(5_000);
    const made = routes.map((route) => exits.exitFor({ origin, route }));
    expect(looks).toBeLessThan(3 * routes.length);
    looks = 0;
    for (let call = 0; call < 100_000; call += 1) exits.exitFor({ origin, route: routes[call % 5_000] });
    expect(looks).toBe(0);
    // None in use was dropped.
    for (const [at, route] of routes.entries())
      expect(exits.exitFor({ origin, route: { ...route } })).toBe(made[at]);
  });

  test("are dropped when they are not in use, and those that are stay", () => {
    const used = new Set<Exit>();
    const exits = exitsFor("", undefined, (exit) => used.has(exit));
    const routes = routesOf(1_500);
    const [first, second] = routes.slice(0, 2).map((route) => exits.exitFor({ origin, route }));
    used.add(first ?? expect.fail());
    for (const route of routes.slice(2)) exits.exitFor({ origin, route });
    expect(exits.exitFor({ origin, route: { ...routes[0], owner: "channel 0", proxies: [] } })).toBe(first);
    // A route that knows one which was dropped gets the one that is forgotten with its owner's.
    const again = exits.exitFor({ origin, route: routes[1] });
    expect(again).not.toBe(second);
    exits.forget("channel 1");
    expect(again.isForgotten).toBe(true);
  });
});

describe("the environment", () => {
  const base = { EGRESS_PROXY_ENV: "1" };
  const ways = (variables: Record<string, string>) => {
    const { proxyEnvironment } = readConfig(variables);
    const exits = exitsFor("", proxyEnvironment);
    return [
      wayOf(exits, [], "http://a.example"),
      wayOf(exits, [], "https://a.example"),
      wayOf(exits, [], "wss://a.example"),
    ];
  };

  test.each([
    [{ HTTP_PROXY: "h:1", HTTPS_PROXY: "s:1" }, ["direct", "direct", "direct"]],
    [{ ...base, HTTP_PROXY: "http://h:1" }, ["h", "direct", "direct"]],
    [{ ...base, HTTPS_PROXY: "http://s:1" }, ["direct", "s", "s"]],
    [{ ...base, ALL_PROXY: "socks5h://all:1", HTTP_PROXY: "h:1" }, ["h", "all", "all"]],
    [{ ...base, HTTP_PROXY: "upper:1", http_proxy: "lower:1" }, ["lower", "direct", "direct"]],
    [{ ...base, HTTPS_PROXY: "s:1", NO_PROXY: ".example" }, ["direct", "direct", "direct"]],
    [{ ...base, https_proxy: "s:1", no_proxy: "a.example:443" }, ["direct", "direct", "direct"]],
    [{ ...base, https_proxy: "s:1", no_proxy: "b.example" }, ["direct", "s", "s"]],
  ])("%j", (variables, expected) => {
    expect(ways(variables)).toEqual(expected);
  });

  test.each([{ NODE_USE_ENV_PROXY: "1" }, { NODE_OPTIONS: "--max-old-space-size=99 --use-env-proxy" }])(
    "%j is refused: Node would go past the channels' proxies",
    (variables) => {
      expect(() => readConfig(variables)).toThrow(/EGRESS_PROXY_ENV/);
    },
  );

  test("EGRESS_PROXY_ENV is a switch", () => {
    expect(readConfig({ EGRESS_PROXY_ENV: "0", HTTP_PROXY: "h:1" }).proxyEnvironment).toBeUndefined();
    expect(() => readConfig({ EGRESS_PROXY_ENV: "yes" })).toThrow(/EGRESS_PROXY_ENV/);
  });
});

describe("an address", () => {
  test.each([
    ["http://p", "http://p:80", "proxy"],
    ["p:8080", "http://p:8080", "proxy"],
    ["HTTPS://P.example/", "https://p.example:443", "proxy"],
    ["socks5://p", "socks5://p:1080", "us"],
    ["socks5h://u:p@p:1", "socks5h://p:1", "proxy"],
    ["socks://p:1", "socks5h://p:1", "proxy"],
    ["socks5://p:1?dns=proxy", "socks5h://p:1", "proxy"],
    ["http://p:1?dns=local", "http://p:1?dns=local", "us"],
    ["http://[::1]:1", "http://[::1]:1", "proxy"],
  ])("%s is shown as %s, names are resolved by %s", (text, shown, resolves) => {
    const reading = readProxy(text);
    expect(reading).toMatchObject({ kind: "proxy", proxy: { shown, resolves } });
    if (reading.kind !== "proxy") return;
    // What is stored reads as the same.
    expect(readProxy(reading.proxy.name)).toEqual(reading);
  });

  test.each([
    "http://a:b%0d%0aX: y@p:1",
    "http://a%zz@p:1",
    `socks5://${"é".repeat(128)}:x@p:1`,
    "http://a%3Ab:c@p:1",
  ])("%s is refused without being repeated", (text) => {
    const reading = readProxy(text);
    expect(reading.kind).toBe("unreadable");
    expect(JSON.stringify(reading)).not.toContain("@p");
  });

  test("drops its credentials on request only", () => {
    expect(["http://@p:1", "http://:@p:1", "@p:1"].map(dropsLogin)).toEqual([true, true, true]);
    expect(["http://p:1", "http://u@p:1", "http://:x@p:1"].map(dropsLogin)).toEqual([false, false, false]);
  });
});

describe("the address of a proxy itself", () => {
  const allow = [{ cidr: "127.0.0.1", port: 7890 }];
  test("is judged before it is saved: this machine needs the operator's leave, our own ports never get it", () => {
    const refused = (text: string, options: Partial<Parameters<typeof createEgress>[0]> = {}) =>
      createEgress({ allow: [], ...options }).refusalOfProxy(text) !== undefined;
    expect(refused("http://127.0.0.1:7890")).toBe(true);
    expect(refused("socks5h://[::1]:7890")).toBe(true);
    expect(refused("http://10.0.0.1:7890")).toBe(true);
    expect(
      refused("http://169.254.169.254:80", { proxyAllow: [{ cidr: "0.0.0.0/0", port: undefined }] }),
    ).toBe(true);
    expect(refused("http://127.0.0.1:7890", { proxyAllow: allow })).toBe(false);
    expect(refused("http://127.0.0.1:7890", { allow })).toBe(false);
    expect(refused("http://127.0.0.1:7890", { proxyAllow: allow, ownPorts: [7890] })).toBe(true);
    expect(refused("http://203.0.113.9:1")).toBe(true);
    expect(refused("http://8.8.8.8:1")).toBe(false);
    expect(refused("http://proxy.example.com:1")).toBe(false);
    expect(refused("direct")).toBe(false);
  });
});
