// A channel as the relay uses it, and what it knows of its keys where it has several. Types only.
import type { Provider } from "#contract/providers.ts";
import type { Route } from "#server/egress/send.ts";
import type { ChannelCosts } from "#server/money/channel-costs.ts";
import type { ChannelCap } from "#server/store/channel-limits.ts";
import type { CallTimes, Rewriter } from "#server/upstream/call/call.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";

/** What the choice of a key depends on. */
export interface KeyChoice {
  readonly model: string;
  readonly conversation?: number | undefined;
  /** Keys this request has failed with. */
  readonly tried: ReadonlySet<number>;
  readonly now: number;
  /** Nothing rather than a key that rests. */
  readonly isFreeOnly?: boolean | undefined;
}

/** A failed call with one of several keys. */
export interface KeyFailure {
  readonly model: string;
  readonly fault: RelayFault;
  /** The key or its account is finished. */
  readonly isDisabling: boolean;
  /** The key has no such model. */
  readonly isModelAbsent: boolean;
  readonly now: number;
}

/** The keys of a channel that has several (`key-ring.ts`). */
export interface KeyRing {
  /** As `channels.keys_version` counts. */
  readonly version: number;
  /** How many can be chosen. */
  readonly enabled: number;
  /** The channel with one of its keys; undefined = none can be had. */
  pick(channel: LiveChannel, choice: KeyChoice): LiveChannel | undefined;
  /** With the first key that is enabled, for what is no caller's. */
  first(channel: LiveChannel): LiveChannel | undefined;
  /** Whether the key and the proxy of a call are still the same. */
  isAsCalled(called: LiveChannel): boolean;
  begin(keyId: number): void;
  end(keyId: number): void;
  answered(keyId: number, model: string): void;
  /** Notes a failure and says whose it is; `ended` = the key's last: it should be disabled. */
  failed(called: LiveChannel, failure: KeyFailure): "channel" | "key" | "ended";
  /** Whether all that may use the model rest. */
  isResting(model: string, now: number): boolean;
  state(keyId: number, now: number): KeyState;
  /** No call gets it any more. */
  drop(keyId: number): void;
}

export interface KeyState {
  readonly inFlight: number;
  /** 0 = it does not rest. Unit: ms since 1970. */
  readonly restsUntilMs: number;
}

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
  /** What its calls cost the operator. */
  readonly costs: ChannelCosts;
  /** Requested name → upstream name, one step. */
  readonly mapping: ReadonlyMap<string, string>;
  readonly models: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
  /** JSON text of further settings; "" = none. */
  readonly config: string;
  /** The channel's own proxy with its credentials, or `direct`; "" = as all. */
  readonly proxy: string;
  readonly reuse: string;
  readonly route: Route;
  /** Which of several keys this is; 0 = the channel's only one, or none is chosen yet. */
  readonly keyId: number;
  /** That key's own proxy; "" = it has none. */
  readonly keyProxy: string;
  /** How one of several keys is chosen. */
  readonly keyMode: string;
  /** undefined = it has one. */
  readonly keys: KeyRing | undefined;
  /** What is changed in its requests; undefined = nothing. */
  readonly rewrite: Rewriter | undefined;
  /** What it may be used for at most, and each of its keys by id; undefined = the operator set no caps. */
  readonly limits: readonly ChannelCap[] | undefined;
  readonly keyLimits: ReadonlyMap<number, readonly ChannelCap[]> | undefined;
  /** How long its calls may take; undefined = as all. */
  readonly times: CallTimes | undefined;
  /** The channel that this is with one of its keys. */
  readonly base?: LiveChannel;
}
