// Clients that leave, read slowly or call again at once, and a relay that stops.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { text as textOf } from "node:stream/consumers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import {
  chatReply,
  chunk,
  DONE,
  json,
  type Step,
  silence,
  sse,
  usageChunk,
} from "#test/emulators/fake-upstream.ts";
import { until } from "#test/emulators/raw-http.ts";
import { createRelayWorld, QUESTION } from "#test/worlds/relay-world.ts";
import { localErrors } from "./http/local-errors.ts";
import { createRelay } from "./relay.ts";

const world = createRelayWorld();
const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
const STREAM = { ...QUESTION, stream: true };
/** More than the system takes by itself. */
const LARGE = "y".repeat(12_000_000);
const STALL_MS = 300;
let url = "";

beforeEach(async () => {
  await world.addChannel({ models: "gpt-4,tts-1" });
  if (url === "") url = await world.serve(createRelay(world.ctx, { stallMs: STALL_MS }));
});

interface Ask {
  readonly path?: string;
  readonly body?: unknown;
}

/** The head of a call and its body, for a connection of one's own. */
function wordsOf({ path = "/v1/chat/completions", body = QUESTION }: Ask): string {
  const text = JSON.stringify(body);
  return `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${world.token.key}\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
}

/** Calls on a connection of its own. */
function call(asking: Ask = {}, at = url): Socket {
  const socket = connect({ port: Number(new URL(at).port), host: "127.0.0.1", allowHalfOpen: true });
  socket.on("error", () => undefined);
  socket.write(wordsOf(asking));
  return socket;
}

function running(): number | undefined {
  return world.ctx.events.samples().find(({ name }) => name === "tollgate_relay_running")?.value;
}

/** The operator's line about one call, and what the call cost. */
async function lineOf(act: () => Promise<unknown>) {
  const told = vi.spyOn(world.ctx.events, "relayDone");
  const { charged, open } = await world.costOf(async () => {
    await act();
    await until(() => told.mock.calls.length > 0);
  });
  const [[line] = []] = told.mock.calls;
  told.mockRestore();
  if (line === undefined) throw new Error("nothing was told");
  expect(open).toBe(0);
  return { line, charged };
}

const openStream: Step = async (res) => {
  res.writeHead(200, { "content-type": "text/event-stream" });
  res.write(chunk({ content: "hello" }));
};

const endless: Step = async (res) => {
  res.writeHead(200, { "content-type": "text/event-stream" });
  const piece = chunk({ content: "x".repeat(60_000) });
  while (!res.destroyed) if (!res.write(piece)) await new Promise((resolve) => res.once("drain", resolve));
};
/** Ends when the test says so. */
const held = (first: string) => {
  const { promise, resolve: release } = Promise.withResolvers<string>();
  const step: Step = async (res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.flushHeaders();
    if (first !== "") res.write(first);
    res.end(await promise);
  };
  return { step, release };
};

/** The bytes of a connection. */
function collect(socket: Socket): { text: string } {
  const heard = { text: "" };
  socket.on("data", (data) => {
    heard.text += data.toString("latin1");
  });
  return heard;
}

describe("a client that leaves", () => {
  const leaving: readonly [string, (socket: Socket) => unknown][] = [
    ["by its end", (socket) => socket.destroy()],
    ["by a reset", (socket) => socket.resetAndDestroy()],
    ["by a half-close", (socket) => socket.end()],
  ];
  const asked = () => until(() => world.upstream.journal.length === 1);
  const moments = [
    { what: "a whole answer", step: silence, body: QUESTION, ready: asked },
    { what: "a stream", step: silence, body: STREAM, ready: asked },
    {
      what: "the rest of a stream",
      step: openStream,
      body: STREAM,
      ready: (socket: Socket) => once(socket, "data"),
    },
  ];
  const cases = moments.flatMap((moment) => leaving.map(([how, leave]) => ({ ...moment, how, leave })));
  it.each(cases)("$how before $what", async ({ leave, step, body, ready }) => {
    world.upstream.script(step);
    const { line } = await lineOf(async () => {
      const socket = call({ body });
      await ready(socket);
      leave(socket);
      await world.upstream.journal[0]?.aborted;
      socket.destroy();
    });
    expect(line).toMatchObject({ status: 499, fault: "client_gone" });
    await until(() => running() === 0);
  });

  it.each(leaving.slice(0, 2))("%s amid an answer that it has paid for", async (_, leave) => {
    world.upstream.script(json(chatReply(LARGE)));
    const { logs } = await world.money();
    const { charged } = await lineOf(async () => {
      const socket = call().pause();
      await until(() => running() === 1);
      await expect.poll(async () => (await world.money()).logs).toBe(logs + 1);
      leave(socket);
      await until(() => running() === 0);
    });
    expect(charged).toBe(300);
  });
});

describe("a client that does not read", () => {
  it.each<[string, Step, object]>([
    ["the rest of a whole answer", json(chatReply(LARGE)), QUESTION],
    [
      "the rest of a stream",
      sse(...[1, 2].map(() => chunk({ content: LARGE.slice(6e6) })), chunk({}, "stop"), DONE),
      STREAM,
    ],
    ["a stream that goes on", endless, STREAM],
  ])("%s is cut off", async (_, step, body) => {
    world.upstream.script(step);
    const { charged } = await lineOf(async () => {
      const socket = call({ body }).pause();
      await until(() => running() === 1);
      await until(() => running() === 0);
      expect((await textOf(socket)).length).toBeLessThan(LARGE.length);
    });
    expect(charged).toBeGreaterThan(0);
  });
});

describe("a relay that stops", () => {
  it("sends a last event to clients it has begun to answer, an error to the others, and closes their connections", async () => {
    const relay = createRelay(world.ctx);
    const at = await world.serve(relay);
    const { charged, open, entries } = await world.costOf(async () => {
      world.upstream.script(openStream, silence);
      const begun = call({ body: STREAM }, at);
      const events = collect(begun);
      await until(() => events.text.includes("hello"));
      const waiting = call({}, at);
      await until(() => world.upstream.journal.length === 2);
      relay.drain();
      await relay.cut();
      expect(await textOf(waiting)).toMatch(
        /^HTTP\/1\.1 503 .*connection: close\r\n.*"code":"server_stopping"/is,
      );
      await until(() => events.text.endsWith("0\r\n\r\n"));
      expect(events.text).toContain("server_stopping");
      expect(events.text).not.toContain("[DONE]");
      begun.destroy();
      waiting.destroy();
    });
    // One has sent a first event, the other nothing.
    expect({ charged, open, entries }).toEqual({ charged: (9 + 2) * 15, open: 0, entries: 1 });
  });

  it.each([false, true])(
    "ends connections with whole answers, however slowly they are read: streamed %s",
    async (stream) => {
      const relay = createRelay(world.ctx);
      const at = await world.serve(relay);
      const { promise, resolve: release } = Promise.withResolvers<void>();
      world.upstream.script(async (res, asked) => {
        await promise;
        const piece = chunk({ content: LARGE.slice(6e6) });
        const step = stream ? sse(piece, piece, chunk({}, "stop"), DONE) : json(chatReply(LARGE));
        await step(res, asked);
      });
      const { charged } = await world.costOf(async () => {
        const socket = call({ body: { ...QUESTION, stream } }, at).pause();
        await until(() => world.upstream.journal.length === 1);
        relay.drain();
        release();
        if (!stream) await expect.poll(async () => (await world.money()).open).toBe(0);
        const text = await textOf(socket);
        expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[^{]*connection: close\r\n/i);
        expect(text.length).toBeGreaterThan(LARGE.length);
        expect(text.slice(-30)).toMatch(stream ? /\[DONE\]\n\n\r\n0\r\n\r\n$/ : /\}$/);
        socket.destroy();
      });
      expect(charged).toBeGreaterThan(0);
    },
  );

  it("turns callers away and closes their connections", async () => {
    const relay = createRelay(world.ctx);
    const refuse: Parameters<typeof world.serve>[0] = Object.assign(
      (...[req, res]: Parameters<typeof relay>) => relay.turnAway(req, res, localErrors.overloaded()),
      relay,
    );
    const at = await world.serve(refuse);
    for (const path of ["/v1/chat/completions", "/v1/messages"]) {
      const text = await textOf(call({ path }, at));
      expect(text).toMatch(/^HTTP\/1\.1 (503|529) .*connection: close\r\n.*\r\n\{.*\}$/is);
      expect(text).toMatch(/retry-after: \d/);
    }
  });
});

describe("a stream", () => {
  it("begins and sends keep-alives before its upstream sends anything", async () => {
    const at = await world.serve(createRelay(world.ctx, {}, 20));
    const { step, release } = held("");
    world.upstream.script(step);
    const body = { model: "gpt-4", max_tokens: 10, stream: true, messages: QUESTION.messages };
    const socket = call({ path: "/v1/messages", body }, at);
    const heard = collect(socket);
    await until(() => heard.text.split("event: ping").length > 2);
    expect(heard.text).toMatch(/^HTTP\/1\.1 200 OK\r\n.*content-type: text\/event-stream\r\n/is);
    release(chunk({ content: "late" }) + chunk({}, "stop") + DONE);
    await until(() => heard.text.endsWith("0\r\n\r\n"));
    expect(heard.text).toContain("late");
    expect(heard.text).toContain("event: message_stop");
    socket.destroy();
  });

  it("of sound ends with a reset", async () => {
    world.upstream.script((res) => {
      res.writeHead(200, { "content-type": "audio/mpeg" });
      res.write("sound", () => setTimeout(() => res.socket?.resetAndDestroy(), 20));
    });
    const { line } = await lineOf(async () => {
      const body = { model: "tts-1", input: "hello", voice: "alloy" };
      const socket = call({ path: "/v1/audio/speech", body });
      const isBroken = await new Promise((resolve) => socket.resume().once("close", resolve));
      expect(isBroken).toBe(true);
    });
    expect(line).toMatchObject({ status: 200, fault: expect.stringMatching(/./) });
  });
});

describe("a client that calls again in the moment of its answer", () => {
  it("is answered and charged right, hundreds of times on one connection", async () => {
    const whole = json(chatReply("whole"));
    const stream = sse(chunk({ content: "streamed" }) + chunk({}, "stop") + usageChunk(USAGE) + DONE);
    const large = json(chatReply("large".repeat(20_000)));
    const fault = json({ error: { message: "no" } }, 400);
    const steps = [whole, stream, large, stream, fault];
    const ends = ["whole", "[DONE]", "large", "[DONE]", '"error"'];
    world.upstream.script((res, asked) => steps[Number(asked.json.user)]?.(res, asked));
    const words = steps.map((_, at) =>
      wordsOf({
        body: { ...(ends[at] === "[DONE]" ? STREAM : QUESTION), user: String(at) },
      }),
    );
    const rounds = 50;
    const { charged, entries } = await world.costOf(async () => {
      const socket = connect({ port: Number(new URL(url).port), host: "127.0.0.1" });
      for (let count = 0; count < rounds * words.length; count += 1) {
        const at = count % words.length;
        expect(await answerTo(socket, words[at] ?? "")).toContain(ends[at]);
      }
      socket.destroy();
    });
    expect(charged).toBe(rounds * 4 * 300);
    expect(entries).toBe(rounds * 4);
  });
});

/** Calls and reads one answer; returns in the very moment in which its last byte is here. */
function answerTo(socket: Socket, words: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let heard = "";
    const onClose = () => reject(new Error(`closed after ${heard}`));
    const onData = (data: Buffer) => {
      heard += data.toString("latin1");
      if (!isWhole(heard)) return;
      socket.off("data", onData).off("close", onClose);
      resolve(heard);
    };
    socket.on("data", onData).on("close", onClose).write(words);
  });
}

/** Whether this is an answer to its last byte. */
function isWhole(text: string): boolean {
  const headEnd = text.indexOf("\r\n\r\n") + 4;
  if (headEnd < 4) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, headEnd))?.[1];
  return length === undefined ? text.endsWith("\r\n0\r\n\r\n") : text.length === headEnd + Number(length);
}
