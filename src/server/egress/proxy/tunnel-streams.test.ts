// Streams through tunnels behave as direct ones (requirements C16).
import { createServer as createRaw, type Socket } from "node:net";
import { createServer as createTls, getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Flow } from "#server/egress/send.ts";
import { ask, until } from "#test/emulators/raw-http.ts";
import { egressFor, httpProxy, NAME, routeOf, serve, trusted } from "#test/worlds/tunnels.ts";

const known = getCACertificates("default");
beforeAll(() => setDefaultCACertificates([...known, trusted.cert]));
afterAll(() => setDefaultCACertificates(known));

describe("streams through tunnels", () => {
  /** Sends so many bytes, and tells how many went out. */
  async function source(total: number, secure: boolean) {
    let written = 0;
    const onSocket = (socket: Socket) => {
      socket.once("data", () => {
        socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${total}\r\n\r\n`);
        const piece = Buffer.alloc(64 * 1024, "a");
        const more = () => {
          while (written < total) {
            written += piece.length;
            if (!socket.write(piece)) return;
          }
        };
        socket.on("drain", more);
        more();
      });
      socket.on("error", () => undefined);
    };
    const server = await serve(secure ? createTls(trusted, onSocket) : createRaw(onSocket));
    return {
      origin: `${secure ? "https" : "http"}://${NAME}:${server.port}`,
      written: () => written,
      sockets: server.sockets,
    };
  }

  const MANY = 32 * 1024 * 1024;

  test.each([false, true])(
    "a reader that stops holds the upstream back; 32 MiB arrive whole (TLS: %s)",
    async (isTls) => {
      const { origin, written } = await source(MANY, isTls);
      const proxy = await httpProxy();
      const route = routeOf(`http://127.0.0.1:${proxy.port}`);
      const limits = { headersTimeoutMs: 60_000, idleTimeoutMs: 60_000 };
      const paused = Promise.withResolvers<void>();
      const onStart = (flow: Flow) => {
        flow.pause();
        paused.resolve();
      };
      const asked = ask(egressFor(), { origin, route, ...limits }, { onStart });
      // The source may stand still before the answer has begun; a flow that is not paused cannot be resumed.
      await paused.promise;
      let before = -1;
      await until(() => {
        const isStill = written() === before && before > 0;
        before = written();
        return isStill;
      }, 20_000);
      expect(written()).toBeLessThan(MANY);
      asked.flow.resume();
      const { body, fault } = await asked.told;
      expect([fault, body.length]).toEqual([undefined, MANY]);
    },
  );

  test("a client that leaves ends the tunnel at both ends within 250 ms", async () => {
    const { origin, sockets } = await source(MANY, true);
    const proxy = await httpProxy();
    const route = routeOf(`http://127.0.0.1:${proxy.port}`);
    const egress = egressFor();
    /** How long it takes until both ends are closed. */
    const leave = async () => {
      const leaving = Promise.withResolvers<number>();
      const onData = (_: unknown, flow: Flow) => {
        flow.abort();
        leaving.resolve(performance.now());
      };
      ask(egress, { origin, route }, { onData });
      const leftMs = await leaving.promise;
      await until(() => sockets.size === 0 && proxy.sockets.size === 0);
      return performance.now() - leftMs;
    };
    // A machine may stand still now and then; a tunnel that waits for something waits each time.
    let fastest = await leave();
    for (let round = 0; round < 20 && fastest > 250; round += 1) fastest = Math.min(fastest, await leave());
    expect(fastest).toBeLessThanOrEqual(250);
  });

  test("an abort while the tunnel is being opened ends it", async () => {
    const proxy = await httpProxy({ says: () => "HTTP/1.1 100 Wait\r\n\r\n" });
    const asked = ask(egressFor(), {
      origin: `http://${NAME}`,
      route: routeOf(`http://127.0.0.1:${proxy.port}`),
    });
    await until(() => proxy.heads.length === 1);
    asked.flow.abort();
    await until(() => proxy.sockets.size === 0);
    expect(asked.flow.isSent).toBe(false);
  });
});
