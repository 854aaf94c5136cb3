// `--case keys`: what the choice among ten thousand keys costs a call, also where most or all of them rest: of themselves, behind one proxy, or
// each behind a proxy of its own. Nothing is sent.
import type { Ring } from "#server/channels/key-ring.ts";
import type { WayRests } from "#server/channels/live-channel.ts";
import { statusFault } from "#server/upstream/errors/fault.ts";
import { channelOfKeys, keyRing, rowsOf } from "#test/worlds/key-rings.ts";
import type { Line } from "./report.ts";

/** Requirements C24. */
const TARGET_US = 5;
const CALLS = 20_000;
const ROUNDS = 5;
const NOW = 1_800_000_000_000;
const MODEL = "m";

interface Case {
  /** How many of the keys rest of themselves. */
  readonly refused?: (count: number) => number;
  /** The key's own proxy; "" = none. All of them rest but the one of this name. */
  readonly proxyOf?: (index: number, count: number) => string;
  /** Unit: µs. */
  readonly most?: number;
}

const WELL = "well";
const CASES: Readonly<Record<string, Case>> = {
  "all free": {},
  "half behind one proxy that rests": {
    proxyOf: (index, count) => (2 * index < count ? "down" : WELL),
  },
  "one free": { refused: (count) => count - 1 },
  "all rest of themselves": { refused: (count) => count },
  "all behind one proxy that rests": { proxyOf: () => "down" },
  // Each of them is asked again now and then.
  "each behind a proxy of its own that rests": { proxyOf: (index) => `down${index}`, most: 20 },
};

const wayRests: WayRests = ({ proxies }) => (proxies[0]?.includes(WELL) === true ? 0 : NOW + 300_000);

/** The choice as a call makes it: whether the channel is passed over, and which key it gets. The least of some rounds. Unit: µs. */
function choiceUs(ring: Ring, mode: string, hasProxies: boolean): number {
  const channel = channelOfKeys({ keys: ring, keyMode: mode });
  const asked = { model: MODEL, wayRests: hasProxies ? wayRests : undefined };
  const tried = new Set<number>();
  const round = () => {
    // Of the processor alone: other processes take turns.
    const { user } = process.cpuUsage();
    for (let call = 0; call < CALLS; call += 1) {
      // Some hundred calls in a second.
      const now = NOW + call * 3;
      ring.isResting(channel, { ...asked, now });
      ring.pick(channel, { ...asked, now, tried });
    }
    return (process.cpuUsage().user - user) / CALLS;
  };
  return Math.min(...Array.from({ length: ROUNDS }, round));
}

function ringFor({ refused, proxyOf }: Case, count: number): Ring {
  const ring = keyRing(rowsOf(count, (index) => ({ proxy_sealed: proxyOf?.(index, count) ?? "" })));
  const fault = statusFault({ status: 404, body: undefined, text: "", retryAfterMs: 0, secrets: [] });
  const channel = channelOfKeys({ keys: ring, keyMode: "first" });
  for (let keyId = 1; keyId <= (refused?.(count) ?? 0); keyId += 1) {
    const failure = { model: MODEL, fault, isDisabling: false, isModelAbsent: true, now: NOW };
    ring.failed({ ...channel, keyId }, failure);
  }
  return ring;
}

/** A line for each case: the mode that costs most. */
export function keyChoiceLines(count: number): Line[] {
  return Object.entries(CASES).map(([name, made]) => {
    const ring = ringFor(made, count);
    const times = ["random", "round_robin", "weighted", "least_used", "first"].map((mode) =>
      choiceUs(ring, mode, made.proxyOf !== undefined),
    );
    const [cost, most] = [Math.max(...times), made.most ?? TARGET_US];
    return {
      case: `a choice among ${count} keys, ${name}`,
      measure: "µs",
      floor: undefined,
      tollgate: cost,
      compared: undefined,
      by: "value" as const,
      target: `≤ ${most} µs`,
      mark: cost <= most ? ("OK" as const) : ("MISS" as const),
    };
  });
}
