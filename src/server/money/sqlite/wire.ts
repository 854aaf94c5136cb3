// How a batch travels to SQLite's writer thread and its outcomes back: as one JSON text. Threads copy a text in one go; the same
// objects copied one property at a time cost several times as much on both sides. Reserve and settle, nearly all there is, go as
// short lists.
import type {
  Batch,
  LimitRefusal,
  Operation,
  Outcome,
  PlanRefusal,
  ReserveOrder,
  ReserveVerdict,
  SettlementLog,
  WindowRest,
} from "#server/money/operations.ts";
import type { LimitRef } from "#server/money/rows.ts";

/** An amount that JSON can hold exactly: a number, or a text when it is too large for one. */
type Amount = number | string;

type LogWire = readonly [
  content: string,
  model: string,
  elapsedMs: number,
  firstByteMs: number,
  isStream: number,
  estimated: number,
  trail: string,
  /** Of the few calls that have some, and before what follows. */
  kinds?: string,
  priceVersion?: number,
];
type ReserveWire = readonly [kind: 0, id: string, user: number, token: number, amount: Amount, model: string];
/** The same of a call that is limited: the zone, then limit and holder of each in one text; earlier programs wrote a number each. */
type LimitedWire = readonly [...ReserveWire, zone: string, ...limits: readonly [string] | readonly number[]];
type SettleWire = readonly [
  kind: 1,
  id: string,
  user: number,
  token: number,
  channel: number,
  charge: Amount,
  prompt: number,
  completion: number,
  cached: number,
  log: LogWire | null,
];
/** The same of a call with one of several keys. */
type KeyedSettleWire = readonly [...SettleWire, key: number];
/** The same with what it cost; key 0 = the channel has one. */
type CostedSettleWire = readonly [...SettleWire, key: number, cost: number, saved: number, group: string];
/** The same of a call that a team pays for; cost null = not known. */
type MemberSettleWire = readonly [
  ...SettleWire,
  key: number,
  cost: number | null,
  saved: number,
  group: string,
  member: number,
];
/** Any other operation: its own JSON, so that the text around it needs no second look at each value. */
type OperationWire =
  | ReserveWire
  | LimitedWire
  | SettleWire
  | KeyedSettleWire
  | CostedSettleWire
  | MemberSettleWire
  | string;
type BatchWire = readonly [nowSec: number, node: string, operations: readonly OperationWire[]];
type VerdictWire = Exclude<ReserveVerdict, LimitRefusal | PlanRefusal>;
/** The verdict on a limited call, then five values of each of its limits. */
type RestsWire = readonly [verdict: VerdictWire, ...rests: Amount[]];
/** A verdict, a booking, or any other outcome as its own JSON. */
type OutcomeWire =
  | VerdictWire
  | RestsWire
  | readonly [charged: Amount, shortfall: Amount]
  | readonly [other: string];

function amount(value: bigint): Amount {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}

/** An amount among the values of any other operation or outcome. */
const AMOUNT_KEY = "$amount";

function writeAmount(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? { [AMOUNT_KEY]: String(value) } : value;
}

function readAmount(_: string, value: unknown): unknown {
  const isAmount = typeof value === "object" && value !== null && AMOUNT_KEY in value;
  return isAmount ? BigInt(String(value[AMOUNT_KEY])) : value;
}

function encodeReserve(order: ReserveOrder): ReserveWire | LimitedWire {
  const { requestId, userId, tokenId, limits = NO_LIMITS, zone = "" } = order;
  const asked = amount(order.amount);
  if (limits.length === 0) return [0, requestId, userId, tokenId, asked, order.modelName];
  return [0, requestId, userId, tokenId, asked, order.modelName, zone, limitsText(limits)];
}

const NO_LIMITS: readonly LimitRef[] = [];

/** Of the lists that callers have in memory: their calls name the same one, and a text is written faster than its numbers. */
const texts = new WeakMap<readonly LimitRef[], string>();

function limitsText(limits: readonly LimitRef[]): string {
  const known = texts.get(limits);
  if (known !== undefined) return known;
  const text = limits.map(({ limitId, holder }) => `${limitId} ${holder}`).join(" ");
  texts.set(limits, text);
  return text;
}

/** What was read of texts: calls of one caller have the same. */
const readTexts = new Map<string, readonly LimitRef[]>();
const MOST_READ = 1_000;

function readLimits(text: string): readonly LimitRef[] {
  const known = readTexts.get(text);
  if (known !== undefined) return known;
  if (readTexts.size >= MOST_READ) readTexts.clear();
  const limits = limitsOf(text.split(" ").map(Number));
  readTexts.set(text, limits);
  return limits;
}

function limitsOf(numbers: readonly number[]): readonly LimitRef[] {
  const limits = [];
  for (let at = 0; at < numbers.length; at += 2)
    limits.push({ limitId: numbers[at] ?? 0, holder: numbers[at + 1] ?? 0 });
  return limits;
}

function decodeReserve(wire: ReserveWire | LimitedWire): Operation {
  const [, requestId, userId, tokenId, reserved, modelName, zone, text, ...numbers] = wire;
  const plain = { kind: "reserve", requestId, userId, tokenId, amount: BigInt(reserved), modelName } as const;
  if (zone === undefined || text === undefined) return plain;
  return {
    ...plain,
    zone,
    limits: typeof text === "string" ? readLimits(text) : limitsOf([text, ...numbers]),
  };
}

function encodeOperation(operation: Operation): OperationWire {
  const { requestId, userId, tokenId } = operation;
  if (operation.kind === "reserve" && operation.plans === undefined && operation.isKept === undefined)
    return encodeReserve(operation);
  if (operation.kind !== "settle") return JSON.stringify(operation, writeAmount);
  const { channelId, charge, usage, log } = operation;
  const { promptTokens, completionTokens, cachedTokens } = usage;
  const { keyId, cost, memberId } = operation;
  const wire: SettleWire = [
    1,
    requestId,
    userId,
    tokenId,
    channelId,
    amount(charge),
    promptTokens,
    completionTokens,
    cachedTokens,
    log === null ? null : encodeLog(log),
  ];
  if (memberId !== undefined)
    return [...wire, keyId ?? 0, cost?.cost ?? null, cost?.saved ?? 0, cost?.group ?? "", memberId];
  if (cost !== undefined) return [...wire, keyId ?? 0, cost.cost, cost.saved, cost.group];
  return keyId === undefined ? wire : [...wire, keyId];
}

function encodeLog(log: SettlementLog): LogWire {
  const wire = [
    log.content,
    log.model_name,
    log.elapsed_time,
    log.first_byte_time,
    log.is_stream,
    log.estimated,
    log.trail,
  ] as const;
  const { token_kinds: kinds = "", price_version: version } = log;
  if (version !== undefined) return [...wire, kinds, version];
  return kinds === "" ? wire : [...wire, kinds];
}

function decodeLog(wire: LogWire | null): SettlementLog | null {
  if (wire === null) return null;
  const [content, model_name, elapsed_time, first_byte_time, is_stream, estimated, trail, kinds, version] =
    wire;
  const log = { content, model_name, elapsed_time, first_byte_time, is_stream, estimated, trail };
  return {
    ...log,
    ...(kinds && { token_kinds: kinds }),
    ...(version !== undefined && { price_version: version }),
  };
}

function decodeOperation(wire: OperationWire): Operation {
  // What encodeOperation wrote.
  if (typeof wire === "string") return JSON.parse(wire, readAmount) as Operation;
  if (wire[0] !== 0 && wire[0] !== 1) throw new Error("unknown form of an operation");
  if (wire[0] === 0) return decodeReserve(wire);
  const [
    ,
    requestId,
    userId,
    tokenId,
    channelId,
    charge,
    promptTokens,
    completionTokens,
    cachedTokens,
    log,
    keyId = 0,
    cost = null,
    saved = 0,
    group = "",
    memberId,
  ] = wire;
  return {
    kind: "settle",
    requestId,
    userId,
    tokenId,
    channelId,
    ...(keyId !== 0 && { keyId }),
    charge: BigInt(charge),
    usage: { promptTokens, completionTokens, cachedTokens },
    ...(memberId !== undefined && { memberId }),
    ...(cost !== null && { cost: { cost, saved, group } }),
    log: decodeLog(log),
  };
}

/**
 * The form of a batch's text, and what the rules decide by it: a journal is read by later programs too. A change of either that an
 * older batch would feel needs a new number, and `decodeBatch` and the rules go on to know the old one (docs/decisions/025).
 */
export const FORM = 1;

/** In place of a batch: books nothing, and stores in the tables what the journal holds (writer.ts). */
export const CHECKPOINT = "";

/** A batch as the text that goes to the thread and into the journal. */
export function encodeBatch({ nowSec, node, operations }: Batch): string {
  const wire: BatchWire = [nowSec, node, operations.map(encodeOperation)];
  return JSON.stringify(wire);
}

/** Reads a text of `encodeBatch`, also one that an older program left in the journal (decision 025). */
export function decodeBatch(text: string): Batch {
  // What encodeBatch wrote.
  const [nowSec, node, operations] = JSON.parse(text) as BatchWire;
  return { nowSec, node, operations: operations.map(decodeOperation) };
}

/** How many values a limit has in a RestsWire. */
const REST_SIZE = 5;

function encodeRests(verdict: VerdictWire, rests: readonly WindowRest[]): RestsWire {
  const values: Amount[] = [];
  for (const { limitId, isCalls, amount: allowed, left, resetsAt } of rests)
    values.push(limitId, Number(isCalls), amount(allowed), amount(left), resetsAt);
  return [verdict, ...values];
}

/** A booking has two values. */
function isRests(wire: Exclude<OutcomeWire, string>): wire is RestsWire {
  return wire.length > 2;
}

function decodeRests(wire: RestsWire): Outcome {
  const [verdict] = wire;
  const rests: WindowRest[] = [];
  for (let at = 1; at < wire.length; at += REST_SIZE) {
    rests.push({
      limitId: Number(wire[at]),
      isCalls: wire[at + 1] === 1,
      amount: BigInt(wire[at + 2] ?? 0),
      left: BigInt(wire[at + 3] ?? 0),
      resetsAt: Number(wire[at + 4]),
    });
  }
  return { kind: "reserve", verdict, rests };
}

function encodeOutcome(outcome: Outcome): OutcomeWire {
  if (outcome.kind === "reserve" && typeof outcome.verdict === "string") {
    const { verdict, rests } = outcome;
    if (rests === undefined) return verdict;
    // Without any it would read like what is JSON of its own.
    if (rests.length > 0) return encodeRests(verdict, rests);
  }
  if (outcome.kind !== "settle") return [JSON.stringify(outcome, writeAmount)];
  return [amount(outcome.booking.charged), amount(outcome.booking.shortfall)];
}

function decodeOutcome(wire: OutcomeWire): Outcome {
  if (typeof wire === "string") return { kind: "reserve", verdict: wire };
  if (isRests(wire)) return decodeRests(wire);
  // What encodeOutcome wrote.
  if (wire.length === 1) return JSON.parse(wire[0], readAmount) as Outcome;
  const [charged, shortfall] = wire;
  return { kind: "settle", booking: { charged: BigInt(charged), shortfall: BigInt(shortfall) } };
}

/** Undefined = the outcome in this place is told another time. */
export function encodeOutcomes(outcomes: readonly (Outcome | undefined)[]): string {
  return JSON.stringify(outcomes.map((outcome) => (outcome === undefined ? 0 : encodeOutcome(outcome))));
}

/** Reads a text of `encodeOutcomes`. */
export function decodeOutcomes(text: string): readonly (Outcome | undefined)[] {
  // What encodeOutcomes wrote.
  return (JSON.parse(text) as readonly (OutcomeWire | 0)[]).map((wire) =>
    wire === 0 ? undefined : decodeOutcome(wire),
  );
}
