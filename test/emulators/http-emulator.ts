// A small HTTP server for a test, on a free loopback port: the frame of every emulator of an outside service.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

export interface Heard {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** The query as it came. */
  readonly search: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

export interface HttpEmulator {
  readonly url: string;
  readonly heard: Heard[];
  close(): Promise<void>;
}

/** What to answer: JSON of any status, or bytes with the type that `headers` name; `undefined` = hang. */
export type Reply = {
  readonly status?: number;
  readonly json?: unknown;
  readonly body?: Uint8Array;
  readonly headers?: Record<string, string>;
};

/** Starts a server. `answer` may return undefined to never answer. */
export async function startHttpEmulator(
  answer: (heard: Heard) => Reply | undefined | Promise<Reply | undefined>,
): Promise<HttpEmulator> {
  const heard: Heard[] = [];
  const handle = async (req: IncomingMessage, res: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk);
    const url = new URL(req.url ?? "/", "http://emulator");
    const call: Heard = {
      method: req.method ?? "",
      path: url.pathname,
      query: url.searchParams,
      search: url.search,
      headers: req.headers,
      body: Buffer.concat(chunks).toString("utf8"),
    };
    heard.push(call);
    const reply = await answer(call);
    if (!reply) return;
    res.writeHead(reply.status ?? 200, { "content-type": "application/json", ...reply.headers });
    res.end(reply.body ?? JSON.stringify(reply.json));
  };
  const server = createServer((req, res) => void handle(req, res));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    heard,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
