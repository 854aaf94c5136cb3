// Calls over a WebSocket, against a real server: one request message, an answer of lines, every end has a name.
import { createServer } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { createEgress, type Egress } from "./dispatcher.ts";
import type { EgressRequest, Flow } from "./send.ts";

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close();
});

function egressFor(allow = "127.0.0.0/8"): Egress {
  const egress = createEgress({ allow: allow === "" ? [] : [{ cidr: allow, port: undefined }] });
  open.push(() => egress.close());
  return egress;
}

interface Asked {
  readonly socket: WebSocket;
  readonly question: string;
  readonly isBinary: boolean;
  readonly headers: NodeJS.Dict<string | string[]>;
}

/** A scripted server; `refusal` = it refuses the handshake. */
async function serve(answer: (asked: Asked) => void, refusal?: { status: number; body: string }) {
  const http = createServer();
  const sockets = new WebSocketServer({ noServer: true });
  http.on("upgrade", (request, socket, head) => {
    if (refusal !== undefined) {
      const { status, body } = refusal;
      socket.end(
        `HTTP/1.1 ${status} No\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      );
      return;
    }
    sockets.handleUpgrade(request, socket, head, (ws) => {
      ws.on("message", (data, isBinary) => {
        answer({ socket: ws, question: String(data), isBinary, headers: request.headers });
      });
    });
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  open.push(() => {
    for (const socket of sockets.clients) socket.terminate();
    http.close();
  });
  const address = http.address();
  if (address === null || typeof address !== "object") throw new Error("no port");
  return `ws://127.0.0.1:${address.port}`;
}

interface Heard {
  readonly flow: Flow;
  readonly lines: string[];
  /** The status, and how the call ended. */
  readonly end: Promise<string>;
}

function call(egress: Egress, origin: string, more: Partial<EgressRequest> = {}): Heard {
  const lines: string[] = [];
  let status = 0;
  let flow: Flow | undefined;
  const end = new Promise<string>((resolve) => {
    flow = egress.send(
      {
        method: "POST",
        origin,
        path: "/chat?a=b",
        headers: ["content-type", "application/json", "user-agent", "Tollgate"],
        body: Buffer.from('{"q":1}'),
        headersTimeoutMs: 300,
        idleTimeoutMs: 300,
        ...more,
      },
      {
        onStart: (code) => {
          status = code;
        },
        onData: (chunk) => lines.push(String(chunk)),
        onEnd: () => resolve(`${status} end`),
        onFault: ({ code }) => resolve(`${status} ${code}`),
      },
    );
  });
  if (flow === undefined) throw new Error("not started");
  return { flow, lines, end };
}

describe("a call over a WebSocket", () => {
  it("sends one text and delivers each message as one line", async () => {
    const asked: Asked[] = [];
    const origin = await serve((question) => {
      asked.push(question);
      question.socket.send('{"a":\n1}');
      question.socket.send('{"b":2}');
      question.socket.close(1000);
    });
    const { end, lines, flow } = call(egressFor(), origin);
    await expect(end).resolves.toBe("200 end");
    expect(lines).toEqual(['{"a": 1}\n', '{"b":2}\n']);
    expect(asked.map(({ question, isBinary }) => [question, isBinary])).toEqual([['{"q":1}', false]]);
    expect(asked[0]?.headers["user-agent"]).toBe("Tollgate");
    expect(asked[0]?.headers["content-type"]).toBeUndefined();
    expect(flow.isSent).toBe(true);
  });

  it("delivers a refused handshake as an HTTP answer", async () => {
    const origin = await serve(() => undefined, { status: 401, body: '{"message":"no"}' });
    const { end, lines, flow } = call(egressFor(), origin);
    await expect(end).resolves.toBe("401 end");
    expect(lines).toEqual(['{"message":"no"}']);
    expect(flow.isSent).toBe(false);
  });

  it("reaches no address that the policy forbids", async () => {
    const origin = await serve(() => undefined);
    await expect(call(egressFor(""), origin).end).resolves.toBe("0 blocked");
    await expect(call(egressFor(""), origin.replace("127.0.0.1", "localhost")).end).resolves.toBe(
      "0 blocked",
    );
    await expect(call(egressFor(), "ws://127.0.0.1:9").end).resolves.toBe("0 refused");
  });

  it("names silence, a standstill, and a bad end", async () => {
    const silent = await serve(() => undefined);
    await expect(call(egressFor(), silent).end).resolves.toBe("0 timeout");
    const halting = await serve(({ socket }) => socket.send("{}"));
    await expect(call(egressFor(), halting).end).resolves.toBe("200 idle");
    const failing = await serve(({ socket }) => {
      socket.send("{}");
      socket.close(1011);
    });
    await expect(call(egressFor(), failing).end).resolves.toBe("200 reset");
    const mute = await serve(({ socket }) => socket.close(1000));
    await expect(call(egressFor(), mute).end).resolves.toBe("0 reset");
  });

  it("keeps a paused sender waiting, and does not count the wait as idle time", async () => {
    const origin = await serve(({ socket }) => {
      socket.send("{}");
      setTimeout(() => {
        socket.send('{"late":1}');
        socket.close(1000);
      }, 50);
    });
    const { flow, lines, end } = call(egressFor(), origin, { idleTimeoutMs: 200 });
    flow.pause();
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect(lines).toEqual([]);
    flow.resume();
    await expect(end).resolves.toBe("200 end");
    expect(lines).toHaveLength(2);
  });

  it("closes the connection properly after a complete answer, at once when it is aborted", async () => {
    const codes: number[] = [];
    const origin = await serve(({ socket }) => {
      socket.on("close", (code) => codes.push(code));
      socket.send("{}");
    });
    for (const hangUp of ["finish", "abort"] as const) {
      const heard = call(egressFor(), origin);
      await expect.poll(() => heard.lines.length).toBe(1);
      heard.flow[hangUp]?.();
      await expect.poll(() => codes.length).toBe(hangUp === "finish" ? 1 : 2);
    }
    expect(codes).toEqual([1000, 1006]);
    const early = call(egressFor(), origin);
    early.flow.abort();
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(early.lines).toEqual([]);
  });
});
