// What an answer of ours tells of itself, to whom it belongs: beside node:http's, whose readers it serves.
import { once } from "node:events";
import { type AddressInfo, connect, createServer, Socket } from "node:net";
import { describe, expect, it } from "vitest";
import type { RelayResponse } from "#server/relay/routes.ts";
import { limitStall } from "#server/relay/stall.ts";
import {
  askByNode,
  BYTES,
  callRaw,
  chunks,
  chunksOf,
  HUGE,
  PATH,
  type Script,
  scene,
  serveBothWays,
  textOf,
  WAYS,
  whole,
} from "#test/answer-world.ts";
import { until } from "#test/raw-http.ts";
import { PlainAnswer } from "./plain-answer.ts";

serveBothWays();

/** What the answer told: at the end of one that was taken, and of one that was not. */
const TAKEN = ["finish true", "close true"];
const LOST = ["close false"];

/** Resolves when the answer is over. */
async function over(): Promise<void> {
  await until(() => scene.events.some((event) => event.startsWith("close")));
}

describe.each(WAYS)("%s: what an answer tells", (way) => {
  it("that all of it was taken, once", async () => {
    for (const said of [whole("{}"), whole(BYTES), chunks(), chunks("a", BYTES), whole("")]) {
      scene.script = said;
      await askByNode(way);
      await over();
      expect(scene.events).toEqual(TAKEN);
      // Whatever is done to it now is nothing to the connection.
      scene.last.destroy();
      scene.last.end("more");
      scene.last.write("more");
      expect(scene.last.writableLength).toBe(0);
      expect(scene.last.writableEnded).toBe(true);
    }
    expect(scene.events).toEqual(TAKEN);
    expect(scene.taken[way]).toBe(5);
  });

  it("that it was taken only when that is so", async () => {
    scene.script = whole(HUGE);
    const socket = callRaw(way).pause();
    await until(() => scene.taken[way] === 1);
    expect(scene.last.writableEnded).toBe(true);
    expect(scene.last.writableLength).toBeGreaterThan(0);
    expect(scene.events).toEqual([]);
    let bytes = 0;
    socket.on("data", (data) => {
      bytes += data.length;
    });
    socket.resume();
    await over();
    expect(scene.events).toEqual(TAKEN);
    expect(scene.last.writableLength).toBe(0);
    await until(() => bytes > HUGE.length);
    socket.destroy();
  });

  it.each<[string, (socket: Socket) => void]>([
    ["leaves", (socket) => socket.destroy()],
    ["resets", (socket) => socket.resetAndDestroy()],
  ])("that its client %s", async (_, leave) => {
    const begun: Script = (res) => res.writeHead(200, []);
    for (const said of [() => undefined, begun, chunksOf("a"), whole(HUGE), chunks(HUGE), chunksOf(HUGE)]) {
      scene.script = said;
      const socket = callRaw(way).pause();
      await until(() => scene.taken[way] > 0);
      scene.taken[way] = 0;
      leave(socket);
      await over();
      scene.last.write("more");
      scene.last.end("more");
      scene.last.destroy();
      expect(scene.events).toEqual(LOST);
      expect(scene.last.writableFinished).toBe(false);
    }
  });

  it("that its client left in the same moment in which it ends", async () => {
    for (const said of [whole("{}"), whole(HUGE), chunks("a", "b"), chunks(HUGE)]) {
      let socket: Socket | undefined;
      scene.script = (res) => {
        // Nobody has heard of it yet when the first byte is written.
        socket?.resetAndDestroy();
        said(res);
      };
      socket = callRaw(way);
      await over();
      expect([said, scene.events]).toEqual([said, LOST]);
    }
  });

  it("when it may go on, and whether it is behind", async () => {
    let drains = 0;
    scene.script = (res) => {
      res.writeHead(200, []);
      expect(res.write("small")).toBe(true);
      expect(res.writableNeedDrain).toBe(false);
      res.on("drain", () => {
        drains += 1;
      });
      expect(res.write(HUGE)).toBe(false);
    };
    const socket = callRaw(way).pause();
    await until(() => scene.taken[way] === 1);
    expect(scene.last.writableNeedDrain).toBe(true);
    expect(scene.last.writableLength).toBeGreaterThan(0);
    expect(drains).toBe(0);
    let bytes = 0;
    socket.on("data", (data) => {
      bytes += data.length;
    });
    socket.resume();
    await until(() => drains > 0);
    expect(scene.last.writableNeedDrain).toBe(false);
    await until(() => bytes > HUGE.length);
    scene.last.end();
    await over();
    expect(scene.events).toEqual(TAKEN);
    socket.destroy();
  });

  it("that nothing moves, once there is a limit, and not to the next one", async () => {
    let timeouts = 0;
    scene.script = (res) => {
      limitStall(res, 200);
      res.on("timeout", () => {
        timeouts += 1;
      });
      whole(HUGE)(res);
    };
    const stalled = callRaw(way).pause();
    await until(() => timeouts > 0);
    await over();
    expect(scene.events).toEqual(LOST);
    expect((await textOf(stalled)).length).toBeLessThan(HUGE.length);
    // Limited, but taken: the connection and the next answer are free of it.
    scene.script = (res) => {
      limitStall(res, 200);
      whole("{}")(res);
    };
    timeouts = 0;
    const socket = callRaw(way);
    await once(socket, "data");
    scene.script = (res) => {
      res.on("timeout", () => {
        timeouts += 1;
      });
      res.writeHead(200, ["content-length", "1"]);
      setTimeout(() => res.end("x"), 400);
    };
    socket.write(`POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}`);
    await once(socket, "data");
    expect(timeouts).toBe(0);
    socket.destroy();
  });

  it("its end to whoever listens since it ended", async () => {
    const told: string[] = [];
    scene.script = (res) => {
      res.on("finish", () => {
        res.once("close", () => told.push("close"));
      });
      whole("{}")(res);
    };
    await askByNode(way);
    await over();
    expect(told).toEqual(["close"]);
  });

  it("nothing more to its client when it is given up amid a piece", async () => {
    scene.script = (res) => {
      res.writeHead(200, []);
      res.write("a");
      res.destroy();
      res.write("b");
      res.end("c");
    };
    const text = await textOf(callRaw(way));
    await over();
    expect(scene.events).toEqual(LOST);
    // Node holds pieces back until the next tick.
    expect(text).toMatch(/^$|\r\n\r\n1\r\na\r\n$/);
  });

  it("that it was not taken by who was through with asking, who reads what had been written", async () => {
    scene.script = chunksOf(HUGE);
    const socket = callRaw(way).pause();
    await until(() => scene.taken[way] === 1);
    const { socket: theirs } = scene.last;
    const heard = new Promise((resolve) => theirs instanceof Socket && theirs.once("end", resolve));
    socket.end();
    await heard;
    expect(scene.last.write("more")).toBe(false);
    scene.last.end("last");
    expect((await textOf(socket)).length).toBeGreaterThan(HUGE.length);
    await over();
    expect(scene.events).toEqual(LOST);
  });

  it("all of its last answer to a client that has sent more than was asked", async () => {
    scene.script = (res) => {
      res.shouldKeepAlive = false;
      setImmediate(() => whole(BYTES)(res));
    };
    const socket = callRaw(way);
    const text = await textOf(socket);
    expect(text.length).toBe(text.indexOf("\r\n\r\n") + 4 + BYTES.length);
    expect(text.toLowerCase()).toContain("\r\nconnection: close\r\n");
    await over();
    expect(scene.events).toEqual(TAKEN);
    socket.destroy();
  });
});

it("each piece is sent when it is written", async () => {
  const heard: string[] = [];
  let res: RelayResponse | undefined;
  scene.script = (one) => {
    res = one;
    res.writeHead(200, []);
    res.write("first");
  };
  const socket = callRaw("ours").on("data", (data) => heard.push(data.toString("latin1")));
  await until(() => heard.length === 1);
  for (const piece of ["2", Buffer.from("3"), Buffer.alloc(8 * 1024, "4"), Buffer.alloc(20_000, "5")]) {
    heard.length = 0;
    res?.write(piece);
    // It is the system's already.
    expect(res?.writableLength).toBe(0);
    await until(() => heard.join("").includes(`${piece.length.toString(16)}\r\n`));
  }
  res?.end();
  expect(res?.writableFinished).toBe(true);
  socket.destroy();
});

it("it was not taken when the last write fails, though nothing else tells that the client left", async () => {
  const told: string[] = [];
  const clients: Socket[] = [];
  const house = createServer((socket) => {
    // Its end is not read: only writing tells of it.
    socket.pause().on("error", () => told.push("error"));
    const one = new PlainAnswer({ socket, closingLines: () => "", onOver: () => told.push("over") });
    socket.on("close", () => one.leave());
    one.on("finish", () => told.push("finish")).on("close", () => told.push(`close ${one.writableFinished}`));
    whole(HUGE)(one);
    expect(one.writableLength).toBeGreaterThan(0);
    for (const client of clients) client.resetAndDestroy();
  });
  house.listen(0, "127.0.0.1");
  await once(house, "listening");
  const { port } = house.address() as AddressInfo; // it listens on a port
  clients.push(connect({ port, host: "127.0.0.1" }).pause());
  await until(() => told.length === 2);
  expect(told).toEqual(["error", "close false"]);
  house.close();
});
