// Pipes a stream's events from the upstream to the client, at the pace of the client and the ledger.
import type { StreamReply } from "#server/upstream/call/call.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import type { ClientResponse } from "./client-response.ts";

/** Why a stream ends; undefined = it goes on. A promise = nothing more may be delivered before it is known. */
export type Verdict = RelayFault | undefined | Promise<RelayFault | undefined>;

/**
 * Passes a stream on, event by event and at once, without its terminator: that follows the settlement. While the client does not
 * keep up, or `onProgress`, which is called after each piece, is not decided, the upstream pauses. Resolves with the fault that broke
 * it; undefined = complete, or left by its client.
 */
export function pipe(
  reply: StreamReply,
  response: ClientResponse,
  isArray: boolean,
  onProgress: () => Verdict,
): Promise<RelayFault | undefined> {
  return new Promise((resolve) => {
    let isOver = false;
    let isClientBehind = false;
    let isUndecided = false;
    const goOn = () => {
      if (!isClientBehind && !isUndecided) reply.resume();
    };
    const end = (fault: RelayFault | undefined) => {
      isOver = true;
      // Bytes after the end are read too, so that the connection can be reused.
      if (isClientBehind || isUndecided) reply.resume();
      resolve(fault);
    };
    const stop = (fault: RelayFault | undefined) => {
      if (isOver) return;
      reply.abort();
      end(fault);
    };
    const heed = (verdict: Verdict) => {
      if (!(verdict instanceof Promise)) {
        if (verdict !== undefined) stop(verdict);
      } else if (!isUndecided) {
        isUndecided = true;
        reply.pause();
        void verdict.then((fault) => {
          isUndecided = false;
          if (fault === undefined) goOn();
          else stop(fault);
        });
      }
    };
    response.gone.watch(() => stop(response.cutBy));
    if (isOver) return;
    response.openStream(reply, isArray);
    reply.listen({
      onBytes(bytes) {
        if (isOver) return;
        if (!response.write(bytes) && !isClientBehind) {
          isClientBehind = true;
          reply.pause();
          response.onDrain(() => {
            isClientBehind = false;
            goOn();
          });
        }
        const verdict = onProgress();
        if (verdict !== undefined) heed(verdict);
      },
      onEnd(fault) {
        if (!isOver) end(fault);
      },
    });
  });
}
