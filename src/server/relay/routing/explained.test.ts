// The route explainer against the relay's own choice: in random worlds of channels, keys, limits, faults, rules and strategies what is told is
// what happens (requirements C47).
import fc from "fast-check";
import { afterEach, expect, test, vi } from "vitest";
import { RELAY_ENDPOINTS } from "#contract/relay-endpoint.ts";
import { RouteExplanation } from "#contract/route.ts";
import { snapshotOf } from "#server/channels/candidates.ts";
import { createChannelGate } from "#server/channels/channel-caps.ts";
import { type Explained, explainRoute } from "#server/channels/explain.ts";
import { type CountedFormat, callFormat } from "#server/channels/formats.ts";
import { createHealth } from "#server/channels/health.ts";
import type { SealedKey } from "#server/channels/key-list.ts";
import { Ring } from "#server/channels/key-ring.ts";
import type { LiveChannel } from "#server/channels/live-channel.ts";
import { fakeClock } from "#server/clock.ts";
import { createMemoryCoord } from "#server/coord/memory.ts";
import { createLimits } from "#server/limits/limits.ts";
import { videoPrice } from "#server/money/video-price.ts";
import type { Caller } from "#server/relay/admission/admit.ts";
import { faultBelowCost } from "#server/relay/billing/account.ts";
import { LocalError } from "#server/relay/http/local-errors.ts";
import { nextCounter } from "#server/relay/queries/count-tokens.ts";
import type { ChannelCap } from "#server/store/channel-limits.ts";
import type { Tools } from "#server/tools.ts";
import type { AttemptTools } from "#server/upstream/call/attempt.ts";
import { planCall } from "#server/upstream/call/plan.ts";
import { Cancellation } from "#server/upstream/cancellation.ts";
import { statusFault } from "#server/upstream/errors/fault.ts";
import { createRelayWorld, MODEL } from "#test/worlds/relay-world.ts";
import { eachChannel, newRequestState } from "./failover.ts";
import { findCandidates } from "./next-channel.ts";
import { Queues } from "./queues.ts";

const world = createRelayWorld();
afterEach(() => vi.restoreAllMocks());

/** One with all endpoints, one with text in its own format, one with videos, and one that has next to nothing. */
const TYPES = [1, 14, 40, 18];
const WORLDS = 10_000;
/** A proxy that rests. */
const DOWN = "http://down.example:1";

const key = fc.record({
  weight: fc.nat(2),
  isLimited: fc.boolean(),
  /** What its last call met; 0 = nothing. */
  met: fc.constantFrom(0, 0, 0, 403, 404, 429),
  hasModel: fc.constantFrom(true, true, true, false),
  proxy: fc.constantFrom("", "", "http://up.example:1", DOWN),
});
const channel = fc.record({
  type: fc.constantFrom(...TYPES),
  priority: fc.nat(2),
  weight: fc.nat(3),
  status: fc.constantFrom(1, 1, 1, 1, 2, 3),
  group: fc.constantFrom("default", "default", "default", "vip"),
  hasModel: fc.constantFrom(true, true, true, false),
  mapped: fc.constantFrom("", "", "nobody-prices-this"),
  costRatio: fc.constantFrom(1n, 1n, 3n),
  /** A call a minute, of which one was made. */
  isLimited: fc.constantFrom(false, false, true),
  isBroken: fc.constantFrom(false, false, true),
  proxy: fc.constantFrom("", "", "", DOWN),
  keys: fc.option(fc.array(key, { minLength: 1, maxLength: 4 }), { nil: undefined }),
  mode: fc.constantFrom("random", "round_robin", "weighted", "least_used", "first"),
});
const wish = fc.record({
  channels: fc.array(channel, { maxLength: 6 }),
  format: fc.constantFrom(...RELAY_ENDPOINTS.map(({ name }) => name)),
  strategy: fc.constantFrom("weight", "weight", "cost", "latency"),
  isNativeFirst: fc.boolean(),
  refusesLoss: fc.boolean(),
  rule: fc.constantFrom(undefined, undefined, { only: [1, 2, 3] }, { avoid: [2, 4] }),
  mayMoveOn: fc.boolean(),
  random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
});
type Wish = typeof wish extends fc.Arbitrary<infer One> ? One : never;

const cap = (id: number, subject: ChannelCap["subject"], subjectId: number): ChannelCap => ({
  ...{ id, subject, subjectId, name: "rpm", amount: 1 },
});

/** The channels of a wish; `base` = one as the relay reads it. */
function channelsOf({ channels }: Wish, base: ReadonlyMap<number, LiveChannel>): LiveChannel[] {
  return channels.map((wished, at) => {
    const id = at + 1;
    const rows = wished.keys?.map(({ weight, hasModel, proxy }, place) => ({
      ...{ id: id * 10 + place, key_hash: "", key_sealed: `${id} ${place}`, proxy_sealed: proxy, weight },
      ...{ models: hasModel ? "" : "another", connect_ms: 0, first_byte_ms: 0, idle_ms: 0, total_ms: 0 },
    }));
    const open = (row: SealedKey) => ({ key: "sk-canary-of-a-ring", proxy: row.proxy_sealed });
    const ring =
      rows && new Ring({ version: 1, rows, before: undefined, open, onUnreadable: () => expect.fail() });
    const limited =
      wished.keys?.flatMap(({ isLimited }, place) => (isLimited ? [id * 10 + place] : [])) ?? [];
    return {
      ...(base.get(wished.type) ?? expect.fail("no such type")),
      ...{ id, priority: wished.priority, weight: wished.weight, status: wished.status },
      ...{ groups: new Set([wished.group]), models: new Set(wished.hasModel ? [MODEL] : ["another"]) },
      mapping: new Map(wished.mapped === "" ? [] : [[MODEL, wished.mapped]]),
      costs: { factor: { n: wished.costRatio, d: 1n }, sheet: undefined },
      ...{ keys: ring, keyMode: wished.mode, proxy: wished.proxy },
      route: { owner: `channel ${id}`, proxies: [wished.proxy] },
      limits: wished.isLimited ? [cap(id, "channel", id)] : undefined,
      keyLimits: ring && new Map(limited.map((one) => [one, [cap(100 + one, "channel_key", one)]])),
    };
  });
}

/** A process that knows these channels and nothing else. */
function processOf(asked: Wish, base: ReadonlyMap<number, LiveChannel>) {
  const { ctx } = world;
  const clock = fakeClock();
  const all = channelsOf(asked, base);
  const { byId, byGroup } = snapshotOf(all);
  const candidates = {
    ...{ all: () => all, byId: (id: number) => byId.get(id), pending: undefined },
    find: (group: string, model: string) => byGroup.get(group)?.get(model) ?? [],
    ...{ hasRings: () => true, onRenewed: () => () => undefined },
  };
  const values: Readonly<Record<string, unknown>> = {
    RouteRules: asked.rule === undefined ? [] : [{ name: "a rule", ...asked.rule }],
    ...{ ChannelStrategy: asked.strategy, NativeFormatFirstEnabled: asked.isNativeFirst },
    ...{ RefuseBelowCostEnabled: asked.refusesLoss, ChannelQueueSeconds: 0, RetryTimes: 5 },
  };
  const get = ((name: string) => values[name] ?? ctx.options.get(name as never)) as typeof ctx.options.get; // a value of its kind
  const options = { ...ctx.options, get };
  const resting: ReturnType<Tools["egress"]["restingProxies"]> = ({ proxies }) =>
    proxies.find((text) => text !== "") === DOWN ? clock.now() + 1_000 : 0;
  const egress = { ...ctx.egress, restingProxies: () => resting };
  const tools = { ...ctx, clock, options, egress, candidates: { ...ctx.candidates, ...candidates } };
  const limits = createLimits({ coord: createMemoryCoord({ clock }), events: ctx.events });
  const health = createHealth(tools);
  const gate = createChannelGate({ limits, clock });
  return { ctx: { ...tools, limits, health, gate }, health, gate, queues: new Queues(), all };
}

type Process = ReturnType<typeof processOf>;
type WishedKey = NonNullable<Wish["channels"][number]["keys"]>[number];

const DEMAND = { tokens: () => 1, hold: () => Promise.resolve(undefined) };

function faultOf(status: number) {
  return statusFault({ status, body: undefined, text: "", retryAfterMs: 0, secrets: [] });
}

/** What has happened before: calls in the minute of limits, circuits that opened, keys that met faults. */
async function befall({ channels }: Wish, made: Process): Promise<void> {
  const { gate, health, all } = made;
  for (const [at, one] of all.entries()) {
    const { isBroken, keys = [] } = channels[at] ?? expect.fail();
    if (one.limits !== undefined) await gate.enter({ ...one, keyLimits: undefined }, DEMAND);
    for (let call = 0; isBroken && call < 3; call += 1)
      health.failed(one.id, MODEL, faultOf(500), health.calling(one.id, MODEL));
    for (const [place, wished] of keys.entries())
      await befallKey(made, { ...one, keyId: one.id * 10 + place, limits: undefined }, wished);
  }
}

async function befallKey(
  { gate, ctx }: Process,
  called: LiveChannel,
  { met, isLimited }: WishedKey,
): Promise<void> {
  if (isLimited) await gate.enter(called, DEMAND);
  if (met === 0) return;
  const fault = faultOf(met);
  const failure = {
    model: MODEL,
    fault,
    isDisabling: false,
    isModelAbsent: met === 404,
    now: ctx.clock.now(),
  };
  called.keys?.failed(called, failure);
}

/** The channel and key that the relay calls; undefined = it finds none. */
async function called(asked: Wish, tools: Process): Promise<LiveChannel | undefined> {
  const { ctx } = tools;
  const caller = { group: "default", fallbacks: [], isAdmin: false } as unknown as Caller; // nothing else is read
  const { plan, endpoint, isStream, lacks, counts } = callFormat(asked.format);
  const priceOf = ({ mapping }: LiveChannel) =>
    ctx.prices().show(MODEL, mapping.get(MODEL) ?? MODEL, "default");
  const videoOf = ({ mapping }: LiveChannel) =>
    videoPrice(ctx.prices(), {
      model: MODEL,
      upstreamModel: mapping.get(MODEL) ?? MODEL,
      resolution: "",
      group: "default",
    });
  try {
    const found = (await findCandidates(ctx, caller, { model: MODEL, isModelDefault: false }))
      .filter((one) => lacks(one) === undefined)
      .filter((one) => asked.format !== "videos" || videoOf(one) !== undefined);
    if (counts !== undefined) return await counter(tools, { caller, found, counts });
    const first = found.map(priceOf).find((price) => price !== undefined);
    const search = {
      ...{ caller, model: MODEL, candidates: found, isStream, endpoint, mayMoveOn: asked.mayMoveOn },
      ...{ cancellation: new Cancellation(), wordsOf: () => "" },
      demand: DEMAND,
    };
    const begun = { requestId: "r", startedMs: ctx.clock.now(), endpoint: "chat" } as const;
    const state = newRequestState({ ...begun, offers: [], address: "", headers: {} });
    const done = await eachChannel({ ...tools, secondCalls: expect.anything() }, state, search, (one) => {
      const wanted = { model: MODEL, promptTokens: 0, isSpoken: asked.format === "realtime" };
      const sold = priceOf(one) ?? first;
      const loss = plan && sold && faultBelowCost(ctx, { channel: one, sold }, wanted);
      const name = one.mapping.get(MODEL) ?? MODEL;
      const made =
        plan && planCall(one, { ...plan, model: name, apiVersion: "", isStream: false }, ctx.options.get);
      const fault = loss ?? (made?.kind === "fault" ? made : undefined);
      return Promise.resolve(fault ?? { kind: "answered" as const, channel: one });
    });
    return done.channel;
  } catch (error) {
    if (error instanceof LocalError) return undefined;
    throw error;
  }
}

/** The channel that counts the tokens of a call. Throws: LocalError when none does. */
async function counter(
  tools: Process,
  { caller, found, counts }: { caller: Caller; found: readonly LiveChannel[]; counts: CountedFormat },
): Promise<LiveChannel> {
  const optionText = (name: "ServerAddress" | "SystemName") => tools.ctx.options.get(name);
  const upstream = { ...({} as AttemptTools), optionText }; // nothing else is read
  const wanted = { caller, model: MODEL, candidates: found, cancellation: new Cancellation() };
  return (await nextCounter({ ...tools, upstream }, wanted, counts).take(undefined)).channel;
}

/** The channel that a chance picks by the odds that were told; undefined = chance lies on the border of two. */
function picked({ told }: Explained, order: readonly LiveChannel[], random: number): number | undefined {
  let sum = 0;
  for (const { id } of order) {
    sum += told.channels.find((one) => one.id === id)?.odds ?? 0;
    if (Math.abs(sum - random) < 1e-9) return undefined;
    if (random < sum) return id;
  }
  return 0;
}

const reasonOf = (verdict: string, rests = "") => (verdict === "resting" ? `${verdict}: ${rests}` : verdict);

test(`in ${WORLDS} worlds the channel and the key that are called are those that the odds told`, {
  timeout: 120_000,
}, async () => {
  const base = new Map<number, LiveChannel>();
  for (const type of TYPES) {
    const id = await world.addChannel({ type, key: "sk-canary-upstream-key-0123456789" });
    base.set(type, world.ctx.candidates.byId(id) ?? expect.fail("no channel"));
  }
  const seen = new Map<string, number>();
  const note = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1);
  await fc.assert(
    fc.asyncProperty(wish, async (asked) => {
      const tools = processOf(asked, base);
      await befall(asked, tools);
      const about = { group: "default", model: MODEL, format: asked.format, teamId: 0, bytes: 0 };
      const explained = await explainRoute(tools.ctx, { ...about, mayMoveOn: asked.mayMoveOn });
      const told = RouteExplanation.parse(explained.told);
      const next = told.channels.filter(({ verdict }) => verdict === "next");
      expect(next.reduce((sum, { odds }) => sum + odds, 0)).toBeCloseTo(next.length === 0 ? 0 : 1, 9);
      expect(told.channels.filter(({ odds }) => odds > 0)).toEqual(next);
      expect(told.channels.slice(0, next.length)).toEqual(next);
      vi.spyOn(Math, "random").mockReturnValue(asked.random);
      const chosen = await called(asked, tools);
      vi.restoreAllMocks();
      const expected = picked(explained, tools.ctx.candidates.find("default", MODEL), asked.random);
      if (expected !== undefined) expect(chosen?.id ?? 0).toBe(expected);
      for (const { verdict, rests } of told.channels) note(reasonOf(verdict, rests));
      const keys = chosen && explained.keys.get(chosen.id)?.keys;
      if (keys === undefined) return;
      for (const { verdict, rest } of keys) note(`key ${reasonOf(verdict, rest?.why)}`);
      expect(keys.find(({ id }) => id === chosen?.keyId)?.odds).toBeGreaterThan(0);
      expect(keys.reduce((sum, { odds }) => sum + odds, 0)).toBeCloseTo(1, 9);
    }),
    { numRuns: WORLDS, seed: 20_261_127 },
  );
  // Each reason came up: the worlds are rich enough to prove something.
  expect([...seen.keys()].toSorted()).toMatchInlineSnapshot(`
    [
      "auto_disabled",
      "below_cost",
      "dearer",
      "disabled",
      "endpoint_absent",
      "format_other",
      "group",
      "key later",
      "key limited",
      "key model",
      "key next",
      "key resting: forbidden",
      "key resting: model_absent",
      "key resting: proxy",
      "key resting: saturated",
      "key weight_zero",
      "keys_none",
      "limited",
      "model",
      "next",
      "priority_lower",
      "resting: circuit",
      "resting: keys",
      "resting: proxy",
      "rule",
      "weight_zero",
    ]
  `);
});
