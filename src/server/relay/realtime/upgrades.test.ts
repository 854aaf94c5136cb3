// Upgrades that fail on our side: their clients are told, the operator too, and the next one is tried anew.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished, vi } from "vitest";
import { createRelay } from "#server/relay/relay.ts";
import { openResponses } from "#test/emulators/responses-client.ts";
import { createRelayWorld } from "#test/worlds/relay-world.ts";

const world = createRelayWorld();

it("a bridge that cannot be made sends its client to HTTP, and is made for the next one", async () => {
  let isShort = false;
  const config = new Proxy(world.ctx.config, {
    get(target, name, self) {
      if (isShort && name === "memoryBytes") throw new Error("no memory");
      return Reflect.get(target, name, self);
    },
  });
  const failed = vi.spyOn(world.ctx.events, "backgroundFailed");
  const relay = createRelay({ ...world.ctx, config });
  const server = createServer(relay).on("upgrade", relay.upgrade);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    failed.mockRestore();
    await relay.cut();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const open = () => openResponses(url, world.token.key).socket;
  isShort = true;
  const refused = await new Promise<number | undefined>((resolve) => {
    open().on("unexpected-response", (_, answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
  });
  expect(refused).toBe(426);
  expect(failed.mock.calls).toMatchObject([[{ task: "make the bridge", error: { message: "no memory" } }]]);
  // Nothing is left of it that a shutdown could trip over.
  relay.drain();
  isShort = false;
  const socket = open();
  await new Promise((resolve) => socket.once("open", resolve));
  expect(failed).toHaveBeenCalledTimes(1);
  socket.terminate();
});
