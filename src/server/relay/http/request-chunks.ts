// A request's body piece by piece, for what is too large to be kept: as fast as it is used, bounded in size, and given up when the client is
// too slow or gone.
import type { ClientResponse } from "./client-response.ts";
import type { RelayRequest } from "./exchange.ts";
import { LocalError, localErrors } from "./local-errors.ts";

/** A client that is waited for must send this much in this time (requirements R02). */
const LEAST_BYTES = 16 * 1024;
const LOOK_MS = 30_000;
/** What is left of a body that was refused is thrown away, so that its client reads why; the gateway waits for it no longer than this. */
const REST_MS = 60_000;

/** Throws: LocalError 408, 400 when the client breaks off, or as the process ends; `tooLarge` when there is more than that. */
export async function* requestChunks(
  req: RelayRequest,
  response: ClientResponse,
  { mostBytes, tooLarge }: { readonly mostBytes: number; readonly tooLarge: () => LocalError },
): AsyncGenerator<Buffer> {
  const pieces: AsyncIterator<Buffer> = req.iterator({ destroyOnReturn: false });
  let bytes = 0;
  let waitedMs = 0;
  for (;;) {
    const fromMs = performance.now();
    const piece = await waitFor(pieces, response, LOOK_MS * (1 + bytes / LEAST_BYTES) - waitedMs);
    waitedMs += performance.now() - fromMs;
    if (piece === undefined) return;
    bytes += piece.length;
    if (bytes > mostBytes) throw tooLarge();
    yield piece;
  }
}

/** The next piece; undefined = the body is complete. */
function waitFor(
  pieces: AsyncIterator<Buffer>,
  response: ClientResponse,
  ms: number,
): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    const broken = () => reject(new LocalError(response.cutBy ?? localErrors.bodyBroken()));
    if (response.gone.isCancelled) {
      broken();
      return;
    }
    const timer = setTimeout(
      () => reject(new LocalError(localErrors.bodyTooSlow())),
      Math.min(ms, 2 ** 31 - 1),
    );
    response.gone.watch(broken);
    pieces
      .next()
      .then((next) => resolve(next.done === true ? undefined : next.value), broken)
      .finally(() => {
        clearTimeout(timer);
        response.gone.watch(undefined);
      });
  });
}

/** Lets the client of a body that was refused finish it: most clients read an answer only then. */
export function throwAwayRest(req: RelayRequest, mostBytes: number): void {
  if (req.readableEnded || req.destroyed) return;
  let bytes = 0;
  const timer = setTimeout(() => req.destroy(), REST_MS).unref();
  req
    .on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > mostBytes) req.destroy();
    })
    .on("close", () => clearTimeout(timer))
    .on("error", () => undefined)
    .resume();
}
