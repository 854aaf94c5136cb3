// The booking of what a task that has ended costs: of the whole of it, or of a part.
import type { Settlement } from "#server/money/operations.ts";
import type { TaskRow } from "#server/store/tasks.ts";
import type { TaskTools } from "./channel.ts";

/** What is charged for a task, or for a part of it. */
export interface TaskSettlement {
  readonly requestId: string;
  readonly model: string;
  readonly charge: bigint;
  readonly usage: Settlement["usage"];
  /** What its log entry says. */
  readonly content: string;
  readonly isEstimated: boolean;
  /** Of the price tables by which it was reserved; undefined = an older program noted none. */
  readonly priceVersion: number | undefined;
}

/** Books the charge of a task that has ended, with its log entry. Throws: when the ledger cannot take it now. */
export async function settleTask(
  { ledger, options, events }: TaskTools,
  row: TaskRow,
  { requestId, model, charge, usage, content, isEstimated, priceVersion }: TaskSettlement,
): Promise<void> {
  const { payer_id: userId, token_id: tokenId, channel_id: channelId, key_id: keyId } = row;
  const log = {
    content,
    model_name: model,
    elapsed_time: (row.ended_at - row.created_at) * 1_000,
    first_byte_time: 0,
    is_stream: 0,
    estimated: isEstimated ? 1 : 0,
    trail: row.trail,
    price_version: priceVersion ?? -1,
  };
  const booking = await ledger.settle({
    ...{ requestId, userId, tokenId, channelId, keyId, charge, usage },
    ...(row.user_id !== userId && { memberId: row.user_id }),
    log: options.get("LogConsumeEnabled") ? log : null,
  });
  const quota = Number(booking.shortfall);
  if (quota > 0) events.fellShort({ requestId, userId, tokenId, channelId, quota });
}
