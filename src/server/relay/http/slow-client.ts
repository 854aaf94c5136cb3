// Clients that do not read: what was written for one of them is kept for a while, not for ever.
import type { RelayResponse } from "./routes.ts";

/** A client that takes nothing is given up within this time (requirements R03). */
export const STALL_MS = 120_000;
/** Node looks so often whether anything moved; to the first look what the system took at once has moved. */
const LOOKS = 2;

/** From now on, until its answer is out, a client is given up that takes nothing of what is written. Unit: ms. */
export function limitStall(res: RelayResponse, stallMs: number): void {
  if (res.listenerCount("timeout") === 0) {
    res.on("timeout", () => {
      if (res.writableLength > 0) res.destroy();
    });
    // The next answer on the connection has its own times.
    res.prependOnceListener("finish", () => res.setTimeout(0));
  }
  res.setTimeout(stallMs / LOOKS);
}
