// How a request's body is read: at once when it came with its head, else as it comes.
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { Cancellation } from "#server/upstream/cancellation.ts";
import type { RelayRequest } from "./exchange.ts";
import { LocalError } from "./local-errors.ts";
import { createBodyReader, type Reader } from "./request-body.ts";

const readBody = createBodyReader(1024 * 1024);
const gone = new Cancellation();
gone.cancel();

/** What reading gave for each request, in the order they came. */
const seen: { isAtOnce: boolean; body: string }[] = [];
/** Requests whose body is being read. */
let begun = 0;
const server = createServer(async (req, res) => {
  // As after the look-up of a key in the cache or the database: meanwhile all of the body came.
  await undefined;
  const hasCome = () => req.readableLength === Number(req.headers["content-length"]);
  if (req.headers["x-late"] !== undefined) await vi.waitUntil(hasCome);
  const onOver = (listener: () => void) => void res.once("close", listener);
  seen.push(
    await read(req, { onOver, gone: req.headers["x-gone"] === undefined ? new Cancellation() : gone }),
  );
  await answers;
  res.end("ok");
});
/** What answers wait for. */
let answers: Promise<unknown> = Promise.resolve();

async function read(req: RelayRequest, reader: Reader): Promise<(typeof seen)[number]> {
  begun += 1;
  try {
    const body = readBody(req, reader);
    return { isAtOnce: Buffer.isBuffer(body), body: (await body).toString() };
  } catch (error) {
    if (error instanceof LocalError) return { isAtOnce: false, body: String(error.fault.code) };
    throw error;
  }
}

beforeAll(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** Sends the bytes of a connection, those after the first piece when its body is being read, and waits for as many answers. */
async function send(pieces: readonly string[], answers: number): Promise<typeof seen> {
  seen.length = 0;
  begun = 0;
  // A server that listens on a port has an address of this kind.
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.setNoDelay(true).resume();
  for (const piece of pieces) {
    socket.write(piece);
    await expect.poll(() => begun).toBeGreaterThan(0);
  }
  await expect.poll(() => seen.length).toBe(answers);
  socket.destroy();
  return seen;
}

const post = (body: string, headers = "", bytes = Buffer.byteLength(body)) =>
  `POST / HTTP/1.1\r\nhost: x\r\n${headers}content-length: ${bytes}\r\n\r\n${body}`;

test("a body that comes with its head is there at once, and so is the next one on the connection", async () => {
  expect(await send([post('{"a":"你好"}'), post('{"b":2}')], 2)).toEqual([
    { isAtOnce: true, body: '{"a":"你好"}' },
    { isAtOnce: true, body: '{"b":2}' },
  ]);
});

test("requests that come in one piece keep their own bodies", async () => {
  const bodies = (await send([post("one") + post("two") + post("three")], 3)).map(({ body }) => body);
  expect(bodies).toEqual(["one", "two", "three"]);
});

test("a body that came in pieces before it is read is whole", async () => {
  seen.length = 0;
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.setNoDelay(true).resume();
  socket.write(post("first ", "x-late: 1\r\n", 12));
  // So that the kernel delivers them one by one.
  await sleep(50);
  socket.write("second");
  await expect.poll(() => seen.length).toBe(1);
  socket.destroy();
  expect(seen).toEqual([{ isAtOnce: true, body: "first second" }]);
});

test("a body that comes later, in pieces or in chunks is read to its end", async () => {
  const begun = { isAtOnce: false, body: "first second" };
  expect(await send([post("", "", 12), "first ", "second"], 1)).toEqual([begun]);
  expect(await send([post("first ", "", 12), "second"], 1)).toEqual([begun]);
  const chunked = "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
  expect(await send([`${chunked}6\r\nfirst \r\n`, "6\r\nsecond\r\n0\r\n\r\n"], 1)).toEqual([begun]);
});

test("a request without a body has an empty one", async () => {
  expect(await send([post("")], 1)).toEqual([{ isAtOnce: false, body: "" }]);
});

test("nothing is read from a client that has left meanwhile", async () => {
  expect(await send([post("{}", "x-gone: yes\r\n")], 1)).toEqual([
    { isAtOnce: false, body: "incomplete_body" },
  ]);
});

test("bodies that came in pieces are held until their answers are over, and all together they have a limit", async () => {
  const { promise, resolve } = Promise.withResolvers();
  answers = promise;
  const body = "a".repeat(200_000);
  /** Whether a body was read while others are held. */
  const isTaken = async () => (await send([post("", "", body.length), body], 1))[0]?.body === body;
  // This client stays, unlike those of `send`, and gets no answer yet.
  const waiting = connect((server.address() as AddressInfo).port, "127.0.0.1").resume();
  seen.length = 0;
  waiting.write(post("", "", body.length));
  waiting.write(body);
  await expect.poll(() => seen.length).toBe(1);
  expect(await isTaken()).toBe(false);
  expect(seen).toEqual([{ isAtOnce: false, body: "overloaded" }]);
  // A body that came with its head does not count.
  expect(await send([post("{}")], 1)).toEqual([{ isAtOnce: true, body: "{}" }]);
  resolve(undefined);
  await expect.poll(isTaken).toBe(true);
  waiting.destroy();
});
