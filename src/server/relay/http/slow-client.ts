// Clients that do not read: what was written for one of them is kept for a limited time.
import type { RelayResponse } from "./routes.ts";

/** A client that reads nothing is cut off within this time (requirements R03). */
export const STALL_MS = 120_000;
/** Node checks so often whether anything was sent; bytes that the system took at once count at the first check. */
const LOOKS = 2;

/** From now on, until its answer is sent, a client that reads nothing is cut off. Unit: ms. */
export function limitStall(res: RelayResponse, stallMs: number): void {
  if (res.listenerCount("timeout") === 0) {
    res.on("timeout", () => {
      if (res.writableLength > 0) res.destroy();
    });
    // The next answer on the connection has its own limit.
    res.prependOnceListener("finish", () => res.setTimeout(0));
  }
  res.setTimeout(stallMs / LOOKS);
}
