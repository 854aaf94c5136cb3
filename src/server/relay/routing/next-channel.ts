// Which channels may serve a request (requirements W8.4); which of these candidates, and of their keys, it calls next: what it has tried, which
// limits have no room, and whether it waits for some. Which of several is called is the choice's (channels/choice.ts).
import type { EndpointName } from "#contract/provider.ts";
import type { ChannelStrategy } from "#contract/strategy.ts";
import type { Candidates } from "#server/channels/candidates.ts";
import type { ChannelGate, Demand, Entry, Full } from "#server/channels/channel-caps.ts";
import type { Choice, Strategy } from "#server/channels/choice.ts";
import type { Permit } from "#server/channels/circuit-breakers.ts";
import { KeptChoice } from "#server/channels/decision.ts";
import type { Health } from "#server/channels/health.ts";
import type { LiveChannel } from "#server/channels/live-channel.ts";
import { noteEnd, type Run } from "#server/channels/pace.ts";
import { createStrategy, unusualStrategy } from "#server/channels/strategy.ts";
import type { Context } from "#server/context.ts";
import type { Caller } from "#server/relay/admission/admit.ts";
import { Exhausted, LocalError, localErrors } from "#server/relay/http/local-errors.ts";
import type { Cancellation } from "#server/upstream/cancellation.ts";
import { networkFault, type RelayFault } from "#server/upstream/errors/fault.ts";
import { KeysTried } from "./keys-tried.ts";
import { type AskedModel, pinned, type RuleTables, ruled, unserved } from "./narrowed.ts";
import type { Queues, Ticket } from "./queues.ts";

export interface NextServices {
  readonly ctx: Pick<Context, "candidates" | "options" | "clock" | "prices">;
  readonly health: Pick<Health, "calling" | "ended" | "openCircuits" | "wayRests" | "pace">;
  readonly gate: ChannelGate;
  readonly queues: Queues;
}

/** What the choice depends on. */
export interface Wanted extends Serving {
  /** What the requests of one conversation share; undefined = chance decides. */
  readonly conversation?: number | undefined;
  readonly isStream: boolean;
  /** undefined = no other format is spoken there: a conversation in real time, a video, a file. */
  readonly endpoint?: EndpointName | undefined;
  /** Another group of the token comes after this one: its channels are all tried first, whatever RetryTimes says (requirements K15). */
  readonly mayMoveOn?: boolean | undefined;
  readonly cancellation: Cancellation;
  /** What it takes of channels with limits. */
  readonly demand: Demand;
  /** How long its calls take is measured, whatever channels are chosen by. */
  readonly isTimed?: boolean | undefined;
}

/** A channel that may be called now. */
export interface Turn {
  readonly channel: LiveChannel;
  /** undefined = nothing of it is limited. */
  readonly entry: Entry | undefined;
}

/** A call to it that runs. */
export interface Begun extends Turn {
  readonly permit: Permit;
  /** undefined = how long it takes is not measured. */
  readonly run: Run | undefined;
}

/** The same with what came of it. */
export interface Made<Done> extends Begun {
  readonly result: Done | RelayFault;
}

/** A group's name that stands in a kept decision as it is. */
const PLAIN_NAME = /^[\w-]+$/;
/** No channel has been tried. */
const NONE: ReadonlySet<number> = new Set();
/** How often the first of a queue looks again: calls that other nodes end are not seen. */
const LOOK_MS = 250;
const LEAST_MS = 5;
/** When to come again where others wait: how long they will is not known. */
const QUEUED_MS = 1_000;
/** Longer no client waits for the head of an answer. */
const LONGEST_SEC = 30;

export class NextChannel {
  readonly #tools: NextServices;
  readonly #wanted: Wanted;
  /** undefined = no channel with several keys was met. */
  #keys: KeysTried | undefined;
  #tried: ReadonlySet<number>;
  /** Channels whose limits have no room, and when the first of them may have some. */
  #full = NONE;
  /** Channels that calls before this one wait for: what is free of them is not for this call. */
  #ahead = NONE;
  #opensMs = Number.POSITIVE_INFINITY;
  #hasEntered = false;
  /** undefined = by the channels' own weights. */
  readonly #strategy: Strategy<LiveChannel> | undefined;
  readonly #strategyName: ChannelStrategy | undefined;
  /** What became of the candidates when one of them was last looked for; undefined = there was only one. */
  #kept: KeptChoice | undefined;
  /** That one. */
  #only = 0;

  /** `tried` = channels that failed before, which are not called again. */
  constructor(tools: NextServices, wanted: Wanted, tried: ReadonlySet<number> = NONE) {
    this.#tried = tried;
    this.#tools = tools;
    this.#wanted = wanted;
    const { candidates, caller } = wanted;
    const name = candidates.length < 2 ? undefined : unusualStrategy(tools.ctx, caller.group);
    this.#strategyName = name;
    this.#strategy =
      name === undefined
        ? undefined
        : createStrategy({ ...tools.ctx, pace: tools.health.pace }, name, wanted);
  }

  /** Why the channel was chosen that was taken last, or why none was, as the log keeps it (channels/decision.ts). */
  get decision(): string {
    const { caller, conversation } = this.#wanted;
    const { group } = caller;
    const kept = this.#kept;
    // Where there was no choice, as with most calls, nothing is made for it.
    if (kept === undefined && PLAIN_NAME.test(group)) return `${group}/w/${this.#only}c`;
    const strategy = this.#strategyName;
    const isNativeFirst = strategy !== undefined && this.#tools.ctx.options.get("NativeFormatFirstEnabled");
    const manner = { group, strategy, isNativeFirst, isSticky: conversation !== undefined };
    return (kept ?? new KeptChoice(this.#only)).text(manner);
  }

  /** Notes that it is called now, and measures how long that takes where channels are chosen by that. */
  begin({ channel, entry }: Turn): Begun {
    const { health } = this.#tools;
    const { model, isStream, isTimed } = this.#wanted;
    const isMeasured = isTimed === true || this.#strategyName === "latency";
    const run = isMeasured ? health.pace.begin(channel.id, model, isStream) : undefined;
    const permit = health.calling(channel.id, model);
    channel.keys?.begin(channel.keyId);
    return { channel, entry, permit, run };
  }

  /** Calls it. */
  call<Done extends { readonly kind: string }>(
    turn: Turn,
    ask: (channel: LiveChannel) => Promise<Done | RelayFault>,
  ): Promise<Made<Done>> {
    return this.run(this.begin(turn), ask);
  }

  /** Makes a call that was noted. When what makes it throws, nothing of the channel is held any more. */
  async run<Done extends { readonly kind: string }>(
    begun: Begun,
    ask: (channel: LiveChannel) => Promise<Done | RelayFault>,
  ): Promise<Made<Done>> {
    const { channel, permit, run } = begun;
    let result: Done | RelayFault | undefined;
    try {
      result = await ask(channel);
    } finally {
      channel.keys?.end(channel.keyId);
      if (result === undefined) {
        // It says nothing of the channel.
        run?.end(0);
        this.#tools.health.ended(channel.id, this.#wanted.model, permit);
      }
    }
    if (run !== undefined) noteEnd(run, result);
    return { ...begun, result };
  }

  /** What chooses another channel while this one is called: none that rests, and none that calls wait for. */
  beside(first: LiveChannel, demand: Demand): NextChannel {
    const wanted = { ...this.#wanted, mayMoveOn: true, demand };
    return new NextChannel(this.#tools, wanted, new Set(this.#tried).add(first.id));
  }

  /** The channel that is next; nothing is taken of it. `word` is told when none is left. Throws: LocalError. */
  look(word: RelayFault | undefined): LiveChannel {
    const channel = this.#pick();
    if (channel === undefined) throw new Exhausted(word ?? this.#refusal());
    return channel;
  }

  /** Takes what the request needs of the next channel that has room; the first call may wait for it. Throws: LocalError. */
  async take(word: RelayFault | undefined): Promise<Turn> {
    const { queues } = this.#tools;
    const { caller, model } = this.#wanted;
    const name = `${caller.group} ${model}`;
    let ticket: Ticket | undefined;
    const deadlineMs = this.#tools.ctx.clock.now() + this.#waitMs();
    try {
      for (;;) {
        this.#ahead = ticket === undefined ? awaited(queues, name) : ticket.ahead;
        const turn = await this.#takeNow();
        if (turn !== undefined) return turn;
        const mayWait = (this.#full.size > 0 && word === undefined) || this.#isBehind();
        if (mayWait) ticket ??= queues.join(name, this.#untried());
        if (ticket === undefined || !(await this.#waits(ticket, deadlineMs)))
          throw new Exhausted(word ?? this.#refusal());
      }
    } finally {
      ticket?.leave();
      this.#ahead = NONE;
    }
  }

  #untried(): readonly LiveChannel[] {
    const { candidates } = this.#wanted;
    return this.#tried.size === 0 ? candidates : candidates.filter(({ id }) => !this.#tried.has(id));
  }

  /** Whether other calls have the first right to a channel of this one. */
  #isBehind(): boolean {
    return this.#ahead.size > 0 && this.#untried().some(({ id }) => this.#ahead.has(id));
  }

  /** Notes a failed call. */
  note(channel: LiveChannel, isKeys: boolean, isProxyGone = false): void {
    if (this.#keys?.note(channel, isKeys, isProxyGone) !== true)
      this.#tried = new Set(this.#tried).add(channel.id);
  }

  #waitMs(): number {
    // The next group may answer at once.
    if (this.#wanted.mayMoveOn === true) return 0;
    return Math.min(this.#tools.ctx.options.get("ChannelQueueSeconds"), LONGEST_SEC) * 1_000;
  }

  /** Whether it may look again. Throws: LocalError when the client leaves meanwhile. */
  async #waits(ticket: Ticket, deadlineMs: number): Promise<boolean> {
    const { clock } = this.#tools.ctx;
    const { cancellation } = this.#wanted;
    const now = clock.now();
    if (now >= deadlineMs) return false;
    const isFirst = this.#untried().some(({ id }) => !this.#ahead.has(id));
    const soonMs = isFirst ? Math.min(this.#opensMs - now, LOOK_MS) : deadlineMs - now;
    await ticket.wait(Math.max(LEAST_MS, Math.min(soonMs, deadlineMs - now)), cancellation);
    if (cancellation.isCancelled) throw new LocalError(networkFault({ code: "aborted", detail: "" }));
    this.#full = NONE;
    this.#opensMs = Number.POSITIVE_INFINITY;
    this.#keys?.forgetFull();
    return true;
  }

  #refusal(): RelayFault {
    const { caller, model } = this.#wanted;
    if (this.#full.size === 0 && !this.#isBehind()) return localErrors.noChannel(caller.group, model);
    const waitMs = Math.min(this.#opensMs - this.#tools.ctx.clock.now(), QUEUED_MS);
    return localErrors.channelsFull(Math.max(1, waitMs));
  }

  /** undefined = no channel is left, or none has room. */
  async #takeNow(): Promise<Turn | undefined> {
    const { gate } = this.#tools;
    const { demand } = this.#wanted;
    for (;;) {
      const channel = this.#pick();
      if (channel === undefined) return undefined;
      if (!mayBeLimited(channel) || !gate.isLimited(channel)) {
        if (this.#hasEntered) await demand.hold([]);
        return { channel, entry: undefined };
      }
      const entry = await gate.enter(channel, demand);
      if (entry.kind === "entered") {
        this.#hasEntered = true;
        return { channel, entry };
      }
      this.#noteFull(channel, entry);
    }
  }

  #pick(): LiveChannel | undefined {
    const { ctx, health, gate } = this.#tools;
    const wanted = this.#wanted;
    const isOpen = health.openCircuits(wanted.model);
    const serving = this.#left(stillServing(ctx.candidates, wanted), isOpen);
    const ahead = this.#ahead;
    const own = ahead.size === 0 ? serving : serving.filter(({ id }) => !ahead.has(id));
    for (;;) {
      const again = this.#keys?.again(own, wanted, ctx.clock.now());
      const channel = again ?? this.#choose(serving, isOpen);
      if (channel === undefined) return undefined;
      const chosen = again ?? this.#withKey(channel);
      if (chosen === undefined) this.#noKey(channel);
      else {
        const known = mayBeLimited(chosen) ? gate.fullNow(chosen) : undefined;
        if (known === undefined) return chosen;
        this.#noteFull(chosen, known);
      }
    }
  }

  /** Where another group comes after this one, channels that are left alone are none: it is passed over. */
  #left(candidates: readonly LiveChannel[], isOpen: Choice["isOpen"]): readonly LiveChannel[] {
    if (this.#wanted.mayMoveOn !== true || isOpen === undefined) return candidates;
    this.#kept ??= new KeptChoice();
    return this.#kept.left(candidates, isOpen);
  }

  /** undefined = no key of it is left, or has room. */
  #withKey(channel: LiveChannel): LiveChannel | undefined {
    if (channel.keys === undefined) return channel;
    this.#keys ??= new KeysTried(this.#tools.health);
    return this.#keys.choose(channel, this.#wanted, this.#tools.ctx.clock.now());
  }

  #choose(serving: readonly LiveChannel[], isOpen: Choice["isOpen"]): LiveChannel | undefined {
    const full = this.#barred();
    // Of one channel there is no choice.
    const [only] = serving;
    if (only !== undefined && serving.length === 1 && this.#tried.size === 0 && full === undefined) {
      this.#kept = this.#kept?.alone(only.id);
      this.#only = only.id;
      return only;
    }
    const { conversation } = this.#wanted;
    const [strategy, random] = [this.#strategy, Math.random()];
    this.#kept ??= new KeptChoice();
    return this.#kept.choose(serving, { tried: this.#tried, full, random, conversation, isOpen, strategy });
  }

  /** What has no room for this call; undefined = nothing is known to have none. */
  #barred(): ReadonlySet<number> | undefined {
    if (this.#ahead.size > 0) return new Set([...this.#full, ...this.#ahead]);
    return this.#full.size === 0 ? undefined : this.#full;
  }

  /** None of its keys is left, or has room. */
  #noKey({ id }: LiveChannel): void {
    if (this.#keys?.hasFull === true) this.#full = new Set(this.#full).add(id);
    else this.#tried = new Set(this.#tried).add(id);
  }

  #noteFull(channel: LiveChannel, { of, untilMs }: Full): void {
    this.#opensMs = Math.min(this.#opensMs, untilMs);
    if (of === "key") this.#keys?.noteFull(channel.keyId);
    else {
      this.#keys?.leave(channel.id);
      this.#full = new Set(this.#full).add(channel.id);
    }
  }
}

/** Nearly no channel has limits. */
function mayBeLimited({ limits, keyLimits }: LiveChannel): boolean {
  return limits !== undefined || keyLimits !== undefined;
}

/** What calls wait for that came before. */
function awaited(queues: Queues, name: string): ReadonlySet<number> {
  return queues.count === 0 ? NONE : queues.awaited(name);
}

/** The channels that may serve a request: those of the group and model, or the one an administrator named. Throws: LocalError. */
export function findCandidates(
  ctx: RouteTables,
  caller: Caller,
  asked: AskedModel,
): readonly LiveChannel[] | Promise<readonly LiveChannel[]> {
  const { model } = asked;
  if (caller.models?.has(model) === false) throw unserved(asked, localErrors.modelNotAllowed(model));
  const { pending } = ctx.candidates;
  return pending === undefined
    ? servingNow(ctx, caller, asked)
    : pending.then(() => servingNow(ctx, caller, asked));
}

interface RouteTables extends RuleTables {
  readonly candidates: Pick<Candidates, "byId" | "find" | "pending">;
}

function servingNow(tables: RouteTables, caller: Caller, asked: AskedModel): readonly LiveChannel[] {
  const { candidates, options } = tables;
  const { model } = asked;
  if (caller.pin !== undefined) return [pinned(candidates.byId(Number(caller.pin)), caller, model)];
  const found = candidates.find(caller.group, model);
  if (found.length === 0) throw unserved(asked, localErrors.noChannel(caller.group, model), Exhausted);
  return options.get("RouteRules").length === 0 ? found : ruled(tables, found, caller, asked);
}

/** What a request may be served by. */
export interface Serving {
  readonly caller: Caller;
  readonly model: string;
  readonly candidates: readonly LiveChannel[];
}

/** The channels of a request that still serve it, as they are now: calls and pauses take minutes. */
export function stillServing(
  candidates: Pick<Candidates, "find">,
  { caller, model, candidates: found }: Serving,
): readonly LiveChannel[] {
  // The first call is made at once.
  if (caller.pin !== undefined) return found;
  const now = candidates.find(caller.group, model);
  // The snapshot has not been rebuilt.
  if (now === found) return found;
  const ids = new Set(found.map(({ id }) => id));
  return now.filter(({ id }) => ids.has(id));
}
