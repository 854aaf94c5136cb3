// Authentication: key → caller, in the family's order of checks (requirements W8.3). Keys are cached until a token or user is announced as
// changed; balances are never checked here, the ledger does that for every call.
import { parseCredential } from "#server/accounts/credential.ts";
import { isInRanges } from "#server/address.ts";
import type { Clock } from "#server/clock.ts";
import type { Coord } from "#server/coord/coord.ts";
import { createLocalLimit } from "#server/limits/limits.ts";
import { LIMITS } from "#server/limits/table.ts";
import { LocalError, localErrors } from "#server/relay/http/local-errors.ts";
import type { Secrets } from "#server/secrets.ts";
import type { Db } from "#server/store/db.ts";
import { findTokenByKey, type KeyOwner } from "#server/store/tokens.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";

export interface Caller {
  readonly tokenId: number;
  readonly tokenName: string;
  readonly userId: number;
  readonly username: string;
  readonly group: string;
  readonly isAdmin: boolean;
  /** Models the token may call; undefined = all of the group. */
  readonly models: ReadonlySet<string> | undefined;
  /** The channel id after the key, as written; undefined = none. */
  readonly pin: string | undefined;
}

export interface Authenticator {
  /** Finds the caller by the keys that its headers offer, best first. Throws: LocalError. */
  authenticate(offers: readonly string[], address: string): Caller | Promise<Caller>;
  /** Drops a caller's token from the cache and checks it again: why did the ledger refuse it? */
  explain(offers: readonly string[], address: string): Promise<RelayFault | undefined>;
  close(): void;
}

export interface AuthenticatorServices {
  readonly db: Db;
  readonly secrets: Secrets;
  readonly coord: Coord;
  readonly clock: Clock;
}

/** A token that was found usable, with the fields to check at each call. */
interface Entry {
  readonly caller: Caller;
  readonly expiredTime: number;
  readonly subnets: readonly string[];
}

const ADMIN_ROLE = 10;
const STATUS = { enabled: 1, expired: 3, exhausted: 4 } as const;
/** Keys cached at once; the oldest is dropped. */
const MAX_ENTRIES = 50_000;
/** A client can send any text; one longer than a key with a channel is not cached. */
const MAX_OFFER = 200;

export function createAuthenticator({ db, secrets, coord, clock }: AuthenticatorServices): Authenticator {
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
      forget((caller, id) => String(caller.userId) === id),
    ),
  ];

  const unknownKeys = createLocalLimit(LIMITS.unknownKey, clock);

  async function look(offer: string, address: string): Promise<Entry | RelayFault> {
    const { key, pin } = parseCredential(offer);
    if (key === "") return localErrors.keyMissing();
    const waitMs = unknownKeys.waitMs(address);
    if (waitMs > 0) return localErrors.tooMany(waitMs);
    const seenChanges = changes;
    const row = await findTokenByKey(db, secrets.hash(key));
    if (row === undefined || isHidden(row)) {
      unknownKeys.take(address);
      return localErrors.keyInvalid();
    }
    const fault = judge(row, clock.seconds());
    if (fault !== undefined) return fault;
    const entry = entryOf(row, pin);
    if (seenChanges === changes) remember(offer, entry);
    return entry;
  }

  function remember(offer: string, entry: Entry): void {
    if (offer.length > MAX_OFFER) return;
    entries.set(offer, entry);
    if (entries.size > MAX_ENTRIES) entries.delete(entries.keys().next().value ?? "");
  }

  async function tryOffer(offer: string, address: string): Promise<Caller | RelayFault> {
    const entry = await look(offer, address);
    return "kind" in entry ? entry : judgeEntry(entry, address, clock);
  }

  async function tryEach(offers: readonly string[], address: string): Promise<Caller> {
    let fault: RelayFault | undefined;
    for (const offer of offers) {
      const entry = entries.get(offer);
      const found = entry === undefined ? await tryOffer(offer, address) : judgeEntry(entry, address, clock);
      if (!("kind" in found)) return found;
      fault ??= found;
    }
    throw new LocalError(fault ?? localErrors.keyMissing());
  }

  return {
    authenticate(offers, address) {
      const entry = entries.get(offers[0] ?? "");
      const found = entry === undefined ? undefined : judgeEntry(entry, address, clock);
      // Mostly there is one offer, cached and still valid.
      return found === undefined || "kind" in found ? tryEach(offers, address) : found;
    },
    async explain(offers, address) {
      for (const offer of offers) entries.delete(offer);
      const [first = ""] = offers;
      const found = await tryOffer(first, address);
      return "kind" in found ? found : undefined;
    },
    close() {
      for (const stop of stops) stop();
    },
  };
}

/** The checks that depend on the moment and the client. */
function judgeEntry(
  { caller, expiredTime, subnets }: Entry,
  address: string,
  clock: Clock,
): Caller | RelayFault {
  if (expiredTime !== -1 && expiredTime < clock.seconds()) return localErrors.keyExpired();
  if (subnets.length > 0 && !isInRanges(address, subnets)) return localErrors.subnetRefused();
  return caller;
}

/** Disabled: the same answer as for a key that does not exist. */
function isHidden({ status }: KeyOwner): boolean {
  return status !== STATUS.enabled && status !== STATUS.exhausted && status !== STATUS.expired;
}

/** The checks on the rows themselves, in order; undefined = usable. */
function judge(row: KeyOwner, nowSec: number): RelayFault | undefined {
  if (row.status === STATUS.exhausted) return localErrors.keyExhausted();
  if (row.status === STATUS.expired) return localErrors.keyExpired();
  if (row.expired_time !== -1 && row.expired_time < nowSec) return localErrors.keyExpired();
  if (row.unlimited_quota === 0 && row.remain_quota <= 0) return localErrors.keyExhausted();
  if (row.user_status !== STATUS.enabled) return localErrors.userDisabled();
  return undefined;
}

function entryOf(row: KeyOwner, pin: string | undefined): Entry {
  const models = splitCsv(row.models);
  return {
    caller: {
      tokenId: row.id,
      tokenName: row.name,
      userId: row.user_id,
      username: row.username,
      group: row.group === "" ? "default" : row.group,
      isAdmin: row.role >= ADMIN_ROLE,
      models: models.length > 0 ? new Set(models) : undefined,
      pin,
    },
    expiredTime: row.expired_time,
    subnets: splitCsv(row.subnet),
  };
}

function splitCsv(text: string): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}
