// Which channels can serve a model for a group: an in-memory snapshot of the table, rebuilt when a channel changes. It
// never chooses among them and never calls one.
import { ChannelStatus } from "#contract/channel.ts";
import { type Provider, providerOf } from "#contract/providers.ts";
import { withoutEndSlashes } from "#contract/wire.ts";
import type { Coord } from "#server/coord/coord.ts";
import { follow } from "#server/coord/follow.ts";
import { loopbackPortOf } from "#server/egress/policy.ts";
import type { Events } from "#server/events.ts";
import { hideSecret } from "#server/log/texts.ts";
import { channelCosts } from "#server/money/channel-costs.ts";
import { openKey, type Secrets } from "#server/secrets.ts";
import { listChannelCaps } from "#server/store/channel-limits.ts";
import { listLiveChannels, type SealedChannel } from "#server/store/channels.ts";
import type { Db } from "#server/store/db.ts";
import type { Rewriter } from "#server/upstream/call/call.ts";
import { callTimes } from "./call-times.ts";
import { type Caps, capsOf } from "./channel-caps.ts";
import type { KeyRing, LiveChannel } from "./live-channel.ts";
import { filledProxy, openProxy, ownerOf } from "./proxies.ts";

/** What decides where a channel's calls go, and whether the provider accepts them. */
const CALLED_BY = [
  "type",
  "key",
  "baseUrl",
  "other",
  "config",
  "proxy",
  "reuse",
] as const satisfies readonly (keyof LiveChannel)[];

/** Whether a channel has changed so that its earlier calls say nothing about the next one. */
function isRenewed(before: LiveChannel, now: LiveChannel | undefined): boolean {
  const wasOff = before.status !== ChannelStatus.enabled;
  return !isAsCalled(before, now) || (wasOff && now?.status === ChannelStatus.enabled);
}

/** Whether the outcome of a call still says something about its channel: it has the key and address that were used. Pure. */
export function isAsCalled(called: LiveChannel, now: LiveChannel | undefined): boolean {
  const before = called.base ?? called;
  if (now === undefined) return false;
  if (called.keyId !== 0 && now.keys?.isAsCalled(called) !== true) return false;
  if (now === before) return true;
  const hasSeveral = before.keys !== undefined && now.keys !== undefined;
  return CALLED_BY.every((field) => before[field] === now[field] || (hasSeveral && field === "key"));
}

/** A channel with the key that calls of the server itself use: of several the first that is enabled. */
export function withKey(channel: LiveChannel): LiveChannel {
  return channel.keyId === 0 ? (channel.keys?.first(channel) ?? channel) : channel;
}

/** Where a channel's calls go, for what depends on that; "" = its address cannot be read. */
export function originOf({ baseUrl, provider }: Pick<LiveChannel, "baseUrl" | "provider">): string {
  const address = baseUrl || provider.baseUrl;
  return URL.canParse(address) ? new URL(address).origin : "";
}

export interface Candidates {
  /** Enabled channels that serve the model (by list or by mapping) for the group. Order: priority, highest first. */
  find(group: string, model: string): readonly LiveChannel[];
  /** Any channel that is not deleted, enabled or not. */
  byId(id: number): LiveChannel | undefined;
  /** All of them, enabled or not. */
  all(): readonly LiveChannel[];
  /** All models an enabled channel serves for the group. Order: by name. */
  models(group: string): readonly string[];
  /**
   * A rebuild that has begun because something changed; await it to see the change. undefined = none is pending. Never rejects: after
   * a failed rebuild the old snapshot serves until the next one succeeds.
   */
  readonly pending: Promise<void> | undefined;
  /** Some channel has several keys. */
  hasRings(): boolean;
  reload(): Promise<void>;
  /** Calls back for each channel that has got another key or address, was enabled again, or is gone. Returns a function that stops it. */
  onRenewed(listener: (id: number) => void): () => void;
  close(): void;
}

export interface CandidatesParts {
  readonly db: Db;
  readonly secrets: Secrets;
  readonly coord: Coord;
  readonly events: Events;
  /** Other names of the same group, of one that was renamed a moment ago. */
  readonly otherNames?: (group: string) => readonly string[];
}

/** Sealed → open. */
type Texts = Map<string, string>;

/** What has been opened, by its seal. */
interface OpenTexts {
  readonly keys: Texts;
  readonly proxies: Texts;
}

interface Opening {
  /** Of the last reading, and of this one. */
  readonly known: OpenTexts;
  readonly next: OpenTexts;
  readonly ring: KeyRing | undefined;
  readonly rewrite: Rewriter | Error | undefined;
  readonly caps: Caps;
}

interface Snapshot {
  readonly hasRings: boolean;
  readonly byId: ReadonlyMap<number, LiveChannel>;
  readonly byGroup: ReadonlyMap<string, ReadonlyMap<string, readonly LiveChannel[]>>;
}

const NONE: readonly LiveChannel[] = [];

/** Reads the table once and keeps the snapshot current. */
export async function createCandidates({
  db,
  secrets,
  coord,
  events,
  otherNames = () => [],
}: CandidatesParts): Promise<Candidates> {
  const listeners = new Set<(id: number) => void>();
  let known: OpenTexts = { keys: new Map(), proxies: new Map() };
  let snapshot: Snapshot = { byId: new Map(), byGroup: new Map(), hasRings: false };
  let running: Promise<void> | undefined;
  let isStale = false;

  async function load(): Promise<void> {
    try {
      do {
        isStale = false;
        const rows = await listLiveChannels(db);
        const rings = await ringsOf({ db, secrets, events }, rows, snapshot);
        const rewrites = await rewritesOf(secrets, rows, snapshot);
        const caps = capsOf(await listChannelCaps(db));
        const next = { keys: new Map<string, string>(), proxies: new Map<string, string>() };
        const before = snapshot;
        const open = (row: SealedChannel) => {
          const { id } = row;
          const opening = { known, next, ring: rings?.get(id), rewrite: rewrites?.get(id), caps };
          return openChannel({ secrets, events }, row, opening) ?? [];
        };
        snapshot = snapshotOf(rows.flatMap(open));
        known = next;
        tellRenewed(before, snapshot, listeners);
      } while (isStale);
    } finally {
      // Here, not when the promise settles: a change in between would be missed.
      running = undefined;
    }
  }
  function reload(): Promise<void> {
    isStale = true;
    running ??= load();
    return running;
  }

  function ofGroup(group: string) {
    const { byGroup } = snapshot;
    const found = byGroup.get(group);
    if (found !== undefined) return found;
    const other = otherNames(group).find((name) => byGroup.has(name));
    return other === undefined ? undefined : byGroup.get(other);
  }
  const stop = follow(coord, {
    topic: "channels",
    read: reload,
    onError: (error) => events.backgroundFailed({ task: "reload channels", error }),
  });
  await reload();
  return {
    find: (group, model) => ofGroup(group)?.get(model) ?? NONE,
    byId: (id) => snapshot.byId.get(id),
    all: () => [...snapshot.byId.values()],
    models: (group) => [...(ofGroup(group)?.keys() ?? [])].toSorted(),
    hasRings: () => snapshot.hasRings,
    get pending() {
      return running?.catch(() => undefined);
    },
    reload,
    onRenewed(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: stop,
  };
}

/** The channel of a row; undefined = its type is unknown or it cannot be opened, so that nothing can call it. */
function openChannel(
  { secrets, events }: Pick<CandidatesParts, "secrets" | "events">,
  row: SealedChannel,
  { known, next, ring, rewrite, caps }: Opening,
): LiveChannel | undefined {
  const provider = providerOf(row.type);
  if (provider === undefined) return undefined;
  try {
    if (rewrite instanceof Error) throw rewrite;
    const seal = `${row.key_hash} ${row.key_sealed}`;
    const key = known.keys.get(seal) ?? openKey(secrets, row, "channels.key");
    next.keys.set(seal, key);
    // Again with each reading: the logger forgets secrets that have not been named for the longest time.
    hideSecret(key);
    const proxy = known.proxies.get(row.proxy_sealed) ?? openProxy(secrets, row.proxy_sealed);
    next.proxies.set(row.proxy_sealed, proxy);
    return liveChannel(row, provider, { key, proxy, ring, rewrite, caps });
  } catch (error) {
    events.backgroundFailed({ task: `open channel ${row.id}`, error });
    return undefined;
  }
}

function tellRenewed({ byId }: Snapshot, now: Snapshot, listeners: ReadonlySet<(id: number) => void>): void {
  for (const [id, before] of byId)
    if (isRenewed(before, now.byId.get(id))) for (const listener of listeners) listener(id);
}

/** The keys of the channels that have several: read again only where they changed. undefined = there is no such channel. */
async function ringsOf(
  parts: Pick<CandidatesParts, "db" | "secrets" | "events">,
  rows: readonly SealedChannel[],
  snapshot: Snapshot,
): Promise<ReadonlyMap<number, KeyRing> | undefined> {
  const several = rows.filter(({ keys_version: version }) => version > 0);
  if (several.length === 0) return undefined;
  const { ringsFor } = await import("./key-rings.ts");
  const before = new Map([...snapshot.byId].map(([id, { keys }]) => [id, keys]));
  return ringsFor(parts, several, before);
}

/** The rules of the channels that have some; undefined = none has. */
async function rewritesOf(
  secrets: Secrets,
  rows: readonly SealedChannel[],
  { byId }: Snapshot,
): Promise<ReadonlyMap<number, Rewriter | Error> | undefined> {
  const ruled = rows.filter(({ config }) => config.includes('"rewrite"') || config.includes('"status_map"'));
  if (ruled.length === 0) return undefined;
  const { rewritesFor } = await import("./rewrites.ts");
  return rewritesFor(secrets, ruled, byId);
}

interface Opened {
  readonly key: string;
  readonly proxy: string;
  readonly ring: KeyRing | undefined;
  readonly rewrite: Rewriter | undefined;
  readonly caps: Caps;
}

function liveChannel(
  row: SealedChannel,
  provider: Provider,
  { key, proxy, ring, rewrite, caps }: Opened,
): LiveChannel {
  const loopbackPort = loopbackPortOf(provider.baseUrl);
  const isOnce = row.reuse === "never" ? ({ isOnce: true } as const) : {};
  const { connect_ms: connectMs } = row;
  const way = filledProxy(proxy, { channelId: row.id, keyHash: row.key_hash });
  return {
    id: row.id,
    type: row.type,
    name: row.name,
    status: row.status,
    provider,
    key,
    baseUrl: withoutEndSlashes(row.base_url.trim()),
    other: row.other.trim(),
    priority: row.priority,
    weight: row.weight,
    costs: channelCosts(row.cost_ratio, row.cost_sheet),
    mapping: readMapping(row.model_mapping),
    models: new Set(splitCsv(row.models)),
    groups: new Set(splitCsv(row.group)),
    config: row.config,
    proxy,
    reuse: row.reuse,
    route: {
      owner: ownerOf(row.id),
      proxies: [way],
      loopbackPort,
      ...isOnce,
      ...(connectMs > 0 && { connectMs }),
    },
    keyId: 0,
    keyProxy: "",
    keyMode: row.key_mode,
    keys: ring,
    rewrite,
    limits: caps.channels.get(row.id),
    keyLimits: ring === undefined ? undefined : caps.keys,
    times: callTimes(row),
  };
}

/** Who serves what, as it is found. Pure. */
export function snapshotOf(channels: readonly LiveChannel[]): Snapshot {
  const byGroup = new Map<string, Map<string, LiveChannel[]>>();
  const enabled = channels.filter(
    ({ status, keys }) => status === ChannelStatus.enabled && keys?.enabled !== 0,
  );
  for (const channel of enabled.toSorted((a, b) => b.priority - a.priority)) {
    for (const group of channel.groups) {
      const models = byGroup.get(group) ?? new Map<string, LiveChannel[]>();
      byGroup.set(group, models);
      for (const model of new Set([...channel.models, ...channel.mapping.keys()])) {
        const list = models.get(model);
        if (list) list.push(channel);
        else models.set(model, [channel]);
      }
    }
  }
  const hasRings = channels.some(({ keys }) => keys !== undefined);
  return { byId: new Map(channels.map((channel) => [channel.id, channel])), byGroup, hasRings };
}

function splitCsv(text: string): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

/** The mapping of a JSON object text; members that are no name → name pair are left out. */
export function readMapping(text: string): ReadonlyMap<string, string> {
  if (text.trim() === "") return new Map();
  try {
    const table: unknown = JSON.parse(text);
    if (typeof table !== "object" || table === null) return new Map();
    return new Map(
      Object.entries(table).flatMap(([from, to]): [string, string][] =>
        typeof to === "string" && to !== "" ? [[from, to]] : [],
      ),
    );
  } catch {
    return new Map();
  }
}
