// OpenAI's Responses as a server keeps them: made whole, streamed or in the background; gone on from, looked at, cancelled, deleted. It answers
// with what it was told in the conversation so far.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

interface Stored {
  readonly said: string;
  status: string;
  usage: object | undefined;
}

export interface ResponsesEmulator {
  readonly url: string;
  /** Stands in the ids that it gives. */
  readonly name: string;
  /** How many responses it was asked to make. */
  asked(): number;
  /** The keys of those calls, in their order. */
  keys(): readonly string[];
  /** Method and path of all calls there were. */
  calls(): readonly string[];
  /** The body of the last of them. */
  last(): unknown;
  /** Ends one that is made in the background. */
  finish(id: string, status?: "completed" | "failed"): void;
  /** Answers every call with this status from now on; 0 = as usual. */
  fail(status: number): void;
  /** Forgets all. */
  reset(): void;
  close(): Promise<void>;
}

const usageOf = (output: number) => ({ input_tokens: 10, output_tokens: output, total_tokens: 10 + output });

export async function startResponses(name: string): Promise<ResponsesEmulator> {
  const kept = new Map<string, Stored>();
  // biome-ignore lint/suspicious/noExplicitAny: any body.
  let bodies: any[] = [];
  let keys: string[] = [];
  const calls: string[] = [];
  let failing = 0;
  let serial = 0;

  function objectOf(id: string, { said, status, usage }: Stored, store = true) {
    const content = [{ type: "output_text", text: said, annotations: [] }];
    const message = { type: "message", id: `msg_${id}`, role: "assistant", status: "completed", content };
    const output = status === "completed" ? [message] : [];
    const error = status === "failed" ? { code: "server_error", message: "no" } : null;
    return {
      id,
      object: "response",
      created_at: 1,
      model: "gpt-4o",
      status,
      error,
      output,
      usage: usage ?? null,
      store,
    };
  }

  function make(req: IncomingMessage, res: ServerResponse, text: string): unknown {
    const body = JSON.parse(text);
    bodies.push(body);
    keys.push(String(req.headers.authorization));
    const before = body.previous_response_id === undefined ? undefined : kept.get(body.previous_response_id);
    if (body.previous_response_id !== undefined && before === undefined) {
      const error = {
        message: "not found",
        type: "invalid_request_error",
        code: "previous_response_not_found",
      };
      return send(res, 400, { error });
    }
    serial += 1;
    const id = `resp_${name}_${serial}`;
    const said = [before?.said ?? "", body.input].join(" ").trim();
    const isBackground = body.background === true;
    const made: Stored = {
      said,
      status: isBackground ? "queued" : "completed",
      usage: isBackground ? undefined : usageOf(5),
    };
    if (body.store !== false) kept.set(id, made);
    const object = objectOf(id, made, body.store !== false);
    if (body.stream !== true) return send(res, 200, object);
    const event = (type: string, response: object) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, response })}\n\n`;
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.write(event("response.created", { ...object, status: "in_progress", output: [], usage: null }));
    return res.end(event("response.completed", object));
  }

  function aboutOne(
    req: IncomingMessage,
    res: ServerResponse,
    id: string,
    part: string | undefined,
  ): unknown {
    const found = kept.get(id);
    if (found === undefined)
      return send(res, 404, { error: { message: "not found", type: "invalid_request_error" } });
    if (part === "input_items") {
      const content = [{ type: "input_text", text: found.said }];
      return send(res, 200, {
        object: "list",
        data: [{ type: "message", id: "in_1", role: "user", content }],
        has_more: false,
      });
    }
    if (part === "cancel") {
      found.status = "cancelled";
      found.usage = usageOf(2);
    }
    if (req.method === "DELETE") {
      kept.delete(id);
      return send(res, 200, { id, object: "response.deleted", deleted: true });
    }
    return send(res, 200, objectOf(id, found));
  }

  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk);
    calls.push(`${req.method} ${req.url}`);
    if (failing > 0) return send(res, failing, { error: { message: "down", type: "server_error" } });
    const [, id, part] = /^\/v1\/responses(?:\/([^/?]+)(?:\/(\w+))?)?/.exec(req.url ?? "") ?? [];
    if (id === undefined) make(req, res, Buffer.concat(chunks).toString());
    else aboutOne(req, res, id, part);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    name,
    asked: () => bodies.length,
    keys: () => keys,
    calls: () => calls,
    last: () => bodies.at(-1),
    finish(id, status = "completed") {
      const found = kept.get(id);
      if (found === undefined) throw new Error(`no response ${id}`);
      found.status = status;
      found.usage = usageOf(5);
    },
    fail(status) {
      failing = status;
    },
    reset() {
      kept.clear();
      bodies = [];
      keys = [];
      failing = 0;
    },
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

function send(res: ServerResponse, status: number, body: object): void {
  res.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
