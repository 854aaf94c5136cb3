// A scripted provider of realtime conversations on a real WebSocket: does what the script says and keeps what it was told.
import { createServer, type IncomingMessage } from "node:http";
import { type WebSocket, WebSocketServer } from "ws";

export interface Talk {
  readonly req: IncomingMessage;
  readonly socket: WebSocket;
  /** Texts as they are, bytes as buffers. */
  readonly heard: (string | Buffer)[];
  /** Code and reason of the close. */
  readonly closed: Promise<readonly [number, string]>;
  say(event: object): void;
}

/** What happens at each new conversation. */
export type Script = (talk: Talk) => void;

export interface FakeRealtime {
  readonly url: string;
  readonly talks: Talk[];
  script(next: Script): void;
  /** From now on upgrades are answered with this status; 0 = they are taken. */
  refuse(status: number, body?: object): void;
  close(): Promise<void>;
}

/** Starts a provider on a free loopback port. */
export async function createFakeRealtime(): Promise<FakeRealtime> {
  const talks: Talk[] = [];
  let script: Script = () => undefined;
  let refusal: { status: number; body: object } = { status: 0, body: {} };
  const server = createServer();
  const sockets = new WebSocketServer({ noServer: true, maxPayload: 64 * 1024 * 1024 });
  server.on("upgrade", (req, socket, head) => {
    if (refusal.status === 0) {
      sockets.handleUpgrade(req, socket, head, (client) => {
        const talk = newTalk(req, client);
        talks.push(talk);
        script(talk);
      });
      return;
    }
    const body = JSON.stringify(refusal.body);
    const type = "content-type: application/json";
    const length = `content-length: ${body.length}`;
    socket.end(`HTTP/1.1 ${refusal.status} No\r\n${type}\r\n${length}\r\nconnection: close\r\n\r\n${body}`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    talks,
    script(next) {
      script = next;
      refusal = { status: 0, body: {} };
    },
    refuse(status, body = {}) {
      refusal = { status, body };
    },
    close() {
      for (const { socket } of talks) socket.terminate();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

function newTalk(req: IncomingMessage, socket: WebSocket): Talk {
  const heard: (string | Buffer)[] = [];
  socket.on("message", (data: Buffer, isBinary: boolean) => heard.push(isBinary ? data : data.toString()));
  const closed = new Promise<readonly [number, string]>((resolve) => {
    socket.on("close", (code, reason) => resolve([code, reason.toString()]));
  });
  return { req, socket, heard, closed, say: (event) => socket.send(JSON.stringify(event)) };
}
