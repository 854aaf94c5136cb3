// What calls come to by hours: along all dimensions of the statistics at once, and from that along each. Pure, part of rules.ts.
import type { Bought } from "./bought.ts";
import type { HourSums, RollupPart, SumPart } from "./rows.ts";

const HOUR_SEC = 3600;
/** So many parts are searched faster than a name is made. */
const FEW = 4;

/** Sums along all dimensions, keyed by names that contain all of them. */
export type Rollups = Map<string, RollupPart>;

/** The parts of a booked call that statistics are made of. */
export interface BookedCall {
  readonly userId: number;
  /** 0 = without a token. */
  readonly tokenId: number;
  readonly tokenName: string;
  readonly modelName: string;
  readonly channelId: number;
  readonly charged: bigint;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Of a channel with several keys; 0 = it has one. */
  readonly keyId: number;
  /** The person, where a team pays; 0 = the user is. */
  readonly memberId: number;
  /** Of the team that pays, as its token says; 0 = none. */
  readonly projectId: number;
  readonly cachedTokens: number;
  /** Billionths of a dollar; -1 = not known. */
  readonly cost: number;
  readonly saved: number;
  /** "" = not known. */
  readonly group: string;
  /** What its quota was bought for, as far as that is known; absent = not at all. */
  readonly earned?: Bought | undefined;
}

/** Adds a call to the sums of its hour. */
export function addCall(rollups: Rollups, call: BookedCall, createdSec: number): void {
  const part = partOf(rollups, call, createdSec - (createdSec % HOUR_SEC));
  addOnce(part, call);
  if (call.keyId !== 0) addKey(part, call);
  if (call.memberId !== 0) addMember(part, call);
  if (call.projectId !== 0) addProject(part, call);
  if (call.group !== "") addGroup(part, call);
}

function addOnce(sums: HourSums, call: BookedCall): void {
  sums.quota += call.charged;
  sums.promptTokens += call.promptTokens;
  sums.completionTokens += call.completionTokens;
  sums.requests += 1;
  sums.cachedTokens += call.cachedTokens;
  sums.saved += call.saved;
  if (call.cost < 0) return;
  sums.cost += call.cost;
  sums.costedQuota += call.charged;
  const { earned } = call;
  if (earned === undefined) return;
  sums.pricedQuota += earned.quota;
  sums.givenCost += costOfGiven(call.cost, call.charged, earned.given);
  sums.income += Number(earned.income);
  sums.fees += Number(earned.fees);
  sums.commission += Number(earned.commission);
}

function costOfGiven(cost: number, charged: bigint, given: bigint): number {
  return given === 0n ? 0 : Math.round((cost * Number(given)) / Number(charged));
}

/** Adds a call to the sums of its key within a part. */
function addKey(part: RollupPart, call: BookedCall): void {
  part.keys ??= new Map();
  addOnce(within(part.keys, call.keyId, part.hour), call);
}

/** Adds a call to the sums of who called within a part. */
function addMember(part: RollupPart, call: BookedCall): void {
  part.members ??= new Map();
  addOnce(within(part.members, call.memberId, part.hour), call);
}

/** Adds a call to the sums of its project within a part. */
function addProject(part: RollupPart, call: BookedCall): void {
  part.projects ??= new Map();
  addOnce(within(part.projects, call.projectId, part.hour), call);
}

/** Adds a call to the sums of its group within a part. */
function addGroup(part: RollupPart, call: BookedCall): void {
  part.groups ??= new Map();
  addOnce(within(part.groups, call.group, part.hour), call);
}

function within<Id>(all: Map<Id, HourSums>, id: Id, hour: number): HourSums {
  const known = all.get(id);
  if (known !== undefined) return known;
  const sums = noSums(hour);
  all.set(id, sums);
  return sums;
}

/** Where a call belongs; a new part when there is none. */
function partOf(rollups: Rollups, call: BookedCall, hour: number): RollupPart {
  const { userId, tokenId, tokenName, modelName, channelId } = call;
  if (rollups.size <= FEW) {
    for (const part of rollups.values()) {
      const isSameWay = part.tokenId === tokenId && part.channelId === channelId && part.hour === hour;
      const isSameName = part.modelName === modelName && part.tokenName === tokenName;
      if (isSameWay && isSameName && part.userId === userId) return part;
    }
  }
  // No name has NUL in it, names may have line breaks.
  const name = `${hour} ${userId} ${tokenId} ${channelId} ${modelName}\0${tokenName}`;
  const known = rollups.get(name);
  if (known) return known;
  const part = { userId, tokenId, tokenName, modelName, channelId, ...noSums(hour) };
  rollups.set(name, part);
  return part;
}

/** Adds the sums of some calls to those of the calls before. */
export function addRollups(all: Rollups, more: ReadonlyMap<string, RollupPart>): void {
  for (const [name, part] of more) {
    const known = all.get(name);
    if (known === undefined) all.set(name, part);
    else addAll(known, part);
  }
}

function addAll(known: RollupPart, part: RollupPart): void {
  addPart(known, part);
  for (const name of ["keys", "members", "projects"] as const)
    for (const [id, sums] of part[name] ?? []) {
      known[name] ??= new Map();
      addPart(within(known[name], id, sums.hour), sums);
    }
  for (const [group, sums] of part.groups ?? []) {
    known.groups ??= new Map();
    addPart(within(known.groups, group, sums.hour), sums);
  }
}

/** The key of `token-model`: the account is in it, since one without a token is many accounts' and a token may move to another one. */
export function tokenModelKey(
  userId: number,
  { tokenId, modelName }: Pick<BookedCall, "tokenId" | "modelName">,
): string {
  return `${userId} ${tokenId}\n${modelName}`;
}

/** The sums along all dimensions as they are stored, for one statement that must not meet a row twice: tokens of one name are one row. */
export function rollupRows(rollups: Iterable<RollupPart>): Iterable<RollupPart> {
  const rows = new Map<string, RollupPart>();
  for (const part of rollups) {
    const { userId, tokenName, modelName, channelId, hour } = part;
    const name = `${hour} ${userId} ${channelId} ${modelName}\0${tokenName}`;
    const known = rows.get(name);
    if (known === undefined) {
      rows.set(name, part);
      continue;
    }
    const row = { ...known };
    addPart(row, part);
    rows.set(name, row);
  }
  return rows.values();
}

/** The sums along each dimension. */
export function sumsOf(rollups: Iterable<RollupPart>): Iterable<SumPart> {
  const sums = new Map<string, SumPart>();
  for (const part of rollups) {
    const { userId, tokenName, modelName, channelId, hour } = part;
    const addAlong = (dimension: SumPart["dimension"], key: string, more: HourSums = part) => {
      const name = `${hour}\n${dimension}\n${key}`;
      const sum = sums.get(name) ?? { dimension, key, ...noSums(hour) };
      sums.set(name, sum);
      addPart(sum, more);
    };
    addAlong("all", "");
    addAlong("user", String(userId));
    addAlong("token", tokenName);
    addAlong("model", modelName);
    addAlong("channel", String(channelId));
    addAlong("model-channel", `${modelName}\n${channelId}`);
    addAlong("token-model", tokenModelKey(userId, part));
    for (const [keyId, sums] of part.keys ?? []) addAlong("key", String(keyId), sums);
    for (const [id, sums] of part.projects ?? []) addAlong("project", String(id), sums);
    for (const [id, sums] of part.members ?? []) addAlong("member", `${userId} ${id}`, sums);
    for (const [group, sums] of part.groups ?? []) addAlong("group", group, sums);
  }
  return sums.values();
}

function addPart(sum: HourSums, part: HourSums): void {
  sum.quota += part.quota;
  sum.promptTokens += part.promptTokens;
  sum.completionTokens += part.completionTokens;
  sum.requests += part.requests;
  sum.cost += part.cost;
  sum.costedQuota += part.costedQuota;
  sum.cachedTokens += part.cachedTokens;
  sum.saved += part.saved;
  sum.pricedQuota += part.pricedQuota;
  sum.givenCost += part.givenCost;
  sum.income += part.income;
  sum.fees += part.fees;
  sum.commission += part.commission;
}

function noSums(hour: number): HourSums {
  const calls = { quota: 0n, promptTokens: 0, completionTokens: 0, requests: 0 };
  const earned = { pricedQuota: 0n, givenCost: 0, income: 0, fees: 0, commission: 0 };
  return { hour, ...calls, cost: 0, costedQuota: 0n, cachedTokens: 0, saved: 0, ...earned };
}
