// Who leaves a connection that we read, and which of them are ended: nobody is forgotten, nobody is hung up on who asks (decision 035).
import { connect } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { closeGently } from "#server/main/close.ts";
import { answer, CHAT, type Client, get, HELD, post, withPlainWorld } from "#test/plain-world.ts";
import { createPressure } from "./pressure.ts";

const world = withPlainWorld();

describe.each(["end", "destroy", "resetAndDestroy"] as const)("who leaves by %s", (way) => {
  test.each([
    ["at once", ""],
    ["amid a head", post("1").slice(0, 30)],
    ["amid a body", post("12").slice(0, -1)],
    ["amid a head of Node's", get("/1").slice(0, 10)],
  ])("%s is forgotten", async (_, part) => {
    const client = await world.connect();
    if (part !== "") await client.say(part);
    client.socket[way]();
    await world.empties();
    expect(world.heard).toEqual([]);
  });

  test.each([
    ["before its answer", "", ""],
    ["amid its answer", "begun", ""],
    ["with part of a request ahead", "begun", post("2").slice(0, -1)],
    ["with a request ahead", "", post("2")],
  ])("%s gets no more of it", async (_, begun, ahead) => {
    const client = await world.connect();
    await client.say(post("1", HELD));
    const { res } = await world.hears(1);
    res.writeHead(200, []);
    if (begun !== "") res.write(begun);
    if (ahead !== "") await client.say(ahead);
    client.socket[way]();
    await expect.poll(() => world.heard[0]?.isOver, { interval: 2 }).toBe(true);
    expect(res.writableFinished).toBe(false);
    res.end("late");
    await world.empties();
    expect(client.text).not.toContain("late");
    expect(world.heard).toHaveLength(1);
  });

  test("after its answer is forgotten", async () => {
    const client = await world.connect();
    await client.say(post("1"));
    await client.hears(1);
    client.socket[way]();
    await world.empties();
  });

  test("with so much ahead that it is not read", async () => {
    const client = await world.connect();
    await client.say(post("1", HELD));
    const first = await world.hears(1);
    await client.say(post("2").repeat(1_000));
    await expect.poll(() => world.sockets[0]?.isPaused()).toBe(true);
    await client.say(post("3"));
    client.socket[way]();
    for (let left = 20; left > 0; left -= 1) await turn();
    answer(first);
    await world.empties();
  });
});

describe("between us and Node", () => {
  test("an error ends the connection, and nothing else", async () => {
    const client = await world.connect();
    const [peer] = world.sockets;
    peer?.once("data", () => process.nextTick(() => peer.destroy(new Error("reset"))));
    await client.say(get("/1"));
    await world.empties();
    expect(world.heard).toEqual([]);
  });

  test("the end is not missed", async () => {
    const client = await world.connect();
    const [peer] = world.sockets;
    peer?.once("data", () => peer.push(null));
    await client.say(get("/1").slice(0, 10));
    await world.empties();
    expect(client.answers).toEqual(["400"]);
  });
});

describe("connections of which nothing comes", () => {
  test("stay as long as clients are told, and a little longer", async () => {
    const [idle, busy] = [await world.connect(), await world.connect()];
    await idle.say(post("1"));
    await idle.hears(1);
    await busy.say(post("1", HELD));
    const held = await world.hears(2);
    await world.sweep(66 * 4);
    expect([idle.isEnded, busy.isEnded, await world.count()]).toEqual([false, false, 2]);
    await world.sweep(1);
    await idle.ends();
    expect(busy.isEnded).toBe(false);
    answer(held);
    expect(await busy.hears(1)).toHaveLength(1);
    await world.sweep(66 * 4);
    await busy.say(post("2").slice(0, 5));
    await world.sweep(1);
    await busy.say(post("2").slice(5));
    expect((await busy.hears(2))[1]).toBe(`plain ${CHAT} 2`);
  });

  /** One that says nothing, one amid its request, one that is answered, and one that has been. */
  async function four(): Promise<Client[]> {
    const clients = await Promise.all(Array.from({ length: 4 }, () => world.connect()));
    const [, part, busy, idle] = clients;
    await part?.say(post("1").slice(0, -1));
    await busy?.say(post("1", HELD));
    await idle?.say(post("1"));
    await expect.poll(() => idle?.answers.length).toBe(1);
    return clients;
  }

  test("are told apart by those who close them", async () => {
    const clients = await four();
    world.server.closeIdleConnections();
    await expect.poll(() => world.count()).toBe(3);
    await clients[3]?.ends();
    expect(clients.map(({ isEnded }) => isEnded)).toEqual([false, false, false, true]);
    world.server.closeAllConnections();
    await world.empties();
  });

  test("end when the server closes, and with the last one it is closed", async () => {
    const [silent, part, busy, idle] = await four();
    const closed = new Promise((resolve) => world.server.close(resolve));
    await expect.poll(() => world.count()).toBe(3);
    await idle?.ends();
    await part?.say("1");
    for (const one of world.heard) if (!one.isOver) answer(one);
    await expect
      .poll(() => [part?.answers, busy?.answers])
      .toEqual([[`plain ${CHAT} 1`], [`plain ${HELD} 1`]]);
    for (const client of [silent, part, busy]) client?.socket.destroy();
    await closed;
  });

  test("may still be used while the server closes gently", async () => {
    const [silent, part, busy, idle] = await four();
    await world.sweep(1);
    await part?.say("1");
    await world.sweep(10);
    const closed = closeGently(world.server);
    for (let left = 10; left > 0; left -= 1) await turn();
    await world.sweep(1);
    await expect.poll(() => world.count()).toBe(4);
    expect(idle?.isEnded).toBe(false);
    await idle?.say(post("2"));
    await busy?.say(post("2"));
    await expect.poll(() => idle?.answers).toEqual([`plain ${CHAT} 1`, `plain ${CHAT} 2`]);
    vi.advanceTimersByTime(500);
    await expect.poll(() => [idle?.isEnded, part?.isEnded, busy?.isEnded]).toEqual([true, true, false]);
    for (const one of world.heard) if (!one.isOver) answer(one);
    await expect.poll(() => busy?.answers).toEqual([`plain ${HELD} 1`, `node ${CHAT} 2`]);
    await closed;
    await Promise.all([silent?.ends(), busy?.ends()]);
  });
});

test("each connection counts once, for whoever counts them", async () => {
  const pressure = createPressure({ maxConnections: 3, memoryBytes: 2 ** 40, memoryShare: () => 0 });
  pressure.attach(world.server);
  const [one, other] = [await world.connect(), await world.connect()];
  await one.say(post("1") + get("/2"));
  await other.say(post("1"));
  await one.hears(2);
  await other.hears(1);
  const refused = connect(world.port, "127.0.0.1").on("error", () => undefined);
  await expect.poll(() => refused.closed).toBe(true);
  expect([world.sockets.length, pressure.shedsGuests()]).toEqual([2, false]);
  one.socket.destroy();
  other.socket.destroy();
  await world.empties();
  pressure.close();
});
