// The settlement of a call for the ledger. Pure.
import type { Settlement } from "#server/money/operations.ts";
import type { Caller } from "#server/relay/admission/authenticate.ts";
import type { BillingServices, Sum } from "./pricing.ts";

/** The parts of a settlement beside its sum. Times: ms. */
export interface SettledCall {
  readonly requestId: string;
  readonly caller: Pick<Caller, "userId" | "tokenId">;
  readonly channelId: number;
  readonly model: string;
  readonly isStream: boolean;
  readonly startedMs: number;
  /** Moment of the first byte; 0 = none came. */
  readonly firstByteMs: number;
  /** The failed attempts, as the log keeps them. */
  readonly attempts: string;
  /** The settlement may wait some milliseconds for others to share a commit with. */
  readonly mayWait?: boolean;
}

/** The settlement of a call; without a row for the log where LogConsumeEnabled is off. */
export function settlementOf(
  { options, clock }: Pick<BillingServices, "options" | "clock">,
  call: SettledCall,
  { usage, amount, content, isEstimated }: Sum,
): Settlement {
  const { requestId, caller, channelId, model, isStream, startedMs, firstByteMs, attempts } = call;
  const { userId, tokenId } = caller;
  const log = options.get("LogConsumeEnabled")
    ? {
        content,
        model_name: model,
        elapsed_time: clock.now() - startedMs,
        first_byte_time: firstByteMs === 0 ? 0 : Math.max(1, firstByteMs - startedMs),
        is_stream: isStream ? 1 : 0,
        estimated: isEstimated ? 1 : 0,
        trail: attempts,
      }
    : null;
  const mayWait = call.mayWait === true;
  return { requestId, userId, tokenId, channelId, charge: amount, usage, mayWait, log };
}

/** Books a settlement and reports the shortfall of user or token. Throws: StoreError. */
export async function book(
  { ledger, events }: Pick<BillingServices, "ledger" | "events">,
  settlement: Settlement,
): Promise<{ readonly charged: bigint }> {
  const booking = await ledger.settle(settlement);
  const quota = Number(booking.shortfall);
  if (quota > 0) {
    const { requestId, userId, tokenId, channelId } = settlement;
    events.fellShort({ requestId, userId, tokenId, channelId, quota });
  }
  return booking;
}
