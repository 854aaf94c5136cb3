// A scripted provider on real HTTP: does what the next step says and keeps a record of its requests.
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

/** One request as it arrived. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** Parsed body; undefined when it is no JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read fields of any body.
  readonly json: any;
  /** Resolves when the connection was broken off by the client; ms since the request came. */
  readonly aborted: Promise<number>;
}

export type Step = (res: ServerResponse, asked: Asked) => void | Promise<void>;

export interface FakeUpstream {
  readonly url: string;
  readonly journal: Asked[];
  /** What each request gets: the steps in turn, then the last one for ever. */
  script(...steps: readonly Step[]): void;
  close(): Promise<void>;
}

/** Starts a provider on a free loopback port. */
export async function createFakeUpstream(): Promise<FakeUpstream> {
  const journal: Asked[] = [];
  let steps: readonly Step[] = [];
  const server = createServer(async (req, res) => {
    const asked = await readRequest(req, res);
    journal.push(asked);
    const [step] = steps;
    if (steps.length > 1) steps = steps.slice(1);
    if (step === undefined) res.writeHead(500).end("no script");
    else await step(res, asked);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    journal,
    script(...next) {
      steps = next;
    },
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

async function readRequest(req: IncomingMessage, res: ServerResponse): Promise<Asked> {
  const start = performance.now();
  const aborted = new Promise<number>((resolve) => {
    res.on("close", () => {
      if (!res.writableFinished) resolve(performance.now() - start);
    });
  });
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    json = undefined;
  }
  return { method: req.method ?? "", path: req.url ?? "", headers: req.headers, text, json, aborted };
}

/** A JSON answer. */
export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Step {
  return (res) => {
    res.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
  };
}

/** Any answer. */
export function raw(text: string, headers: Record<string, string>, status = 200): Step {
  return (res) => {
    res.writeHead(status, headers).end(text);
  };
}

/** A chat completion with this text. */
export function chatReply(
  content: string,
  usage: unknown = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
) {
  return {
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1_760_000_000,
    model: "upstream-model",
    choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
    ...(usage === undefined ? {} : { usage }),
  };
}

/** One chunk of a chat stream. */
export function chunk(
  delta: unknown,
  finish: string | null = null,
  more: Record<string, unknown> = {},
): string {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  return `data: ${JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "upstream-model", choices, ...more })}\n\n`;
}

/** The chunk that brings usage and nothing else. */
export function usageChunk(usage: unknown): string {
  return `data: ${JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "upstream-model", choices: [], usage })}\n\n`;
}

export const DONE = "data: [DONE]\n\n";

/** An event stream: strings are written one by one, numbers are pauses in ms, `cut` resets the connection. */
export function sse(...parts: readonly (string | number | "cut")[]): Step {
  return async (res) => {
    res.writeHead(200, { "content-type": "text/event-stream" });
    for (const part of parts) {
      if (part === "cut") {
        res.socket?.resetAndDestroy();
        return;
      }
      if (typeof part === "number") await sleep(part);
      else if (!res.destroyed) await new Promise((resolve) => res.write(part, resolve));
    }
    res.end();
  };
}

export interface HeldStream {
  readonly step: Step;
  /** Resolves when it has begun. */
  readonly begun: Promise<void>;
  /** Lets it end, with its usage. */
  end(): void;
}

/** An event stream that says "hi" and then waits. */
export function heldStream(usage: unknown): HeldStream {
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
  return {
    begun,
    end,
    async step(res) {
      res.writeHead(200, { "content-type": "text/event-stream" });
      res.write(chunk({ content: "hi" }));
      begin();
      await isOver;
      res.end(usageChunk(usage) + DONE);
    },
  };
}

/** Breaks the connection before any answer. */
export const reset: Step = (res) => {
  res.socket?.resetAndDestroy();
};

/** Never answers. */
export const silence: Step = () => undefined;
