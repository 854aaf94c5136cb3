// What a call writes to its server, to the byte, over real sockets.
import { createHash, randomBytes } from "node:crypto";
import { Client } from "undici";
import { describe, expect, test } from "vitest";
import { answerOf, withLoopback } from "#test/emulators/raw-http.ts";

const { serve, textOf } = withLoopback();

describe("a call writes", () => {
  /** Records the request, and answers when it is complete. */
  async function record() {
    let chunks: Buffer[] = [];
    const { origin } = await serve((socket) => {
      socket.on("data", (chunk: Buffer) => {
        chunks.push(chunk);
        const text = Buffer.concat(chunks);
        const end = text.indexOf("\r\n\r\n");
        const length = Number(/content-length: (\d+)/i.exec(text.toString("latin1", 0, end))?.[1] ?? 0);
        if (end >= 0 && text.length >= end + 4 + length) socket.write(answerOf("good"));
      });
    });
    const taken = () => {
      const bytes = Buffer.concat(chunks);
      chunks = [];
      return bytes;
    };
    return { origin, taken };
  }

  test("exactly these bytes", async () => {
    const { origin, taken } = await record();
    const host = new URL(origin).host;
    const headers = ["Authorization", "Bearer k", "x-latin", "\xe4"];
    await textOf(origin, { path: "/v1/a?b=c", headers, body: Buffer.from('{"a":"ä"}') });
    expect(taken().toString("latin1")).toBe(
      `POST /v1/a?b=c HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\nAuthorization: Bearer k\r\nx-latin: \xe4\r\ncontent-length: 10\r\n\r\n{"a":"\xc3\xa4"}`,
    );
    await textOf(origin, { method: "GET", body: undefined });
    expect(taken().toString("latin1")).toBe(
      `GET / HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n\r\n`,
    );
    await textOf(origin, { body: undefined });
    expect(taken().toString("latin1")).toMatch(/\r\ncontent-length: 0\r\n\r\n$/);
    await textOf(origin, { body: new Uint8Array(0), headers: ["host", "other.example"] });
    expect(taken().toString("latin1")).toBe(
      "POST / HTTP/1.1\r\nhost: other.example\r\nconnection: keep-alive\r\ncontent-length: 0\r\n\r\n",
    );
  });

  test("the same bytes as undici", async () => {
    const { origin, taken } = await record();
    const lines = (bytes: Buffer) => {
      const [head = "", body] = bytes.toString("latin1").split("\r\n\r\n");
      const [first, ...fields] = head.split("\r\n");
      return [first, ...fields.map((it) => it.replace(/^[^:]+/, (name) => name.toLowerCase())).sort(), body];
    };
    for (const [method, body] of [
      ["POST", Buffer.from("{}")],
      ["GET", undefined],
      ["POST", undefined],
    ] as const) {
      const headers = ["Content-Type", "application/json", "accept", "*/*", "X-B", ""];
      await textOf(origin, { method, path: "/a%20b?c", headers, body });
      const ours = lines(taken());
      const client = new Client(origin);
      await (await client.request({ method, path: "/a%20b?c", headers, body: body ?? null })).body.dump();
      await client.destroy();
      expect(ours).toEqual(lines(taken()));
    }
  });

  test.each([1, 32 * 1024 - 200, 32 * 1024, 100_000, 32 << 20])(
    "a body of %i bytes from the middle of a larger buffer",
    async (size) => {
      const whole = randomBytes(size + 20);
      const hash = createHash("sha256");
      let left = Infinity;
      let count = 0;
      const { origin } = await serve((socket) => {
        socket.on("data", (chunk: Buffer) => {
          let body = chunk;
          if (left === Infinity) {
            const end = chunk.indexOf("\r\n\r\n") + 4;
            left = Number(/content-length: (\d+)/.exec(chunk.toString("latin1", 0, end))?.[1]);
            body = chunk.subarray(end);
          }
          hash.update(body);
          count += body.length;
          left -= body.length;
          if (left === 0) socket.write(answerOf(hash.digest("hex")));
        });
      });
      const body = new Uint8Array(whole.buffer, whole.byteOffset + 7, size);
      const expected = createHash("sha256").update(body).digest("hex");
      expect(await textOf(origin, { body })).toBe(expected);
      expect(count).toBe(size);
    },
  );

  test("no bytes when it cannot be sent", async () => {
    const { origin, made } = await serve((socket) => socket.on("data", () => socket.write(answerOf("bad"))));
    for (const more of [
      { path: "/a b" },
      { path: "/ä\u0100" },
      { path: "/\r\nx: y" },
      { headers: ["x", "a\r\nb: c"] },
      { headers: ["x", "\0"] },
      { headers: ["x", "密"] },
      { headers: ["content-length", "3"] },
    ]) {
      expect(await textOf(origin, more)).toBe("protocol");
    }
    expect(await textOf("no url")).toBe("protocol");
    expect(made()).toBe(0);
  });
});
