// Who calls, and whether it may now: key → caller, in the family's order of checks (requirements W8.3), then the limits of its token and
// user. Keys are cached until a change is announced; balances are never checked here, the ledger does that for every call.

import { type ModelList, modelList } from "#contract/model-list.ts";
import { TokenStatus } from "#contract/token.ts";
import { UserStatus } from "#contract/user.ts";
import { parseCredential } from "#server/accounts/actors.ts";
import { type CallerPlan, payerOf, planGraceSec, readScope } from "#server/accounts/caller-scope.ts";
import { isUnboundRow } from "#server/accounts/may.ts";
import { isInRanges } from "#server/address.ts";
import type { Clock } from "#server/clock.ts";
import type { Coord } from "#server/coord/coord.ts";
import type { RenamedGroups } from "#server/coord/renamed-groups.ts";
import { createLocalLimit } from "#server/limits/limits.ts";
import { LIMITS } from "#server/limits/table.ts";
import { NEVER } from "#server/money/windows.ts";
import type { Options } from "#server/options.ts";
import { LocalError, localErrors } from "#server/relay/http/local-errors.ts";
import type { Secrets } from "#server/secrets.ts";
import type { Db } from "#server/store/db.ts";
import type { LimitRow } from "#server/store/limits.ts";
import { findTokenByOldKey, noteOldKey } from "#server/store/old-keys.ts";
import { findTokenByKey, type TokenWithOwner } from "#server/store/tokens.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";
import { SharedReads } from "./shared-reads.ts";

export interface Caller {
  readonly tokenId: number;
  readonly tokenName: string;
  /** The person. */
  readonly userId: number;
  /** The account that pays: the person's, or that of the token's team (requirements O01). */
  readonly payerId: number;
  /** The team that pays; absent = none does. */
  readonly teamId?: number | undefined;
  /** Of that team; 0 or absent = none. */
  readonly projectId?: number | undefined;
  readonly username: string;
  /** What the person reads, zh or en; "" = he chose none. */
  readonly language: string;
  /** The user's own, or the one that a plan lends, or the first that its token names and may use. */
  readonly group: string;
  /** Its token names its groups: the log tells which of them answered. */
  readonly isGroupNamed: boolean;
  /** The same in the further groups of its token, each with the limits there; nearly always none (requirements K15). */
  readonly fallbacks: readonly Caller[];
  readonly isAdmin: boolean;
  /** The payer owes what a refund or dispute could not take (requirements Y36). */
  readonly owes: boolean;
  /** Models the token may call; undefined = all of the group. */
  readonly models: ModelList | undefined;
  /** The limits that its calls pass, from the token's upwards; most have none. */
  readonly limits: readonly LimitRow[];
  /** The plans that may pay for its calls, the earliest end first; most have none. */
  readonly plans: readonly CallerPlan[];
  /** The channel id after the key, as written; undefined = none. */
  readonly pin: string | undefined;
}

/** Whether anything limits the calls of a caller, in one of the groups of its token: most have nothing. */
export function isLimited({ limits, fallbacks }: Caller, byOptions: { readonly isOff: boolean }): boolean {
  return !byOptions.isOff || limits.length > 0 || fallbacks.length > 0;
}

export interface Authenticator {
  /** Finds the caller by the keys that its headers offer, best first. Throws: LocalError. */
  authenticate(offers: readonly string[], address: string): Caller | Promise<Caller>;
  /** Finds whose key it is, also of one that is used up or expired: its owner may read what became of it. Throws: LocalError. */
  identify(offers: readonly string[], address: string): Promise<Caller>;
  /** Drops a caller's token from the cache and checks it again: why did the ledger refuse it? */
  explain(offers: readonly string[], address: string): Promise<RelayFault | undefined>;
  close(): void;
}

interface AuthenticatorServices {
  readonly db: Db;
  readonly secrets: Secrets;
  readonly coord: Coord;
  readonly clock: Clock;
  readonly options: Pick<Options, "get" | "onChange">;
  readonly renamedGroups: Pick<RenamedGroups, "otherNames">;
}

/** A token that was found usable, with the fields to check at each call. */
interface Entry {
  readonly caller: Caller;
  readonly expiredTime: number;
  readonly subnets: readonly string[];
  /** The key is the one before the last rotation. */
  readonly old: OldKey | undefined;
  /** Seconds: a plan begins or ends then, and it is read anew. */
  readonly until: number;
}

/** A key that was rotated out, in its overlap. Units: seconds. */
interface OldKey {
  readonly hash: string;
  readonly until: number;
  /** When its use was noted last. */
  noted: number;
}

/** How often the use of an old key is noted. Unit: seconds. */
const NOTE_SEC = 60;

/** Keys cached at once; the oldest is dropped. */
const MAX_ENTRIES = 50_000;
/** A client can send any text; one longer than a key with a channel is not cached. */
const MAX_OFFER = 200;

/** The tokens that were found usable, by what was offered; forgotten when a change of token or user is announced. */
function createKnown({ coord, options }: Pick<AuthenticatorServices, "coord" | "options">) {
  const entries = new Map<string, Entry>();
  // Rows that are being read while a change is announced are not cached.
  let changes = 0;
  const forget = (isMeant: (caller: Caller, payload: string) => boolean) => (payload: string) => {
    changes += 1;
    for (const [offer, { caller }] of entries)
      if (payload === "" || isMeant(caller, payload)) entries.delete(offer);
  };
  const stops = [
    coord.subscribe(
      "tokens",
      forget((caller, id) => String(caller.tokenId) === id),
    ),
    coord.subscribe(
      "users",
      forget(({ userId, payerId }, id) => String(userId) === id || String(payerId) === id),
    ),
  ];
  // Which groups a token may use stands in them.
  const forgetGroups = forget(({ isGroupNamed }) => isGroupNamed);
  stops.push(options.onChange(() => forgetGroups("options")));
  return {
    entries,
    changes: () => changes,
    /** `seenChanges` = the changes that were known when it was read. */
    remember(offer: string, entry: Entry, seenChanges: number) {
      if (seenChanges !== changes || offer.length > MAX_OFFER) return;
      entries.set(offer, entry);
      if (entries.size > MAX_ENTRIES) entries.delete(entries.keys().next().value ?? "");
    },
    close() {
      for (const stop of stops) stop();
    },
  };
}

export function createAuthenticator(services: AuthenticatorServices): Authenticator {
  const { clock } = services;
  const known = createKnown(services);
  const { entries } = known;
  const unknownKeys = createLocalLimit(LIMITS.unknownKey, clock);
  const reads = new SharedReads<Entry | RelayFault | undefined>(known.changes);

  /** What the rows say of an offer; undefined = no token has this key. Remembered, unless something changed meanwhile. */
  async function read(offer: string): Promise<Entry | RelayFault | undefined> {
    const { key, pin } = parseCredential(offer);
    const seenChanges = known.changes();
    const found = await ownerOf(services, key);
    if (found === undefined) return undefined;
    const fault = judge(found.row, clock.seconds());
    if (fault !== undefined) return fault;
    const entry = await readEntry(services, found, pin);
    if (entry === undefined) return localErrors.groupsWithdrawn();
    known.remember(offer, entry, seenChanges);
    return entry;
  }

  /** `how`: whether a read that runs already will do. */
  async function look(offer: string, address: string, how: "join" | "after"): Promise<Entry | RelayFault> {
    if (parseCredential(offer).key === "") return localErrors.keyMissing();
    const waitMs = unknownKeys.waitMs(address);
    if (waitMs > 0) return localErrors.tooMany(waitMs);
    const found = await reads[how](offer, () => read(offer));
    if (found !== undefined) return found;
    unknownKeys.take(address);
    return localErrors.keyInvalid();
  }

  async function tryOffer(
    offer: string,
    address: string,
    how: "join" | "after" = "join",
  ): Promise<Caller | RelayFault> {
    const entry = await look(offer, address, how);
    return "kind" in entry ? entry : judgeEntry(services, entry, address);
  }

  async function tryEach(offers: readonly string[], address: string): Promise<Caller> {
    let fault: RelayFault | undefined;
    for (const offer of offers) {
      const entry = stillSo(entries.get(offer), clock);
      const found =
        entry === undefined ? await tryOffer(offer, address) : judgeEntry(services, entry, address);
      if (!("kind" in found)) return found;
      fault ??= found;
    }
    throw new LocalError(fault ?? localErrors.keyMissing());
  }

  return {
    authenticate(offers, address) {
      const entry = stillSo(entries.get(offers[0] ?? ""), clock);
      const found = entry === undefined ? undefined : judgeEntry(services, entry, address);
      // Mostly there is one offer, cached and still valid.
      return found === undefined || "kind" in found ? tryEach(offers, address) : found;
    },
    async identify(offers, address) {
      let fault: LocalError | undefined;
      for (const offer of offers) {
        const found = await identify({ ...services, unknownKeys }, offer, address);
        if (!("kind" in found)) return found;
        fault ??= new LocalError(found);
      }
      throw fault ?? new LocalError(localErrors.keyMissing());
    },
    async explain(offers, address) {
      for (const offer of offers) entries.delete(offer);
      const [first = ""] = offers;
      const found = await tryOffer(first, address, "after");
      return "kind" in found ? found : undefined;
    },
    close: known.close,
  };
}

/** The caller of a key that need not be usable, judged but for what it has left. Read anew: few ask, and seldom. */
async function identify(
  { unknownKeys, ...services }: AuthenticatorServices & { unknownKeys: ReturnType<typeof createLocalLimit> },
  offer: string,
  address: string,
): Promise<Caller | RelayFault> {
  const { key, pin } = parseCredential(offer);
  if (key === "") return localErrors.keyMissing();
  const waitMs = unknownKeys.waitMs(address);
  if (waitMs > 0) return localErrors.tooMany(waitMs);
  const found = await ownerOf(services, key);
  if (found === undefined) {
    unknownKeys.take(address);
    return localErrors.keyInvalid();
  }
  const { row } = found;
  if (row.user_status !== UserStatus.enabled) return localErrors.userDisabled();
  const { caller, subnets } = await ownEntry(services, found, pin);
  return subnets.length > 0 && !isInRanges(address, subnets) ? localErrors.subnetRefused() : caller;
}

/** What is cached, unless a plan has begun or ended since. */
function stillSo(entry: Entry | undefined, clock: Clock): Entry | undefined {
  return entry === undefined || entry.until === NEVER || clock.seconds() < entry.until ? entry : undefined;
}

interface Found {
  readonly row: TokenWithOwner;
  readonly old: OldKey | undefined;
}

/** Whose key it is, also in the overlap after a rotation (requirements K12); undefined = no token that may be told of has it. */
async function ownerOf(
  { db, secrets, clock }: Omit<AuthenticatorServices, "coord">,
  key: string,
): Promise<Found | undefined> {
  const hash = secrets.hash(key);
  const row = await findTokenByKey(db, hash);
  if (row !== undefined) return isHidden(row) ? undefined : { row, old: undefined };
  const before = await findTokenByOldKey(db, hash);
  if (before === undefined || before.key_until <= clock.seconds() || isHidden(before)) return undefined;
  return { row: before, old: { hash, until: before.key_until, noted: 0 } };
}

/** The checks that depend on the moment and the client. The use of an old key is noted, for who rotates to see it. */
function judgeEntry(
  { db, clock }: Pick<AuthenticatorServices, "db" | "clock">,
  { caller, expiredTime, subnets, old }: Entry,
  address: string,
): Caller | RelayFault {
  const nowSec = clock.seconds();
  if (old !== undefined && old.until <= nowSec) return localErrors.keyInvalid();
  if (old !== undefined && nowSec - old.noted >= NOTE_SEC) {
    old.noted = nowSec;
    // What cannot be noted now is noted a minute later.
    void noteOldKey(db, old.hash, nowSec).catch(() => undefined);
  }
  if (expiredTime !== -1 && expiredTime < nowSec) return localErrors.keyExpired();
  if (subnets.length > 0 && !isInRanges(address, subnets)) return localErrors.subnetRefused();
  return caller;
}

/** Disabled: the same answer as for a key that does not exist. */
function isHidden({ status }: TokenWithOwner): boolean {
  return status !== TokenStatus.enabled && status !== TokenStatus.exhausted && status !== TokenStatus.expired;
}

/** The checks on the rows themselves, in order; undefined = usable. */
function judge(row: TokenWithOwner, nowSec: number): RelayFault | undefined {
  if (row.status === TokenStatus.exhausted) return localErrors.keyExhausted();
  if (row.status === TokenStatus.expired) return localErrors.keyExpired();
  if (row.expired_time !== -1 && row.expired_time < nowSec) return localErrors.keyExpired();
  if (row.unlimited_quota === 0 && row.remain_quota <= 0) return localErrors.keyExhausted();
  if (row.user_status !== UserStatus.enabled) return localErrors.userDisabled();
  if (row.wallet_id === 0) return undefined;
  // The member who holds the token has left meanwhile (requirements O08).
  if (row.seat_id === null) return localErrors.notInTeam();
  return row.wallet_status === UserStatus.enabled ? undefined : localErrors.teamDisabled();
}

/** Reads what holds for the calls of a token now; undefined = it may use none of its groups any more. */
async function readEntry(
  { db, clock, options, renamedGroups }: AuthenticatorServices,
  found: Found,
  pin: string | undefined,
): Promise<Entry | undefined> {
  const tables = {
    usable: options.get("UserUsableGroups"),
    ratios: options.get("GroupRatio"),
    otherNames: renamedGroups.otherNames,
  };
  const graceSec = planGraceSec(options);
  const moment = { nowSec: clock.seconds(), graceSec, tables };
  const { until, groups, plans } = await readScope(db, found.row, moment);
  const members: Caller[] = [];
  for (const { group, limits } of groups) members.push(callerOf(found.row, { pin, plans, group, limits }));
  const [first, ...fallbacks] = members;
  if (first === undefined) return undefined;
  const caller = fallbacks.length === 0 ? first : { ...first, fallbacks };
  const { expired_time: expiredTime, subnet } = found.row;
  return { caller, expiredTime, subnets: splitCsv(subnet), old: found.old, until };
}

/** The same for who only asks what became of a key: where all its groups are withdrawn, as in that of its user. */
async function ownEntry(
  services: AuthenticatorServices,
  found: Found,
  pin: string | undefined,
): Promise<Pick<Entry, "caller" | "subnets">> {
  const plain = { ...found, row: { ...found.row, groups: "" } };
  const entry = (await readEntry(services, found, pin)) ?? (await readEntry(services, plain, pin));
  if (entry === undefined) throw new LocalError(localErrors.groupsWithdrawn());
  return entry;
}

const NO_FALLBACKS: readonly Caller[] = [];

function callerOf(
  row: TokenWithOwner,
  { pin, limits, plans, group }: Pick<Caller, "pin" | "limits" | "plans" | "group">,
): Caller {
  return {
    tokenId: row.id,
    tokenName: row.name,
    userId: row.user_id,
    payerId: payerOf(row),
    teamId: row.team_id ?? undefined,
    projectId: row.project_id,
    username: row.username,
    language: row.language,
    group,
    isGroupNamed: row.groups !== "",
    fallbacks: NO_FALLBACKS,
    isAdmin: isUnboundRow(row),
    owes: (row.wallet_debt ?? row.user_debt) > 0,
    models: modelList(splitCsv(row.models)),
    pin,
    limits,
    plans,
  };
}

function splitCsv(text: string): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}
