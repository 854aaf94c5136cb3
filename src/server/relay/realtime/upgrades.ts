// Upgrades to WebSocket: who takes which. The bridge of Responses is loaded when the first client asks for it.
import type { Duplex } from "node:stream";
import type { UpgradeRequest } from "#server/relay/http/exchange.ts";
import { localErrors } from "#server/relay/http/local-errors.ts";
import { plainPath, REALTIME, RESPONSES, splitUrl } from "#server/relay/http/routes.ts";
import { refuseUpgrade } from "#server/relay/http/upgrade.ts";
import type { Services } from "#server/relay/services.ts";
import { newRequestId } from "#server/secrets.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import type { Asking, Bridge } from "./bridge.ts";
import type { Calls } from "./bridge-call.ts";
import { createRealtime } from "./realtime.ts";
import type { SocketTimes } from "./session.ts";

export interface Upgrades {
  /** Takes an upgrade to WebSocket; on any other path it is refused (requirements R28). `isTooMuch`: whether calls are turned away now. */
  upgrade(req: UpgradeRequest, socket: Duplex, head: Buffer, isTooMuch?: () => boolean): void;
  /** Answers an upgrade that is not taken now (requirements D02). */
  decline(socket: Duplex, fault: RelayFault): void;
  /** From now on sockets that only carry calls close when none is running on them. */
  drain(): void;
  /** Ends all conversations with an error and 1001. Resolves when they are booked. */
  cut(): Promise<void>;
}

/** Sessions of the vendor last an hour at most (vendors/responses-socket): a client is told before it would be cut off. */
const TIMES: SocketTimes = { pingMs: 20_000, idleMs: 600_000, lifeMs: 55 * 60_000 };

/** `times` are shorter in tests. */
export function createUpgrades(services: Services, calls: Calls, times: SocketTimes = TIMES): Upgrades {
  const { clock, events, options } = services.ctx;
  const realtime = createRealtime(services, times);
  let bridge: Promise<Bridge> | undefined;
  let sockets = (): number => 0;
  events.measure("tollgate_responses_sockets", () => sockets());
  const bridged = async () => {
    const { createBridge } = await import("./bridge.ts");
    const one = createBridge(services, calls, times);
    sockets = () => one.size;
    return one;
  };
  /** undefined = it could not be made; the next client makes it try again. */
  const bridgeNow = async (): Promise<Bridge | undefined> => {
    bridge ??= bridged();
    const asked = bridge;
    try {
      return await asked;
    } catch (error) {
      if (bridge === asked) bridge = undefined;
      events.backgroundFailed({ task: "make the bridge", error });
      return undefined;
    }
  };
  const bridgeTakes = async (asking: Asking) => {
    const one = await bridgeNow();
    // By HTTP its client is served all the same.
    if (one === undefined) refuseUpgrade(asking.socket, asking.requestId, localErrors.upgradeDeclined());
    else await one.take(asking);
  };
  /** What has failed on the way may have written to the socket already. */
  const settle = (taking: Promise<void>, socket: Duplex) => {
    taking.catch((error: unknown) => {
      events.backgroundFailed({ task: "upgrade", error });
      socket.destroy();
    });
  };
  const drained = async () => {
    if (bridge !== undefined) await (await bridgeNow())?.drain();
  };
  return {
    upgrade(req, socket, head, isTooMuch = () => false) {
      socket.on("error", () => undefined);
      const requestId = newRequestId(clock.now());
      const path = plainPath(splitUrl(req.url ?? "").path);
      if (path === REALTIME) settle(realtime.take(req, socket, head, requestId), socket);
      else if (path !== RESPONSES) refuseUpgrade(socket, requestId, localErrors.upgradeRefused());
      else if (!options.get("ResponsesSocketEnabled"))
        refuseUpgrade(socket, requestId, localErrors.upgradeDeclined());
      else settle(bridgeTakes({ req, socket, head, requestId, isTooMuch }), socket);
    },
    decline(socket, fault) {
      socket.on("error", () => undefined);
      refuseUpgrade(socket, newRequestId(clock.now()), fault);
    },
    drain() {
      drained().catch((error: unknown) => events.backgroundFailed({ task: "drain sockets", error }));
    },
    async cut() {
      await Promise.all([realtime.cut(), drained()]);
    },
  };
}
