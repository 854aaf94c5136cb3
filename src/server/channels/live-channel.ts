// A channel as the relay uses it, and what it knows of its keys where it has several. Types only.
import type { Provider } from "#contract/providers.ts";
import type { Route } from "#server/egress/send.ts";
import type { ChannelCosts } from "#server/money/channel-costs.ts";
import type { ChannelCap } from "#server/store/channel-limits.ts";
import type { CallTimes, Rewriter } from "#server/upstream/call/call.ts";
import type { RelayFault } from "#server/upstream/errors/fault.ts";

/** Until when a way rests because its proxy failed; 0 = it does not. Unit: ms since 1970. */
export type WayRests = (way: Route) => number;

/** What it depends on whether a key rests. */
export interface KeyAsked {
  readonly model: string;
  readonly now: number;
  /** undefined = no proxy failed lately. */
  readonly wayRests?: WayRests | undefined;
}

/** What the choice of a key depends on. */
export interface KeyChoice extends KeyAsked {
  readonly conversation?: number | undefined;
  /** Keys this request has failed with. */
  readonly tried: ReadonlySet<number>;
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
  /** Of those. */
  readonly ids: readonly number[];
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
  /** Whether all that may use the model rest, of themselves or behind proxies that do. */
  isResting(channel: LiveChannel, asked: KeyAsked): boolean;
  /** Then what rests, and when the first of them returns (ms since 1970, 0 = not known); undefined = not all do. */
  restOf(channel: LiveChannel, asked: KeyAsked): RingRest | undefined;
  /** `model` = what it rests for; absent = for any. */
  state(keyId: number, now: number, model?: string): KeyState;
  /** What becomes of each enabled key in the next choice, in the order of their ids; `full` = keys whose limits have no room. Chooses none. */
  outlook(channel: LiveChannel, asked: KeyAsked & { readonly full: ReadonlySet<number> }): KeyOutlook[];
  /** No call gets it any more. */
  drop(keyId: number): void;
}

export interface KeyState {
  readonly inFlight: number;
  /** 0 = it does not rest. Unit: ms since 1970. */
  readonly restsUntilMs: number;
}

/** `proxy` = each of them is behind a proxy that rests. */
export interface RingRest {
  readonly what: "proxy" | "keys";
  readonly untilMs: number;
}

/** Why a key rests: it was refused, may not do something, does not know the model, has no room, or its own proxy failed, for it or for others. */
export type KeyRest = "refused" | "forbidden" | "model_absent" | "saturated" | "proxy";

/** What becomes of an enabled key in the next choice. */
export interface KeyOutlook {
  readonly id: number;
  /** `next` = it may be chosen, by its odds; `later` = when those before it rest. */
  readonly verdict: "next" | "later" | "weight_zero" | "limited" | "resting" | "model";
  /** From 0 to 1: how many of the next calls that name no conversation get it. */
  readonly odds: number;
  /** undefined = it does not rest for this model. */
  readonly rest: { readonly untilMs: number; readonly why: KeyRest } | undefined;
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
