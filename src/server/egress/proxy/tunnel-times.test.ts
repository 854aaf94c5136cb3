// The limit of connecting holds for the whole way through a proxy, and the fault names who stood still (requirements C13, C41).
import { createServer, type Socket } from "node:net";
import { expect, test } from "vitest";
import type { Egress } from "#server/egress/dispatcher.ts";
import { ask, startDeaf } from "#test/emulators/raw-http.ts";
import { egressFor, httpProxy, kept, NAME, routeOf, serve } from "#test/worlds/tunnels.ts";

const LIMIT_MS = 1_000;

interface Ended {
  readonly code: string;
  readonly isProxy: boolean;
  readonly ms: number;
}

async function endOf(egress: Egress, proxy: string, origin: string): Promise<Ended> {
  const startedMs = performance.now();
  const route = { ...routeOf(proxy), connectMs: LIMIT_MS };
  const { fault } = await ask(egress, { origin, route, headersTimeoutMs: 0 }).told;
  const ms = performance.now() - startedMs;
  return { code: fault?.code ?? "none", isProxy: fault?.isProxy === true, ms };
}

/** Takes connections and says nothing, or says this once it was spoken to. */
const mute = (says?: (socket: Socket) => void) =>
  serve(
    createServer((socket) => {
      socket.on("error", () => undefined);
      if (says !== undefined) socket.once("data", () => says(socket));
    }),
  );

const [PROXY, TARGET] = [
  { code: "proxy_unreachable", isProxy: true },
  { code: "proxy_target", isProxy: true },
];

test("a standstill anywhere on the way ends at the limit within a tenth", { timeout: 60_000 }, async () => {
  const deaf = await kept(startDeaf());
  const silent = await mute();
  const tunnels = await httpProxy();
  const halfDone = await mute((socket) => socket.write("HTTP/1.1 200 "));
  const asksOn = await mute((socket) => socket.write(Buffer.from([5, 0])));
  // Never reached: the proxy stands still before.
  const good = `https://${NAME}`;
  const stuck = `https://${NAME}:${silent.port}`;
  const cases = [
    { name: "TCP", proxy: `http://127.0.0.1:${deaf.port}`, origin: good, is: PROXY, times: 12 },
    { name: "TLS with the proxy", proxy: `https://127.0.0.1:${silent.port}`, origin: good, is: PROXY },
    { name: "CONNECT", proxy: `http://127.0.0.1:${silent.port}`, origin: good, is: PROXY },
    { name: "half an answer", proxy: `http://127.0.0.1:${halfDone.port}`, origin: good, is: PROXY },
    { name: "SOCKS", proxy: `socks5h://127.0.0.1:${silent.port}`, origin: good, is: PROXY },
    { name: "SOCKS, second step", proxy: `socks5h://127.0.0.1:${asksOn.port}`, origin: good, is: PROXY },
    { name: "TLS", proxy: `http://127.0.0.1:${tunnels.port}`, origin: stuck, is: TARGET },
  ];
  const egress = egressFor();
  for (const { name, proxy, origin, is, times = 1 } of cases) {
    // On a loaded machine one of a few tries is in time; none is ever too early.
    let ends: Ended[] = [];
    for (let round = 0; round < 5 && !ends.some(({ ms }) => ms <= 1.1 * LIMIT_MS); round += 1) {
      ends = await Promise.all(Array.from({ length: times }, () => endOf(egress, proxy, origin)));
      for (const end of ends) {
        expect(end, name).toMatchObject(is);
        expect(end.ms, name).toBeGreaterThanOrEqual(0.9 * LIMIT_MS);
      }
    }
    expect(Math.min(...ends.map(({ ms }) => ms)), name).toBeLessThanOrEqual(1.1 * LIMIT_MS);
  }
});

test("what the proxy has used is not there for what is behind it", async () => {
  const silent = await mute();
  const slow = await serve(
    createServer((socket) => {
      socket.on("error", () => undefined);
      // Two thirds of the limit go by before the tunnel stands; nothing comes through it.
      socket.once("data", () =>
        setTimeout(() => socket.write("HTTP/1.1 200 OK\r\n\r\n"), (2 * LIMIT_MS) / 3),
      );
    }),
  );
  const proxy = `http://127.0.0.1:${slow.port}`;
  const end = await endOf(egressFor(), proxy, `https://${NAME}:${silent.port}`);
  expect(end).toMatchObject(TARGET);
  expect(end.ms).toBeGreaterThanOrEqual(0.9 * LIMIT_MS);
  expect(end.ms).toBeLessThan(1.6 * LIMIT_MS);
});
