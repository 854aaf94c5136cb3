// What several processes must agree on, in a few verbs. Implementations: memory.ts (one process), postgres.ts (several).

/** What can change for every process. */
export type Topic = "options" | "channels" | "tokens" | "users" | "login_providers" | "groups";

export interface Coord {
  /**
   * Tells every process, this one included and at once; those that cannot be told now are told as soon as they can be. Payload: an id, or
   * "" for everything.
   */
  publish(topic: Topic, payload: string): Promise<void>;
  /**
   * Calls back for each message. After a lost connection it calls once with "", because messages may have been missed, and so it does now
   * and then where there are other processes: one that died may not have told of its last change. Returns the stop function.
   */
  subscribe(topic: Topic, handler: (payload: string) => void): () => void;
  /** Runs the work unless a process is doing it already; undefined = one is. */
  lock<T>(name: string, work: () => Promise<T>): Promise<T | undefined>;
  /** Whether a process is doing it. */
  isLocked(name: string): Promise<boolean>;
  /**
   * Counts one event of a key: at most `limit` in a burst, refilled evenly over `windowMs` (GCRA). 0 = no limit.
   * Refused events do not count. An event may be worth several; one that is worth more than `limit` never fits.
   */
  count(key: string, windowMs: number, limit: number, worth?: number): Promise<Counted>;
  /** The same of several keys one after another, up to the first that has no room: what each that was asked came to. */
  countEach(events: readonly CountedEvent[]): Promise<readonly Counted[]>;
  /**
   * Takes back what `count` allowed, as if it had not been; a negative worth is taken though there is no room: what comes next waits for
   * it, for a window at most.
   */
  uncount(key: string, windowMs: number, limit: number, worth?: number): Promise<void>;
  /**
   * Takes one of `limit` slots of a key; calling what is returned gives it back; undefined = all are taken. Slots of a process
   * that died are free within half a minute. 0 = no limit.
   */
  hold(key: string, limit: number): Promise<(() => void) | undefined>;
  /** How long it takes until all of each key's limit is there again, by key; one that is not among them is full. Counts nothing. Unit: ms. */
  fullAfter(keys: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** How many slots of each key are held now, by all processes; one that is not among them has none. Takes none. */
  heldOf(keys: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** True the first time within `ttlMs`. */
  remember(key: string, ttlMs: number): Promise<boolean>;
  close(): Promise<void>;
}

/** An event that is to be counted. */
export interface CountedEvent {
  readonly key: string;
  readonly windowMs: number;
  readonly limit: number;
  readonly worth: number;
}

export interface Counted {
  readonly allowed: boolean;
  /** When to come again; 0 when allowed. */
  readonly retryAfterMs: number;
  /** How long until all of the limit is there again. */
  readonly fullAfterMs: number;
}
