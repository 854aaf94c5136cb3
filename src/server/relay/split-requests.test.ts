// Requests that come in pieces, cut at any byte, while their key is looked up in the database: each is read as if it had come at once.
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { EarlyAnswer } from "#server/app/early-answer.ts";
import { createRelayWorld, QUESTION } from "#test/worlds/relay-world.ts";
import { createRelay } from "./relay.ts";

const world = createRelayWorld();
const BODY = JSON.stringify(QUESTION);

function headOf(more: string): string {
  return `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-${world.token.key}\r\n${more}\r\n`;
}

const FORMS = {
  "with a length": () => headOf(`Content-Length: ${BODY.length}\r\n`) + BODY,
  "in chunks": () =>
    `${headOf("Transfer-Encoding: chunked\r\n")}${(20).toString(16)}\r\n${BODY.slice(0, 20)}\r\n` +
    `${(BODY.length - 20).toString(16)}\r\n${BODY.slice(20)}\r\n0\r\n\r\n`,
  "after 100 Continue": () => headOf(`Expect: 100-continue\r\nContent-Length: ${BODY.length}\r\n`) + BODY,
};

/** A relay whose database answers when all that was announced has come. */
async function listenLate(hasCome: () => boolean) {
  const { db } = world.ctx;
  const slow = db.withPlugin({
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      while (!hasCome()) await turn();
      return result;
    },
  });
  const server = createServer({ ServerResponse: EarlyAnswer }, createRelay({ ...world.ctx, db: slow }));
  await once(server.listen(0, "127.0.0.1"), "listening");
  return server;
}

test.each(Object.entries(FORMS))("a body %s", async (_, write) => {
  await world.addChannel();
  let side: Socket | undefined;
  let total = 0;
  let sent = 0;
  const read = () => side?.bytesRead ?? 0;
  const server = await listenLate(() => read() >= total);
  server.on("connection", (socket) => {
    side = socket;
  });
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1").setNoDelay(true);
  let text = "";
  client.on("data", (data) => {
    text += data;
  });
  const put = async (piece: Buffer) => {
    client.write(piece);
    sent += piece.length;
    while (read() < sent && !client.closed) await turn();
  };
  const bytes = Buffer.from(write());
  // Three pieces: cut before and after a byte.
  for (let cut = 1; cut < bytes.length - 1; cut += 2) {
    await world.ctx.coord.publish("tokens", String(world.token.id));
    text = "";
    total = sent + bytes.length;
    for (const [from, to] of [[0, cut] as const, [cut, cut + 1] as const, [cut + 1, bytes.length] as const])
      await put(bytes.subarray(from, to));
    while (!text.includes('"usage"') && !/HTTP\/1.1 [45]/.test(text) && !client.closed) await turn();
    expect(text, `cut at ${cut}`).toMatch(/^HTTP\/1.1 (100 Continue\r\n\r\nHTTP\/1.1 )?200 /);
  }
  client.destroy();
  server.close();
  expect(new Set(world.upstream.journal.map((asked) => asked.text)).size).toBe(1);
  expect((await world.money()).open).toBe(0);
});
