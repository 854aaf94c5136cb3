// The end of the process, as its running calls see it: all of them are booked and answered in time (requirements G01).
import { expect, it } from "vitest";
import { chunk, sse } from "#test/emulators/fake-upstream.ts";
import { createRelayWorld, QUESTION } from "#test/worlds/relay-world.ts";
import { createRelay } from "./relay.ts";

const world = createRelayWorld();
const CALLS = 8;

/** Text without words, which takes longest to count; never the same twice. */
function hardText(length: number): string {
  return Array.from({ length }, () => String.fromCharCode(97 + Math.floor(Math.random() * 26))).join("");
}

it("ends streams in time though their prompts would take long to count", async () => {
  await world.addChannel();
  world.upstream.script(sse(chunk({ content: "word" }), 60_000));
  const relay = createRelay(world.ctx);
  const url = await world.serve(relay);
  const { entries, open } = await world.costOf(async () => {
    const asked = Array.from({ length: CALLS }, () =>
      world.ask(
        { ...QUESTION, stream: true, messages: [{ role: "user", content: hardText(150_000) }] },
        { url },
      ),
    );
    const texts = (await Promise.all(asked)).map((response) => response.text());
    const startMs = performance.now();
    await relay.cut();
    expect(performance.now() - startMs).toBeLessThan(4_000);
    for (const text of await Promise.all(texts)) expect(text).toContain("server_stopping");
  });
  expect({ entries, open }).toEqual({ entries: CALLS, open: 0 });
}, 30_000);
