// Responses by WebSocket (vendors/responses-socket, vendors/codex): takes upgrades of callers who may come in, and closes their sockets when
// the process ends. What is said on one is in bridge-socket.ts.
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { faultOf } from "#server/relay/finish.ts";
import type { UpgradeRequest } from "#server/relay/http/exchange.ts";
import { toldIn } from "#server/relay/http/fault-language.ts";
import { addressOf, offersOf, splitUrl } from "#server/relay/http/routes.ts";
import { refuseUpgrade } from "#server/relay/http/upgrade.ts";
import type { Services } from "#server/relay/services.ts";
import { upgradeHeaders } from "#server/relay/tell-limits.ts";
import type { Calls } from "./bridge-call.ts";
import { SocketMemory } from "./bridge-memory.ts";
import { type BridgeParts, BridgeSocket } from "./bridge-socket.ts";
import type { SocketTimes } from "./session.ts";

export interface Asking extends Pick<BridgeParts, "req" | "isTooMuch"> {
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly requestId: string;
}

export interface Bridge {
  /** How many sockets are open. */
  readonly size: number;
  take(asking: Asking): Promise<void>;
  /** Closes sockets that carry no call, and the others after it. Resolves when all are closed. */
  drain(): Promise<void>;
}

/** As large as a body by HTTP (requirements R04). */
const MOST_MESSAGE_BYTES = 32 * 1024 * 1024;
/** Of the memory that the process may use, for what all sockets hold. */
const HELD_SHARE = 1 / 8;

export function createBridge(services: Services, calls: Calls, times: SocketTimes): Bridge {
  const { ctx, authenticator } = services;
  const memory = new SocketMemory(ctx.config.memoryBytes * HELD_SHARE);
  const open = new Map<BridgeSocket, Promise<void>>();
  let isDraining = false;
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MOST_MESSAGE_BYTES,
  });
  const lines = new WeakMap<UpgradeRequest, readonly string[]>();
  server.on("headers", (headers, req) => headers.push(...(lines.get(req) ?? [])));

  function begin(client: WebSocket, { req, isTooMuch }: Asking): void {
    const one = new BridgeSocket({ services, calls, times, memory, client, req, isTooMuch });
    open.set(
      one,
      one.run().finally(() => open.delete(one)),
    );
    if (isDraining) one.drain();
  }

  return {
    get size() {
      return open.size;
    },
    async take(asking) {
      const { req, socket, head, requestId } = asking;
      try {
        const { key } = splitUrl(req.url ?? "");
        const address = addressOf(req, ctx.config.trustedProxies);
        const caller = await authenticator.authenticate(offersOf(req, key), address);
        const told = await upgradeHeaders(services, { caller, model: "" });
        lines.set(req, [`x-oneapi-request-id: ${requestId}`, ...told]);
        server.handleUpgrade(req, socket, head, (client) => begin(client, asking));
      } catch (error) {
        refuseUpgrade(socket, requestId, toldIn(faultOf(error), "", req.headers));
      }
    },
    async drain() {
      isDraining = true;
      for (const one of open.keys()) one.drain();
      await Promise.all(open.values());
    },
  };
}
