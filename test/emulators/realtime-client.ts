// A client of realtime conversations on a real WebSocket; tests can wait for its events.
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";

export interface RealtimeClient {
  readonly socket: WebSocket;
  readonly events: {
    readonly type: string;
    readonly error?: { code: string; message: string };
    readonly [name: string]: unknown;
  }[];
  /** Code and reason of the close. */
  readonly closed: Promise<readonly [number, string]>;
  /** Waits for so many events of this type. */
  until(type: string, count?: number): Promise<void>;
}

/** Begins a conversation. */
export function openClient(
  url: string,
  protocols: string[],
  headers: Record<string, string>,
): RealtimeClient {
  const socket = new WebSocket(url, protocols, { headers });
  const events: RealtimeClient["events"] = [];
  socket.on("message", (data, isBinary) => {
    if (!isBinary) events.push(JSON.parse(data.toString()));
  });
  socket.on("error", () => undefined);
  const closed = new Promise<readonly [number, string]>((resolve) => {
    socket.on("close", (code, reason) => resolve([code, reason.toString()]));
  });
  return {
    socket,
    events,
    closed,
    async until(type, count = 1) {
      for (let tries = 0; tries < 1_000; tries += 1) {
        if (events.filter((event) => event.type === type).length >= count) return;
        await sleep(10);
      }
      throw new Error(`no ${type} among ${events.map((event) => event.type).join()}`);
    },
  };
}

/** Begins a conversation with `model` as the owner of the token, at the server of this address. */
export function beginTalk(base: string, key: string, model: string): RealtimeClient {
  const url = `${base.replace("http", "ws")}/v1/realtime?model=${model}`;
  return openClient(url, [], { authorization: `Bearer sk-${key}` });
}
