// A request's body that is made while it is sent: in chunks, as fast as the upstream reads, and never half of one for all of it.
import { createServer, type IncomingMessage, type Server } from "node:http";
import { afterEach, expect, test } from "vitest";
import type { BodyWriter } from "#server/egress/send.ts";
import { ask, withLoopback } from "#test/emulators/raw-http.ts";

const world = withLoopback();
const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** An upstream that answers by what it has heard, and how. */
async function upstream(answer: (req: IncomingMessage) => Promise<string>, seen: IncomingMessage[] = []) {
  const server = createServer((req, res) => {
    seen.push(req);
    void answer(req).then(
      (text) => res.end(text),
      () => res.destroy(),
    );
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return { origin: `http://127.0.0.1:${address.port}`, seen };
}

async function whole(req: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of req) text += chunk;
  return text;
}

test("goes out in chunks, without a length", async () => {
  const { origin, seen } = await upstream(whole);
  const writes = (writer: BodyWriter) => {
    writer.write(Buffer.from("one "));
    writer.write(new Uint8Array(0));
    setImmediate(() => {
      writer.write(Buffer.from("two"));
      writer.end();
    });
  };
  const first = await ask(world.egress, { origin, body: undefined, writes }).told;
  expect([first.status, first.body.toString()]).toEqual([200, "one two"]);
  expect(seen[0]?.headers).toMatchObject({ "transfer-encoding": "chunked" });
  expect(seen[0]?.headers["content-length"]).toBeUndefined();
});

test("waits for an upstream that reads slowly, and keeps no more than a socket holds", async () => {
  let read: () => void = () => undefined;
  const mayRead = new Promise<void>((resolve) => {
    read = resolve;
  });
  const { origin } = await upstream(async (req) => {
    await mayRead;
    let bytes = 0;
    for await (const chunk of req) bytes += chunk.length;
    return String(bytes);
  });
  const piece = Buffer.alloc(64 * 1024, "x");
  let written = 0;
  const writes = (writer: BodyWriter) => {
    const more = () => {
      while (written < 400) {
        written += 1;
        if (!writer.write(piece)) {
          writer.onDrain(more);
          return;
        }
      }
      writer.end();
    };
    more();
  };
  const { told } = ask(world.egress, { origin, body: undefined, writes });
  await expect.poll(() => written).toBeGreaterThan(0);
  await expect.poll(() => written).toBeLessThan(400);
  read();
  const answer = await told;
  expect(answer.body.toString()).toBe(String(400 * piece.length));
});

test("an answer before the end of the body ends the connection with it", async () => {
  const { origin } = await upstream(async () => "no");
  const { told } = ask(world.egress, {
    origin,
    body: undefined,
    writes: (writer) => {
      writer.write(Buffer.from("begun"));
    },
  });
  expect((await told).body.toString()).toBe("no");
  const { told: next } = ask(world.egress, { origin, method: "GET", body: undefined });
  expect((await next).body.toString()).toBe("no");
});

test("one that is given up is no whole body to the upstream", async () => {
  const ends: string[] = [];
  const { origin } = await upstream(async (req) => {
    try {
      return await whole(req);
    } catch {
      ends.push("broken");
      throw new Error("broken");
    }
  });
  const { flow } = ask(world.egress, {
    origin,
    body: undefined,
    writes: (writer) => {
      writer.write(Buffer.from("begun"));
      setImmediate(() => flow.abort());
    },
  });
  await expect.poll(() => ends).toEqual(["broken"]);
});
