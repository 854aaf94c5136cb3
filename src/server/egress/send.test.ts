import { createServer, type Server as HttpServer } from "node:http";
import { createServer as createRaw, type Server } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { createEgress, type Egress } from "./dispatcher.ts";
import type { EgressRequest } from "./send.ts";

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const it of open.splice(0).toReversed()) await it.close();
});

function egressFor(allow = "127.0.0.0/8", ownPorts: number[] = []): Egress {
  const egress = createEgress({
    allow: allow === "" ? [] : [{ cidr: allow, port: undefined }],
    ownPorts,
    restMs: 0,
  });
  open.push(egress);
  return egress;
}

async function portOf(server: HttpServer | Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push(server);
  const address = server.address();
  return address !== null && typeof address === "object" ? address.port : 0;
}

/** The result of a call: its fault's name, or its body. */
function call(egress: Egress, origin: string, more: Partial<EgressRequest> = {}) {
  return new Promise<string>((resolve) => {
    let text = "";
    const request: EgressRequest = {
      method: "POST",
      origin,
      path: "/",
      headers: [],
      body: Buffer.from("x"),
      headersTimeoutMs: 300,
      idleTimeoutMs: 300,
      ...more,
    };
    egress.send(request, {
      onStart: (status) => {
        text += `${status} `;
      },
      onData: (chunk) => {
        text += chunk;
      },
      onEnd: () => resolve(text),
      onFault: ({ code }) => resolve(code),
    });
  });
}

describe("faults have names", () => {
  it("refused, dns, reset, protocol, tls, timeout, idle", async () => {
    const egress = egressFor();
    const http = await portOf(
      createServer((req, res) => {
        if (req.url === "/silent") return;
        res.writeHead(200);
        res.write("begin");
      }),
    );
    const cut = await portOf(createRaw((socket) => socket.resetAndDestroy()));
    const garbage = await portOf(createRaw((socket) => socket.end("SSH-2.0-OpenSSH\r\n\r\n")));
    await expect(call(egress, "http://127.0.0.1:9")).resolves.toBe("refused");
    await expect(call(egress, "http://no-such-name.invalid")).resolves.toBe("dns");
    await expect(call(egress, `http://127.0.0.1:${cut}`)).resolves.toBe("reset");
    await expect(call(egress, `http://127.0.0.1:${garbage}`)).resolves.toBe("protocol");
    await expect(call(egress, `https://127.0.0.1:${http}`)).resolves.toBe("tls");
    await expect(call(egress, `http://127.0.0.1:${http}`, { path: "/silent" })).resolves.toBe("timeout");
    await expect(call(egress, `http://127.0.0.1:${http}`)).resolves.toBe("idle");
  });

  it("a request that cannot be built is a fault, not an exception", async () => {
    await expect(call(egressFor(), "http://127.0.0.1:9", { headers: ["x", "a\r\nb"] })).resolves.toBe(
      "protocol",
    );
  });
});

describe("the address policy at connect time", () => {
  it("checks literals and resolved addresses", async () => {
    let hits = 0;
    const port = await portOf(
      createServer((_, res) => {
        hits += 1;
        res.end("in");
      }),
    );
    const closed = egressFor("");
    await expect(call(closed, `http://127.0.0.1:${port}`)).resolves.toBe("blocked");
    await expect(call(closed, `http://localhost:${port}`)).resolves.toBe("blocked");
    await expect(call(closed, `http://[::1]:${port}`)).resolves.toBe("blocked");
    await expect(call(egressFor("127.0.0.0/8", [port]), `http://127.0.0.1:${port}`)).resolves.toBe("blocked");
    expect(hits).toBe(0);
    await expect(call(egressFor(), `http://localhost:${port}`)).resolves.toBe("200 in");
  });

  it("shares no connection with a destination that may not open one itself", async () => {
    const port = await portOf(createServer((_, res) => void res.end("in")));
    const egress = egressFor("");
    await expect(
      call(egress, `http://127.0.0.1:${port}`, {
        route: { owner: "a", proxies: [], loopbackPort: port },
      }),
    ).resolves.toBe("200 in");
    await expect(call(egress, `http://127.0.0.1:${port}`)).resolves.toBe("blocked");
  });
});

describe("abort", () => {
  it("silences the sink at once, before and after the request is sent", async () => {
    const port = await portOf(createServer(() => undefined));
    const egress = egressFor();
    for (const waitMs of [0, 50]) {
      let heard = 0;
      const hear = () => {
        heard += 1;
      };
      const flow = egress.send(
        {
          method: "POST",
          origin: `http://127.0.0.1:${port}`,
          path: "/",
          headers: [],
          body: Buffer.from("x"),
          headersTimeoutMs: 200,
          idleTimeoutMs: 200,
        },
        { onStart: hear, onData: hear, onEnd: hear, onFault: hear },
      );
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
      expect(flow.isSent).toBe(waitMs > 0);
      flow.abort();
      await new Promise((resolve) => setTimeout(resolve, 60));
      expect(heard).toBe(0);
    }
  });
});
