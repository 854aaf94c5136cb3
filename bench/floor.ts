// The floor: the least that a proxy on Node can do. node:http in, undici out, bytes through with back-pressure, no
// checks, no keys, no ledger. UPSTREAM_PORT says where to. Ends with the process that started it.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Agent, type Dispatcher } from "undici";

const origin = `http://127.0.0.1:${process.env["UPSTREAM_PORT"]}`;
const agent = new Agent({ pipelining: 1, keepAliveTimeout: 30_000 });

class Pipe implements Dispatcher.DispatchHandler {
  readonly #res: ServerResponse;

  constructor(res: ServerResponse) {
    this.#res = res;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#res.on("drain", () => controller.resume());
    this.#res.on("close", () => {
      if (!this.#res.writableEnded) controller.abort(new Error("the client went away"));
    });
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    const { "content-type": type = "application/json", "content-length": length } = headers;
    this.#res.writeHead(status, {
      "Content-Type": type,
      ...(length === undefined ? {} : { "Content-Length": length }),
    });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#res.write(chunk)) controller.pause();
  }

  onResponseEnd(): void {
    this.#res.end();
  }

  onResponseError(): void {
    this.#res.destroy();
  }
}

function forward(req: IncomingMessage, res: ServerResponse, body: Buffer): void {
  const headers = {
    "content-type": req.headers["content-type"] ?? "application/json",
    authorization: req.headers.authorization ?? "",
  };
  agent.dispatch({ origin, path: req.url ?? "/", method: "POST", headers, body }, new Pipe(res));
}

const server = createServer({ noDelay: true, keepAliveTimeout: 65_000, requestTimeout: 0 }, (req, res) => {
  const pieces: Buffer[] = [];
  req.on("data", (piece: Buffer) => pieces.push(piece));
  req.on("end", () => {
    const [first] = pieces;
    forward(req, res, pieces.length === 1 && first ? first : Buffer.concat(pieces));
  });
});
server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () => {
  const address = server.address();
  if (address !== null && typeof address === "object") process.send?.({ port: address.port });
});
process.on("disconnect", () => process.exit(0));
