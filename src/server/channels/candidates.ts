// Which channels can serve a model for a group: an in-memory snapshot of the table, rebuilt when a channel changes. It
// never chooses among them and never calls one.
import { ChannelStatus } from "#contract/channel.ts";
import { type Provider, providerOf } from "#contract/providers.ts";
import { withoutEndSlashes } from "#contract/wire.ts";
import type { Coord } from "#server/coord/coord.ts";
import { follow } from "#server/coord/follow.ts";
import type { Events } from "#server/events.ts";
import { hideSecret } from "#server/log/texts.ts";
import { openKey, type Secrets } from "#server/secrets.ts";
import { type ChannelRow, listLiveChannels, type SealedChannel } from "#server/store/channels.ts";
import type { Db } from "#server/store/db.ts";

/** A channel as the relay uses it: the key is open, lists are sets. */
export interface LiveChannel {
  readonly id: number;
  readonly type: number;
  readonly name: string;
  readonly status: number;
  readonly provider: Provider;
  readonly key: string;
  /** As stored: "" = the default of the type. No slash at the end. */
  readonly baseUrl: string;
  readonly other: string;
  readonly priority: number;
  readonly weight: number;
  /** Requested name → upstream name, one step. */
  readonly mapping: ReadonlyMap<string, string>;
  readonly models: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
  /** JSON text of further settings; "" = none. */
  readonly config: string;
}

/** What decides where a channel's calls go, and whether the provider accepts them. */
const CALLED_BY = [
  "type",
  "key",
  "baseUrl",
  "other",
  "config",
] as const satisfies readonly (keyof LiveChannel)[];

/** Whether a channel has changed so that its earlier calls say nothing about the next one. */
function isRenewed(before: LiveChannel, now: LiveChannel | undefined): boolean {
  const wasOff = before.status !== ChannelStatus.enabled;
  return !isAsCalled(before, now) || (wasOff && now?.status === ChannelStatus.enabled);
}

/** Whether the outcome of a call still says something about its channel: it has the key and address that were used. Pure. */
export function isAsCalled(called: LiveChannel, now: LiveChannel | undefined): boolean {
  return now === called || (now !== undefined && CALLED_BY.every((field) => called[field] === now[field]));
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
}

interface Snapshot {
  readonly byId: ReadonlyMap<number, LiveChannel>;
  readonly byGroup: ReadonlyMap<string, ReadonlyMap<string, readonly LiveChannel[]>>;
}

const NONE: readonly LiveChannel[] = [];

/** Reads the table once and keeps the snapshot current. */
export async function createCandidates({ db, secrets, coord, events }: CandidatesParts): Promise<Candidates> {
  const listeners = new Set<(id: number) => void>();
  /** Sealed key → open key, of the last reading. */
  let opened: ReadonlyMap<string, string> = new Map();
  let snapshot: Snapshot = { byId: new Map(), byGroup: new Map() };
  let running: Promise<void> | undefined;
  let isStale = false;

  async function load(): Promise<void> {
    try {
      do {
        isStale = false;
        const rows = await listLiveChannels(db);
        const keys = new Map<string, string>();
        const before = snapshot;
        snapshot = build(rows.flatMap((row) => openChannel(row, keys) ?? []));
        opened = keys;
        tellRenewed(before);
      } while (isStale);
    } finally {
      // Here, not when the promise settles: a change in between would be missed.
      running = undefined;
    }
  }
  /** The channel of a row; undefined = its type is unknown or its key cannot be opened, so that nothing can call it. */
  function openChannel(row: SealedChannel, keys: Map<string, string>): LiveChannel | undefined {
    const provider = providerOf(row.type);
    if (provider === undefined) return undefined;
    try {
      const seal = `${row.key_hash} ${row.key_sealed}`;
      const key = opened.get(seal) ?? openKey(secrets, row, "channels.key");
      keys.set(seal, key);
      // Again with each reading: the logger forgets secrets that have not been named for the longest time.
      hideSecret(key);
      return liveChannel(row, provider, key);
    } catch (error) {
      events.backgroundFailed({ task: `open the key of channel ${row.id}`, error });
      return undefined;
    }
  }
  function tellRenewed({ byId }: Snapshot): void {
    for (const [id, before] of byId)
      if (isRenewed(before, snapshot.byId.get(id))) for (const listener of listeners) listener(id);
  }
  function reload(): Promise<void> {
    isStale = true;
    running ??= load();
    return running;
  }

  const stop = follow(coord, {
    topic: "channels",
    read: reload,
    onError: (error) => events.backgroundFailed({ task: "reload channels", error }),
  });
  await reload();
  return {
    find: (group, model) => snapshot.byGroup.get(group)?.get(model) ?? NONE,
    byId: (id) => snapshot.byId.get(id),
    all: () => [...snapshot.byId.values()],
    models: (group) => [...(snapshot.byGroup.get(group)?.keys() ?? [])].toSorted(),
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

function liveChannel(row: ChannelRow, provider: Provider, key: string): LiveChannel {
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
    mapping: readMapping(row.model_mapping),
    models: new Set(splitCsv(row.models)),
    groups: new Set(splitCsv(row.group)),
    config: row.config,
  };
}

function build(channels: readonly LiveChannel[]): Snapshot {
  const byGroup = new Map<string, Map<string, LiveChannel[]>>();
  const enabled = channels.filter((channel) => channel.status === ChannelStatus.enabled);
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
  return { byId: new Map(channels.map((channel) => [channel.id, channel])), byGroup };
}

function splitCsv(text: string): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

/** The mapping of a JSON object text; members that are no name → name pair are left out. */
function readMapping(text: string): ReadonlyMap<string, string> {
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
