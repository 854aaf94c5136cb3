// What calls come to by hours: along each dimension of the statistics and along all at once. Pure, part of rules.ts.
import type { HourSums, RollupPart, SumPart } from "./books.ts";

const HOUR_SEC = 3600;

/** Sums being added up, by names that say everything they are about. */
export interface HourBooks {
  readonly sums: Map<string, SumPart>;
  readonly rollups: Map<string, RollupPart>;
}

/** The parts of a booked call that statistics are made of. */
export interface BookedCall {
  readonly userId: number;
  readonly tokenName: string;
  readonly modelName: string;
  readonly channelId: number;
  readonly charged: bigint;
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** Adds a call to the sums of its hour. */
export function addCall({ sums, rollups }: HourBooks, call: BookedCall, createdSec: number): void {
  const { userId, tokenName, modelName, channelId } = call;
  const hour = createdSec - (createdSec % HOUR_SEC);
  const add = (part: HourSums) => {
    part.quota += call.charged;
    part.promptTokens += call.promptTokens;
    part.completionTokens += call.completionTokens;
    part.requests += 1;
  };
  const addAlong = (dimension: SumPart["dimension"], key: string) => {
    const name = `${hour}\n${dimension}\n${key}`;
    const part = sums.get(name) ?? { dimension, key, ...noSums(hour) };
    sums.set(name, part);
    add(part);
  };
  addAlong("all", "");
  addAlong("user", String(userId));
  addAlong("token", tokenName);
  addAlong("model", modelName);
  addAlong("channel", String(channelId));
  addAlong("model-channel", `${modelName}\n${channelId}`);
  const name = `${hour}\n${userId}\n${channelId}\n${modelName}\n${tokenName}`;
  const part = rollups.get(name) ?? { userId, tokenName, modelName, channelId, ...noSums(hour) };
  rollups.set(name, part);
  add(part);
}

function noSums(hour: number): HourSums {
  return { hour, quota: 0n, promptTokens: 0, completionTokens: 0, requests: 0 };
}
