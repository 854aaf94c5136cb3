// The live options: typed, cached in memory, read again when one changes. Knows how they are stored, not what
// they do; who may change which is decided by the API.
import {
  type Option,
  type OptionKey,
  type OptionRow,
  type OptionValue,
  optionTable,
} from "#contract/option.ts";
import { builtInRatios } from "#contract/prices.ts";
import type { Coord } from "#server/coord/coord.ts";
import { follow } from "#server/coord/follow.ts";
import type { Events } from "#server/events.ts";
import type { Secrets } from "#server/secrets.ts";
import type { Db } from "#server/store/db.ts";
import { listOptions, saveOption } from "#server/store/options.ts";

export interface Options {
  get<K extends OptionKey>(key: K): OptionValue<K>;
  /** The number of the version that the price tables are of; 0 = none was ever published. */
  priceVersion(): number;
  /** Every option as it crosses the wire: no secrets, a `<key>Configured` row instead; price tables complete. */
  list(): Option[];
  /**
   * Checks and stores a text; effective on every node within a second. `db` may be a transaction; then the caller calls
   * `announce` after it has committed. Throws: OptionError with a sentence for the user. Of price tables what equals the built-in rows is
   * not stored; `kept` = names of tiers of which it is: a built-in tier follows a price of its model that is changed, a stored one does not.
   */
  write(db: Db, key: OptionKey, text: string, kept?: ReadonlySet<string>): Promise<void>;
  announce(): Promise<void>;
  /** Write and announce at once. */
  set(key: OptionKey, text: string): Promise<void>;
  reload(): Promise<void>;
  /** Calls back after each reload; returns the function that stops it. */
  onChange(listener: () => void): () => void;
  close(): void;
}

/** A text that an option does not accept; the message is for the user. */
export class OptionError extends Error {
  override readonly name = "OptionError";
}

/** Options whose stored table holds only what differs from the built-in one (requirements W6.1). */
const BUILT_IN: Partial<Record<OptionKey, Readonly<Record<string, number>>>> = builtInRatios;

// The keys of the table are exactly OptionKey.
const KEYS = Object.keys(optionTable) as OptionKey[];

function rowOf(key: OptionKey): OptionRow {
  return optionTable[key];
}

/** The context under which a secret option is sealed. */
function sealContext(key: OptionKey): string {
  return `options.${key}`;
}

function readTable(text: string): Record<string, number> {
  // Checked by the option's schema before.
  return JSON.parse(text) as Record<string, number>;
}

/** What a table adds to or changes in the built-in one; a tier also stays where it equals it, when it is kept or was stored so before. */
function changesOf(
  text: string,
  builtIn: Readonly<Record<string, number>>,
  isKept: (name: string, ratio: number) => boolean,
): string {
  const changed = Object.entries(readTable(text)).filter(
    ([name, ratio]) => builtIn[name] !== ratio || (name.includes(">") && isKept(name, ratio)),
  );
  return JSON.stringify(Object.fromEntries(changed));
}

/** What of a normalised text is stored: of price tables only what differs from the built-in rows (see `Options.write`). */
function storedText(
  key: OptionKey,
  text: string,
  {
    before = "{}",
    kept,
  }: { readonly before: string | undefined; readonly kept: ReadonlySet<string> | undefined },
): string {
  const builtIn = BUILT_IN[key];
  if (builtIn === undefined) return text;
  const rows = readTable(before);
  return changesOf(text, builtIn, (name, ratio) => kept?.has(name) === true || rows[name] === ratio);
}

/** Loads the options and keeps them fresh through `options` messages. */
export async function createOptions(deps: {
  db: Db;
  secrets: Secrets;
  coord: Coord;
  events: Pick<Events, "backgroundFailed">;
}): Promise<Options> {
  const { db, secrets, coord } = deps;
  let texts = new Map<OptionKey, string>();
  let values = new Map<OptionKey, unknown>();
  let priceVersion = 0;
  const listeners = new Set<() => void>();

  function openText(key: OptionKey, stored: string | undefined): string {
    if (stored === undefined) return rowOf(key).fallback;
    if (!rowOf(key).secret || stored === "") return stored;
    return secrets.open(stored, sealContext(key));
  }

  async function load(): Promise<void> {
    const read = await listOptions(db);
    const stored = new Map(read.rows.map((row) => [row.key, row.value]));
    const nextTexts = new Map<OptionKey, string>();
    const nextValues = new Map<OptionKey, unknown>();
    for (const key of KEYS) {
      const { schema, fallback } = rowOf(key);
      const text = openText(key, stored.get(key));
      // An imported text may be one that would be refused today: the default stands then.
      const decoded = schema.safeDecode(text as never);
      nextTexts.set(key, decoded.success ? text : fallback);
      nextValues.set(key, decoded.success ? decoded.data : schema.decode(fallback as never));
    }
    texts = nextTexts;
    values = nextValues;
    priceVersion = read.priceVersion;
  }

  let loading = Promise.resolve();
  /** One after the other, so that the last answer of the database is the one that stays. */
  function reload(): Promise<void> {
    loading = loading
      .catch(() => undefined)
      .then(load)
      .then(() => {
        for (const listener of listeners) listener();
      });
    return loading;
  }

  async function write(target: Db, key: OptionKey, text: string, kept?: ReadonlySet<string>): Promise<void> {
    const { schema, secret } = rowOf(key);
    const read = schema.safeDecode(text as never, { error: () => "选项的值有误" });
    if (!read.success) throw new OptionError(read.error.issues[0]?.message ?? "选项的值有误");
    // Every row's schema is text ⇄ value; encoding normalises, e.g. an address without its trailing slash.
    const normal = schema.encode(read.data) as string;
    const stored = storedText(key, normal, { before: texts.get(key), kept });
    await saveOption(target, key, secret && stored !== "" ? secrets.seal(stored, sealContext(key)) : stored);
  }

  /** Waits until this process has read the change too. */
  async function announce(): Promise<void> {
    await coord.publish("options", "");
    await loading;
  }

  const stop = follow(coord, {
    topic: "options",
    read: reload,
    onError: (error) => deps.events.backgroundFailed({ task: "options", error }),
  });
  await reload();
  return {
    // `values` was filled by decoding with the key's own schema.
    get: (key) => values.get(key) as never,
    priceVersion: () => priceVersion,
    list: () => KEYS.map((key) => visible(key, texts.get(key) ?? "")),
    write,
    announce,
    async set(key, text) {
      await write(db, key, text);
      await announce();
    },
    reload,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: stop,
  };
}

/** One option as a browser may see it. */
function visible(key: OptionKey, text: string): Option {
  if (rowOf(key).secret) return { key: `${key}Configured`, value: String(text !== "") };
  const builtIn = BUILT_IN[key];
  return { key, value: builtIn ? JSON.stringify({ ...builtIn, ...readTable(text) }, null, 2) : text };
}
