// Calls over TLS with real certificates: trusted certificates, resumed sessions, and unsolicited bytes.
import { createHash, randomBytes } from "node:crypto";
import dns, { type LookupAddress, type LookupOptions } from "node:dns";
import { once } from "node:events";
import { createServer as createHttps } from "node:https";
import { syncBuiltinESMExports } from "node:module";
import { createServer as createRaw, type Socket } from "node:net";
import { createServer, getCACertificates, setDefaultCACertificates, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createEgress, type Egress } from "#server/egress/dispatcher.ts";
import { answerOf, ask, type Listening, listenOn, until } from "#test/emulators/raw-http.ts";
import { makeCertificate } from "#test/seeds/certificate.ts";

const trusted = makeCertificate("localhost");
const other = makeCertificate("other.example");
const known = getCACertificates("default");

beforeAll(() => setDefaultCACertificates([...known, trusted.cert, other.cert]));
afterAll(() => setDefaultCACertificates(known));
function egressFor(): Egress {
  const egress = createEgress({ allow: [{ cidr: "127.0.0.0/8", port: undefined }], restMs: 0 });
  onTestFinished(() => egress.close());
  return egress;
}

interface Serving extends Listening {
  /** By the name in the certificate. */
  readonly named: string;
  /** For each connection, whether it resumed a session. */
  readonly resumed: boolean[];
}

type TlsOptions = NonNullable<Parameters<typeof createServer>[0]>;

/** Handles each connection; `onRaw` may take it before TLS begins. */
async function serve(
  onSocket: (socket: TLSSocket, raw: Socket) => void,
  options: TlsOptions = trusted,
  onRaw?: (raw: Socket, at: number) => boolean,
): Promise<Serving> {
  const resumed: boolean[] = [];
  const inner = createServer({ ...options, ALPNProtocols: ["http/1.1"] });
  let lastRaw: Socket | undefined;
  inner.on("secureConnection", (socket) => {
    resumed.push(socket.isSessionReused());
    socket.on("error", () => undefined);
    if (lastRaw !== undefined) onSocket(socket, lastRaw);
  });
  inner.on("tlsClientError", () => undefined);
  let at = 0;
  const outer = createRaw((raw) => {
    at += 1;
    lastRaw = raw;
    if (onRaw?.(raw, at) !== true) inner.emit("connection", raw);
  });
  const listening = await listenOn(outer, "https");
  onTestFinished(() => listening.close());
  return { ...listening, named: `https://localhost:${listening.port}`, resumed };
}

const answers = (socket: Socket) => socket.on("data", () => socket.write(answerOf("in")));
const answersAndCloses = (socket: Socket) =>
  socket.on("data", () => socket.end(answerOf("in", "connection: close\r\n")));

describe("a certificate is trusted", () => {
  test("if it is of a known authority and for this name", async () => {
    const { named, made } = await serve(answers);
    const egress = egressFor();
    for (let turn = 0; turn < 3; turn += 1) {
      const { status, body, fault } = await ask(egress, { origin: named }).told;
      expect({ status, body: body.toString(), fault }).toEqual({ status: 200, body: "in", fault: undefined });
      await new Promise(setImmediate);
    }
    expect(made()).toBe(1);
  });

  test.each(["TLSv1.2", "TLSv1.3"] as const)(
    "not if it is for another name, not even on a second connection (%s)",
    async (version) => {
      let heard = 0;
      const { named, origin, resumed } = await serve(
        (socket) => {
          socket.on("data", () => {
            heard += 1;
            socket.end(answerOf("in"));
          });
        },
        { ...other, minVersion: version, maxVersion: version },
      );
      const egress = egressFor();
      for (const at of [named, named, origin]) {
        expect((await ask(egress, { origin: at }).told).fault?.code).toBe("tls");
      }
      expect(heard).toBe(0);
      expect(resumed).not.toContain(true);
    },
  );

  test("not if its authority is unknown, whatever the environment says", async () => {
    const { named } = await serve(answers, makeCertificate("localhost"));
    const before = process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
    process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0";
    onTestFinished(() => {
      if (before === undefined) delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
      else process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = before;
    });
    expect((await ask(egressFor(), { origin: named }).told).fault?.code).toBe("tls");
  });
});

describe("sessions", () => {
  test.each(["TLSv1.2", "TLSv1.3"] as const)(
    "the next connection resumes that of the last one (%s)",
    async (version) => {
      const { named, resumed } = await serve(answersAndCloses, {
        ...trusted,
        minVersion: version,
        maxVersion: version,
      });
      const egress = egressFor();
      for (let turn = 0; turn < 2; turn += 1) {
        expect((await ask(egress, { origin: named }).told).fault).toBeUndefined();
      }
      expect(resumed).toEqual([false, true]);
    },
  );

  test("one whose connection broke is not resumed again", async () => {
    const { named, resumed } = await serve(answersAndCloses, trusted, (raw, at) => {
      if (at === 2) raw.once("data", () => raw.resetAndDestroy());
      return at === 2;
    });
    const egress = egressFor();
    const codes: (string | undefined)[] = [];
    for (let turn = 0; turn < 3; turn += 1)
      codes.push((await ask(egress, { origin: named }).told).fault?.code);
    expect(codes).toEqual([undefined, "reset", undefined]);
    expect(resumed).toEqual([false, false]);
  });
});

describe("bodies", () => {
  test("tens of megabytes pass both ways unchanged", async () => {
    const down = randomBytes(24 << 20);
    const server = createHttps(trusted, (req, res) => {
      const hash = createHash("sha256");
      req.on("data", (chunk: Buffer) => hash.update(chunk));
      req.on("end", () => {
        res.writeHead(200, { "x-hash": hash.digest("hex") });
        for (let at = 0; at < down.length; at += 70_001) res.write(down.subarray(at, at + 70_001));
        res.end();
      });
    });
    const { port, close } = await listenOn(server, "https");
    onTestFinished(close);
    const body = randomBytes(24 << 20);
    const { told } = ask(egressFor(), { origin: `https://localhost:${port}`, body });
    const { headers, body: got, fault } = await told;
    expect(fault).toBeUndefined();
    expect(headers["x-hash"]).toBe(createHash("sha256").update(body).digest("hex"));
    expect(got.equals(down)).toBe(true);
  });

  test("a pause stops the server and loses no bytes", async () => {
    const piece = randomBytes(1 << 20);
    const pieces = 40;
    let written = 0;
    const { named } = await serve((socket) => {
      socket.once("data", async () => {
        socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${pieces * piece.length}\r\n\r\n`);
        for (; written < pieces; written += 1) if (!socket.write(piece)) await once(socket, "drain");
      });
    });
    const { flow, told, bytes } = ask(
      egressFor(),
      { origin: named },
      {
        onStart: (it) => it.pause(),
      },
    );
    await until(() => written > 0);
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect(bytes()).toBeLessThanOrEqual(256 << 10);
    expect(written).toBeLessThan(pieces - 10);
    flow.resume();
    const { body, fault } = await told;
    expect(fault).toBeUndefined();
    expect(body.equals(Buffer.concat(Array(pieces).fill(piece)))).toBe(true);
  });

  test.each([
    ["a length", "content-length: 10", "12345", "reset"],
    ["chunks", "transfer-encoding: chunked", "5\r\n12345\r\n", "reset"],
    // An attacker can truncate an answer that ends with its connection: its reader must check that it is complete.
    ["no length", "x: y", "12345", undefined],
  ])("a connection that just breaks off, with %s", async (_, header, body, code) => {
    const { named } = await serve((socket, raw) => {
      socket.once("data", () => {
        socket.write(`HTTP/1.1 200 OK\r\n${header}\r\n\r\n${body}`, () => raw.end());
      });
    });
    const { body: got, fault } = await ask(egressFor(), { origin: named }).told;
    expect(got.toString()).toBe("12345");
    expect(fault?.code).toBe(code);
  });
});

describe("unsolicited bytes", () => {
  test("in the records after an answer reach no call", async () => {
    // The answer fills a record to its last byte; the following bytes are read together with it, but delivered later.
    const size = 16_384 - answerOf("").length - 4;
    const filling = answerOf("a".repeat(size));
    expect(filling.length).toBe(16_384);
    let calls = 0;
    const { named } = await serve((socket) => {
      socket.on("data", () => {
        calls += 1;
        if (calls === 1) socket.write(filling + answerOf("not asked for"));
        else socket.write(answerOf("asked for"));
      });
    });
    const egress = egressFor();
    const second = Promise.withResolvers<string>();
    const { told } = ask(
      egress,
      { origin: named },
      {
        onEnd() {
          void ask(egress, { origin: named }).told.then(({ body }) => second.resolve(body.toString()));
        },
      },
    );
    expect((await told).body.length).toBe(size);
    expect(await second.promise).toBe("asked for");
  });
});

/** `localhost` resolves to these addresses in this test. */
function resolveTo(addresses: readonly string[]): void {
  const { lookup } = dns;
  const found = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  const fake: LookUp = (name, options, callback) =>
    name === "localhost" ? callback(null, found) : lookup(name, { ...options, all: true }, callback);
  Object.assign(dns, { lookup: fake });
  syncBuiltinESMExports();
  onTestFinished(() => {
    Object.assign(dns, { lookup });
    syncBuiltinESMExports();
  });
}

type LookUp = (
  name: string,
  options: LookupOptions,
  callback: (error: Error | null, found: LookupAddress[]) => void,
) => void;

describe("a name with several addresses", () => {
  test.each([
    ["127.0.0.2", "127.0.0.1"],
    ["::1", "127.0.0.1"],
    ["10.255.255.1", "127.0.0.3", "127.0.0.1"],
  ])("of which the first does not answer: %s", async (...addresses) => {
    resolveTo(addresses);
    const egress = createEgress({
      allow: ["127.0.0.0/8", "::1/128"].map((cidr) => ({ cidr, port: undefined })),
      restMs: 0,
    });
    onTestFinished(() => egress.close());
    const big = "b".repeat(300_000);
    const tls = await serve((socket) => socket.on("data", () => socket.write(answerOf(big))));
    const plain = await listenOn(createRaw((socket) => socket.on("data", () => socket.write(answerOf(big)))));
    onTestFinished(plain.close);
    for (const origin of [tls.named, `http://localhost:${plain.port}`]) {
      for (let turn = 0; turn < 2; turn += 1) {
        const { body, fault } = await ask(egress, { origin }).told;
        expect(fault).toBeUndefined();
        expect(body.length).toBe(big.length);
        await new Promise(setImmediate);
      }
    }
    expect([tls.made(), plain.made()]).toEqual([1, 1]);
  });
});
