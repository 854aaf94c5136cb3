// Connections that we read as long as their requests are plain, and that are Node's then: nothing is lost between the two (decision 035).
// Real sockets; the sweeps come when a test says so.
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { collectGarbage } from "#server/store/trim.ts";
import { createDice, type Dice, pick } from "#test/dice.ts";
import { answer, CHAT, type Client, get, HELD, post, withPlainWorld } from "#test/plain-world.ts";

const world = withPlainWorld();

/** What a client has heard; all that wait for an answer get it. */
function released(client: Client): string[] {
  for (const one of world.heard) if (!one.res.headersSent) answer(one);
  return client.answers;
}

/** Sends these bytes in pieces, and lets time pass now and then. */
async function sayInPieces(client: Client, bytes: string, dice: Dice): Promise<void> {
  for (let at = 0, size = 0; at < bytes.length; at += size) {
    size = dice(3) === 0 ? bytes.length : 1 + dice(200);
    await client.say(bytes.slice(at, at + size));
    if (dice(20) === 0) await world.sweep(1);
  }
}

/** Twelve requests, of which some wait for the answer before them, and others do not. Returns where they went. */
async function converse(client: Client, dice: Dice): Promise<string[]> {
  const urls: string[] = [];
  while (urls.length < 12) {
    const url = `${pick(dice, [CHAT, CHAT, HELD])}?${urls.length}`;
    urls.push(url);
    await sayInPieces(client, dice(20) === 0 ? get(url) : post("b".repeat(1 + dice(900)), url), dice);
    if (dice(5) === 0) continue;
    await expect.poll(() => released(client).length, { interval: 2 }).toBe(urls.length);
  }
  return urls;
}

describe("a request in pieces", () => {
  const bytes = Buffer.from(post('{"a":"\r\n\r\nPOST / HTTP/1.1\r\n"}'), "latin1");
  const said = `plain ${CHAT} ${bytes.subarray(bytes.indexOf("{")).toString("latin1")}`;

  test("is read by us wherever it is cut in two, or in three", async () => {
    const client = await world.connect();
    let count = 0;
    for (let at = 1; at < bytes.length; at += 1) {
      await client.say(bytes.subarray(0, at));
      if (at % 5 === 0) await client.say(bytes.subarray(at, at + 1));
      await client.say(bytes.subarray(at % 5 === 0 ? at + 1 : at));
      count += 1;
      expect((await client.hears(count)).at(-1), `cut at ${at}`).toBe(said);
    }
  });

  test.each([10, bytes.indexOf("{"), bytes.length - 1])(
    "goes to Node at byte %d if the rest is late",
    async (at) => {
      const client = await world.connect();
      await client.say(bytes.subarray(0, at));
      await world.sweep(1);
      expect(world.ours()).toBe(1);
      await world.sweep(1);
      expect(world.ours()).toBe(0);
      await client.say(bytes.subarray(at));
      expect(await client.hears(1)).toEqual([said.replace("plain", "node")]);
    },
  );

  test("is given up by Node when its head never ends, however it drips, after an answer too", async () => {
    world.server.headersTimeout = 300;
    const [one, other] = [await world.connect(), await world.connect()];
    await other.say(post("{}"));
    await other.hears(1);
    for (let at = 0; !one.isEnded || !other.isEnded; at += 1) {
      for (const client of [one, other]) if (!client.isEnded) await client.say(bytes.subarray(at, at + 1));
      await world.sweep(1);
      await sleep(50);
    }
    expect(one.answers).toEqual(["408"]);
    expect(other.answers[1]).toBe("408");
    expect(world.heard).toHaveLength(1);
    await world.empties();
  });

  test("who says nothing at first is Node's", async () => {
    world.server.headersTimeout = 300;
    const client = await world.connect();
    await world.sweep(2);
    await client.ends();
    expect(client.answers).toEqual(["408"]);
  });

  test.each([
    ["a head", bytes.subarray(0, 30)],
    ["a body", bytes.subarray(0, bytes.length - 1)],
  ])("who ends amid %s hears what Node says to that", async (_, part) => {
    const client = await world.connect();
    await client.say(part);
    client.socket.end();
    await client.ends();
    expect(client.answers).toEqual(["400"]);
    await world.empties();
    expect(world.heard).toEqual([]);
  });

  test("costs no more the more pieces it comes in", async () => {
    const concat = vi.spyOn(Buffer, "concat");
    const client = await world.connect();
    const body = "b".repeat(10_000);
    const all = Buffer.from(post(body));
    for (let at = 0; at < all.length; at += 1) await client.say(all.subarray(at, at + 1));
    expect(await client.hears(1)).toEqual([`plain ${CHAT} ${body}`]);
    const copied = concat.mock.results.reduce((sum, { value }) => sum + value.length, 0);
    expect(copied).toBeLessThan(200 * all.length);
  });
});

describe("answers have the order of their requests", () => {
  const next = `node ${CHAT} 2`;

  test("of which two came at once", async () => {
    const client = await world.connect();
    await client.say(post("1") + post("2"));
    expect(await client.hears(2)).toEqual([`node ${CHAT} 1`, next]);
  });

  test.each([
    ["whole", post("2"), ""],
    ["in part", post("2").slice(0, 20), post("2").slice(20)],
    ["but for its last byte", post("2").slice(0, -1), "2"],
    ["behind an empty line", `\r\n${post("2")}`, ""],
  ])("of which one came ahead, %s", async (_, ahead, rest) => {
    const client = await world.connect();
    await client.say(post("1", HELD));
    const first = await world.hears(1);
    await client.say(ahead);
    expect(world.heard).toHaveLength(1);
    answer(first);
    await client.hears(1);
    if (rest !== "") await client.say(rest);
    await client.say(get("/3"));
    expect(await client.hears(3)).toEqual([`plain ${HELD} 1`, next, "node /3 "]);
    expect(world.ours()).toBe(0);
  });

  test("of which much came ahead: it is not read before its time", async () => {
    const client = await world.connect();
    await client.say(post("1", HELD));
    const first = await world.hears(1);
    const bodies = Array.from({ length: 60 }, (_, at) => String(at).repeat(50_000));
    for (const body of bodies) client.socket.write(post(body));
    const [peer] = world.sockets;
    await expect.poll(() => peer?.isPaused()).toBe(true);
    answer(first);
    expect(await client.hears(61)).toEqual([
      `plain ${HELD} 1`,
      ...bodies.map((body) => `node ${CHAT} ${body}`),
    ]);
    expect(peer?.bytesRead).toBeGreaterThan(3_000_000);
  });

  test("on a connection of all kinds", async () => {
    const client = await world.connect();
    const all = [post("1"), post("2"), get("/3"), post("4")];
    for (const [at, one] of all.entries()) {
      await client.say(one);
      await client.hears(at + 1);
    }
    expect(client.answers).toEqual([`plain ${CHAT} 1`, `plain ${CHAT} 2`, "node /3 ", `node ${CHAT} 4`]);
    expect(world.sockets).toHaveLength(1);
  });

  test("before an upgrade, and before what waits for a word", async () => {
    const [one, other, third] = [await world.connect(), await world.connect(), await world.connect()];
    for (const client of [one, other, third]) {
      await client.say(post("1"));
      await client.hears(1);
    }
    await one.say(`${get("/v1/realtime", "Connection: Upgrade\r\nUpgrade: websocket\r\n")}more`);
    await expect.poll(() => one.text).toMatch(/ 1HTTP\/1.1 101 Switching\r\n\r\nupgraded more$/);
    await other.say(post("22", CHAT, "Expect: 100-continue\r\n").slice(0, -2));
    expect((await other.hears(2))[1]).toBe("100");
    await other.say("22");
    expect((await other.hears(3))[2]).toBe(`node ${CHAT} 22`);
    await third.say("CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n");
    await third.ends();
    expect(third.answers).toHaveLength(1);
  });

  test.each([1, 2, 3])("however they come, seed %d", async (seed) => {
    const dice = createDice(seed);
    const clients = await Promise.all(Array.from({ length: 8 }, () => world.connect()));
    const expected = await Promise.all(clients.map((client) => converse(client, dice)));
    for (const [at, client] of clients.entries()) {
      await expect.poll(() => released(client).map((text) => text.split(" ")[1])).toEqual(expected[at]);
    }
    expect(world.heard).toHaveLength(96);
    expect(world.heard.filter(({ by }) => by === "plain").length).toBeGreaterThan(0);
  });

  test("after the last one nothing is asked any more", async () => {
    const client = await world.connect();
    await client.say(post("1", HELD));
    const first = await world.hears(1);
    await client.say(post("2").slice(0, -1));
    first.res.shouldKeepAlive = false;
    answer(first);
    // As if it came while the connection ends.
    client.peer?.push("2");
    await client.ends();
    expect(client.text).toContain("connection: close");
    await world.empties();
    expect(world.heard).toHaveLength(1);
  });
});

describe("what is held", () => {
  /** How many of the pieces that come on this connection from now on somebody holds. */
  function pieces({ peer }: Client): () => Promise<number> {
    const all: WeakRef<Buffer>[] = [];
    peer?.prependListener("data", (bytes: Buffer) => all.push(new WeakRef(bytes)));
    return async () => {
      await turn();
      collectGarbage();
      return all.filter((one) => one.deref() !== undefined).length;
    };
  }

  test.each([
    ["a body", post("b".repeat(5_000)), CHAT],
    ["what is sent ahead", post("b".repeat(5_000)), HELD],
  ])("of %s in bytes that came alone is no more than there is of it", async (_, bytes, first) => {
    const client = await world.connect();
    if (first === HELD) await client.say(post("1", HELD));
    const held = pieces(client);
    for (let at = 0; at < bytes.length - 1; at += 1) await client.say(bytes.slice(at, at + 1));
    expect(await held()).toBeLessThan(100);
    await client.say(bytes.slice(-1));
    await expect.poll(() => released(client).length, { interval: 2 }).toBe(first === HELD ? 2 : 1);
    expect(client.answers.at(-1)).toContain("bbb");
    expect(await held()).toBeLessThan(3);
  });

  test("of a connection of Node's is nothing", async () => {
    const client = await world.connect();
    const held = pieces(client);
    await client.say(post("b".repeat(60_000)).slice(0, -1));
    await world.sweep(2);
    await client.say("b");
    expect(await client.hears(1)).toEqual([`node ${CHAT} ${"b".repeat(60_000)}`]);
    await client.say(get("/2"));
    await client.hears(2);
    expect(await held()).toBe(0);
  });
});
