// OpenAI's Responses as a server keeps them: made whole, streamed or in the background, where they are streamed too; gone on from, followed,
// looked at, made short, cancelled, deleted. It answers with what it was told in the conversation so far.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

// biome-ignore lint/suspicious/noExplicitAny: any body, any item.
type Json = any;

interface Stored {
  readonly said: string;
  readonly store: boolean;
  status: string;
  usage: object | undefined;
  /** What was told of it in the background so far; undefined = it is not streamed. */
  readonly events: string[] | undefined;
  readonly followers: Set<ServerResponse>;
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
  /** Tells something more of one that is streamed in the background. */
  tell(id: string, delta: string): void;
  /** How many follow it. */
  followers(id: string): number;
  /** Ends one that is made in the background, with so many tokens of output. */
  finish(id: string, status?: "completed" | "failed", output?: number): void;
  /** Breaks the streams of one off. */
  cut(id: string): void;
  /** Answers every call with this status from now on; 0 = as usual. */
  fail(status: number): void;
  /** Forgets all. */
  reset(): void;
  close(): Promise<void>;
}

const usageOf = (output: number) => ({ input_tokens: 10, output_tokens: output, total_tokens: 10 + output });
const eventOf = (type: string, fields: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;

export async function startResponses(name: string): Promise<ResponsesEmulator> {
  const kept = new Map<string, Stored>();
  let bodies: Json[] = [];
  let keys: string[] = [];
  const calls: string[] = [];
  let failing = 0;
  let serial = 0;

  function objectOf(id: string, { said, status, usage, store }: Stored) {
    const content = [{ type: "output_text", text: said, annotations: [] }];
    const message = { type: "message", id: `msg_${id}`, role: "assistant", status: "completed", content };
    const output = status === "completed" ? [message] : [];
    const error = status === "failed" ? { code: "server_error", message: "no" } : null;
    const shell = { id, object: "response", created_at: 1, model: "gpt-4o", status, error };
    return { ...shell, output, usage: usage ?? null, store };
  }

  /** Adds an event, and sends it to the clients that follow. */
  function tell(id: string, type: string, fields: object): void {
    const { events = [], followers } = found(id);
    events.push(eventOf(type, { sequence_number: events.length, ...fields }));
    for (const res of followers) res.write(events.at(-1));
  }

  function found(id: string): Stored {
    return kept.get(id) ?? fail(`no response ${id}`);
  }

  function make(req: IncomingMessage, res: ServerResponse, text: string): unknown {
    const body = JSON.parse(text);
    bodies.push(body);
    keys.push(String(req.headers.authorization));
    const before = kept.get(body.previous_response_id);
    if (body.previous_response_id !== undefined && before === undefined)
      return send(res, 400, errorOf("not found", "previous_response_not_found"));
    if (isForeign(body.input, name)) return send(res, 400, errorOf("cannot be decrypted"));
    serial += 1;
    if (req.url?.endsWith("/compact") === true) return send(res, 200, compacted(name, serial));
    const id = `resp_${name}_${serial}`;
    const said = [before?.said ?? "", textOf(body.input)].join(" ").trim();
    const store = body.store !== false;
    if (body.background === true) return begin(res, id, { said, store, isStream: body.stream === true });
    const made = {
      said,
      store,
      status: "completed",
      usage: usageOf(5),
      events: undefined,
      followers: new Set<never>(),
    };
    if (store) kept.set(id, made);
    const object = objectOf(id, made);
    if (body.stream !== true) return send(res, 200, object);
    res.writeHead(200, { "content-type": "text/event-stream" });
    const begun = { ...object, status: "in_progress", output: [], usage: null };
    res.write(eventOf("response.created", { response: begun }));
    return res.end(eventOf("response.completed", { response: object }));
  }

  function begin(
    res: ServerResponse,
    id: string,
    { said, store, isStream }: { said: string; store: boolean; isStream: boolean },
  ): void {
    const events = isStream ? [] : undefined;
    const made: Stored = { said, store, status: "queued", usage: undefined, events, followers: new Set() };
    kept.set(id, made);
    if (isStream) {
      tell(id, "response.created", { response: objectOf(id, made) });
      follow(res, made, 0);
    } else send(res, 200, objectOf(id, made));
  }

  function follow(res: ServerResponse, { events = [], followers, status }: Stored, from: number): void {
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.write(events.slice(from).join("") || ": nothing yet\n\n");
    if (status !== "queued") res.end();
    else {
      followers.add(res);
      res.on("close", () => followers.delete(res));
    }
  }

  function end(id: string, status: string, usage: object): void {
    const made = found(id);
    if (made.status !== "queued") return;
    Object.assign(made, { status, usage });
    tell(id, `response.${status}`, { response: objectOf(id, made) });
    for (const res of made.followers) res.end();
  }

  function aboutOne(
    req: IncomingMessage,
    res: ServerResponse,
    id: string,
    part: string | undefined,
  ): unknown {
    const one = kept.get(id);
    if (one === undefined) return send(res, 404, errorOf("not found"));
    if (part === "input_items") {
      const content = [{ type: "input_text", text: one.said }];
      const data = [{ type: "message", id: "in_1", role: "user", content }];
      return send(res, 200, { object: "list", data, has_more: false });
    }
    if (part === "cancel") end(id, "cancelled", usageOf(2));
    if (req.method === "DELETE") {
      kept.delete(id);
      return send(res, 200, { id, object: "response.deleted", deleted: true });
    }
    const query = new URL(req.url ?? "", "http://localhost").searchParams;
    if (query.get("stream") !== "true") return send(res, 200, objectOf(id, one));
    if (one.events === undefined) return send(res, 400, errorOf("was not created with stream"));
    return follow(res, one, Number(query.get("starting_after") ?? -1) + 1);
  }

  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk);
    calls.push(`${req.method} ${req.url}`);
    if (failing > 0) return send(res, failing, { error: { message: "down", type: "server_error" } });
    const [, id, part] = /^\/v1\/responses(?:\/([^/?]+)(?:\/(\w+))?)?/.exec(req.url ?? "") ?? [];
    if (id === undefined || id === "compact") make(req, res, Buffer.concat(chunks).toString());
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
    tell: (id, delta) => tell(id, "response.output_text.delta", { delta }),
    followers: (id) => found(id).followers.size,
    finish: (id, status = "completed", output = 5) => end(id, status, usageOf(output)),
    cut(id) {
      for (const res of found(id).followers) res.socket?.resetAndDestroy();
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

function fail(message: string): never {
  throw new Error(message);
}

function errorOf(message: string, code?: string) {
  return { error: { message, type: "invalid_request_error", code } };
}

/** What was made short by another account. */
function isForeign(input: Json, name: string): boolean {
  const isSealed = ({ type }: Json) => type === "compaction";
  return (
    Array.isArray(input) && input.some((item) => isSealed(item) && !item.encrypted_content.startsWith(name))
  );
}

function compacted(name: string, number: number) {
  const output = [
    { type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] },
    { type: "compaction", id: `cmp_${number}`, encrypted_content: `${name}-sealed-${number}` },
  ];
  return {
    id: `resp_${name}_${number}`,
    object: "response.compaction",
    created_at: 1,
    output,
    usage: usageOf(5),
  };
}

/** The texts of an input. */
function textOf(input: Json): string {
  if (!Array.isArray(input)) return String(input);
  const contents = input.flatMap(({ content }) =>
    Array.isArray(content) ? content.map(({ text }: Json) => text) : [content],
  );
  return contents.filter((text) => typeof text === "string").join(" ");
}

function send(res: ServerResponse, status: number, body: object): void {
  res.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
