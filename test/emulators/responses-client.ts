// A client of Responses on a real WebSocket: asks for responses, one after the other, and reads their events.
import { openClient, type RealtimeClient } from "./realtime-client.ts";

// biome-ignore lint/suspicious/noExplicitAny: tests read fields of any event.
export type Event = any;

export interface ResponsesClient extends Pick<RealtimeClient, "socket" | "closed"> {
  readonly events: Event[];
  /** Sends a message as it is. */
  say(message: object | string | Buffer): void;
  /** Asks for a response. Resolves with its events, of which the last ends it, or is an error. */
  create(body: object): Promise<Event[]>;
  /** Resolves with the next so many events. */
  next(count?: number): Promise<Event[]>;
}

const LAST = new Set(["response.completed", "response.incomplete", "response.failed"]);

export function openResponses(
  base: string,
  key: string,
  headers: Record<string, string> = {},
): ResponsesClient {
  const url = `${base.replace("http", "ws")}/v1/responses`;
  const { socket, closed } = openClient(url, [], { authorization: `Bearer sk-${key}`, ...headers });
  const events: Event[] = [];
  let read = 0;
  let news = Promise.withResolvers<void>();
  socket.on("message", (data) => {
    events.push(JSON.parse(data.toString()));
    news.resolve();
    news = Promise.withResolvers();
  });
  const opened = new Promise<void>((resolve) => socket.once("open", () => resolve()));
  const over = closed.then(([code, reason]) => {
    throw new Error(`closed with ${code} ${reason} after ${JSON.stringify(events)}`);
  });
  over.catch(() => undefined);
  const next = async (): Promise<Event> => {
    while (read >= events.length) await Promise.race([news.promise, over]);
    read += 1;
    return events[read - 1];
  };
  const say = (message: object | string | Buffer) => {
    const isPlain = typeof message === "string" || Buffer.isBuffer(message);
    void opened.then(() => socket.send(isPlain ? message : JSON.stringify(message)));
  };
  return {
    socket,
    closed,
    events,
    say,
    async next(count = 1) {
      const got: Event[] = [];
      while (got.length < count) got.push(await next());
      return got;
    },
    async create(body) {
      say({ type: "response.create", ...body });
      const got: Event[] = [];
      for (;;) {
        const event = await next();
        got.push(event);
        if (LAST.has(event.type) || (event.type === "error" && event.status !== undefined)) return got;
      }
    },
  };
}
