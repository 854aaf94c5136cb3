// Sound that is streamed to the client: nothing is added to it, and a part of it never looks complete (requirements R10, R23).
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, expect, it } from "vitest";
import type { Step } from "#test/emulators/fake-upstream.ts";
import { createRelayWorld } from "#test/worlds/relay-world.ts";
import { createRelay } from "./relay.ts";

const world = createRelayWorld();
const path = "/v1/audio/speech";
const QUESTION = { model: "tts-1", input: "hello", voice: "alloy" };
let url = "";

/** Two pieces with a pause between them. */
function sound(type: string, isCut: boolean): Step {
  return async (res) => {
    res.writeHead(200, { "content-type": type });
    res.write(Buffer.from([1, 2, 3]));
    await sleep(200);
    if (isCut) res.destroy();
    else res.end(Buffer.from([4, 5, 6]));
  };
}

beforeEach(async () => {
  await world.addChannel({ models: "tts-1" });
  url = await world.serve(createRelay(world.ctx, {}, 20));
});

it.each(["audio/mpeg", "video/mp4"])("sound of type %s that pauses stays as it is", async (type) => {
  world.upstream.script(sound(type, false));
  const response = await world.ask(QUESTION, { url, path });
  expect(response.headers.get("content-type")).toBe(type);
  expect([...new Uint8Array(await response.arrayBuffer())]).toEqual([1, 2, 3, 4, 5, 6]);
});

it("sound that breaks off breaks off for the client too, and is settled", async () => {
  world.upstream.script(sound("audio/mpeg", true));
  const { open, entries } = await world.costOf(async () => {
    const response = await world.ask(QUESTION, { url, path });
    expect(response.status).toBe(200);
    await expect(response.arrayBuffer()).rejects.toThrow("terminated");
  });
  expect({ open, entries }).toEqual({ open: 0, entries: 1 });
});

it("a client whose answer ends with its connection sees the break as well", async () => {
  world.upstream.script(sound("audio/mpeg", true));
  const body = JSON.stringify(QUESTION);
  const ended = await new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket
      .on("error", resolve)
      .on("end", () => resolve("in good order"))
      .resume();
    socket.write(
      `POST ${path} HTTP/1.0\r\nAuthorization: Bearer ${world.token.key}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
  });
  expect(ended).toMatchObject({ code: "ECONNRESET" });
});
