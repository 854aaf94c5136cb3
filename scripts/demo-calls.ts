// A month of calls for the demo: each is reserved and settled by the real ledger at its time, so that every balance is the sum
// of its entries, and told to the events as the relay tells it.
import type { Context } from "#server/context.ts";
import { charge, explain, type Usage } from "#server/money/price.ts";
import { newRequestId } from "#server/secrets.ts";

const HOUR_MS = 3_600_000;
const DAYS = 30;
const CALLS = 900;
/** How busy the hours of a day are, from midnight on. */
const BUSY = [2, 1, 1, 0, 0, 1, 2, 4, 9, 14, 16, 14, 8, 11, 16, 17, 15, 12, 8, 7, 8, 9, 6, 4] as const;

export interface DemoToken {
  readonly id: number;
  readonly userId: number;
  readonly key: string;
  readonly username: string;
}

export interface DemoChannel {
  readonly id: number;
  readonly models: readonly string[];
  /** Milliseconds until the first byte, about. */
  readonly pace: number;
  /** Part of the calls that fail, 0 to 1. */
  readonly failing: number;
}

export interface MovableClock {
  now(): number;
  seconds(): number;
  moveTo(ms: number): void;
}

/** A clock that is moved through the past, so that entries carry the time of their call. */
export function movableClock(startMs: number): MovableClock {
  let nowMs = startMs;
  return {
    now: () => nowMs,
    seconds: () => Math.floor(nowMs / 1000),
    moveTo: (ms) => {
      nowMs = ms;
    },
  };
}

/** The start of the demo's month. */
export function demoStartMs(endMs: number): number {
  return endMs - DAYS * 24 * HOUR_MS;
}

/** Evenly spread numbers in [0, 1), the same in every run (mulberry32). */
function repeatableRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Books the calls of the month and leaves the clock at its end. */
export async function bookCalls(
  ctx: Context,
  clock: MovableClock,
  stock: { tokens: readonly DemoToken[]; channels: readonly DemoChannel[]; endMs: number },
): Promise<void> {
  const random = repeatableRandom(20_260_101);
  const times = Array.from({ length: CALLS }, () => callTime(random, stock.endMs)).sort((a, b) => a - b);
  for (const timeMs of times) {
    clock.moveTo(timeMs);
    await book(ctx, random, pick(random, stock.tokens), pick(random, stock.channels));
  }
  clock.moveTo(stock.endMs);
  await ctx.traffic.flush();
}

/** More calls lately, in working hours and on weekdays; none in the future. */
function callTime(random: () => number, endMs: number): number {
  for (;;) {
    const day = new Date(endMs - Math.floor(random() ** 1.25 * DAYS) * 24 * HOUR_MS);
    const isWeekend = day.getDay() % 6 === 0;
    const hour = Math.floor(random() * 24);
    const weight = (BUSY[hour] ?? 0) * (isWeekend ? 0.35 : 1);
    day.setHours(hour, Math.floor(random() * 60), Math.floor(random() * 60), 0);
    const isPast = day.getTime() < endMs && day.getTime() > demoStartMs(endMs);
    if (isPast && random() * Math.max(...BUSY) < weight) return day.getTime();
  }
}

function pick<T>(random: () => number, list: readonly T[]): T {
  // The earlier ones are used more.
  const chosen = list[Math.floor(random() ** 1.6 * list.length)];
  if (chosen === undefined) throw new Error("nothing to pick from");
  return chosen;
}

/** One call as the relay books it: reserve, then settle with its log entry; some fail and cost nothing. */
async function book(
  ctx: Context,
  random: () => number,
  token: DemoToken,
  channel: DemoChannel,
): Promise<void> {
  const model = pick(random, channel.models);
  const price = ctx.prices().find(model, model, "default");
  if (!price) throw new Error(`${model} has no price`);
  const promptTokens = 400 + Math.floor(random() ** 2 * 24_000);
  const usage: Usage = {
    promptTokens,
    completionTokens: 60 + Math.floor(random() ** 2 * 3_000),
    cachedTokens: random() < 0.3 ? Math.floor(promptTokens / 2) : 0,
  };
  const requestId = newRequestId(ctx.clock.now());
  const parties = { requestId, userId: token.userId, tokenId: token.id };
  const told = { ...parties, channelId: channel.id, model, isStream: random() < 0.7 };
  if (random() < channel.failing) {
    tellFailure(ctx, told);
    return;
  }
  const amount = charge(usage, price);
  if ((await ctx.ledger.reserve({ ...parties, amount, modelName: model })) !== "reserved") return;
  const firstByteMs = Math.floor(channel.pace * (0.5 + random()));
  const elapsedMs = firstByteMs + usage.completionTokens * 9;
  await ctx.ledger.settle({
    ...parties,
    channelId: channel.id,
    charge: amount,
    usage,
    log: {
      content: explain(usage, price, amount),
      model_name: model,
      elapsed_time: elapsedMs,
      first_byte_time: firstByteMs,
      is_stream: told.isStream ? 1 : 0,
      estimated: 0,
      trail: "",
    },
  });
  tell(ctx, {
    ...told,
    ...usage,
    status: 200,
    fault: "",
    chargedQuota: Number(amount),
    elapsedMs,
    firstByteMs,
  });
}

type Told = Parameters<Context["events"]["relayDone"]>[0];

function tell(
  ctx: Context,
  call: Omit<Told, "endpoint" | "attempts" | "promptTokens" | "completionTokens"> & Partial<Told>,
): void {
  ctx.events.relayDone({ endpoint: "chat", attempts: 1, promptTokens: 0, completionTokens: 0, ...call });
}

function tellFailure(
  ctx: Context,
  call: Pick<Told, "requestId" | "userId" | "tokenId" | "channelId" | "model" | "isStream">,
): void {
  const code = "upstream_unavailable";
  ctx.events.channelFailed({
    requestId: call.requestId,
    channelId: call.channelId,
    code,
    status: 503,
    willRetry: false,
    detail: "",
  });
  tell(ctx, { ...call, status: 503, fault: code, chargedQuota: 0, elapsedMs: 2_000, firstByteMs: 0 });
}
