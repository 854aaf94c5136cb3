// How calls are shared among channels of the same priority (requirements C42, C43): words that options, explainer and console share.

/** `weight`: by their weights; `latency`: two by weight, then the faster; `cost`: by weight among the cheapest. */
export const CHANNEL_STRATEGIES = ["weight", "latency", "cost"] as const;
export type ChannelStrategy = (typeof CHANNEL_STRATEGIES)[number];

export const CHANNEL_STRATEGY_LABELS: Readonly<Record<ChannelStrategy, string>> = {
  weight: "按权重",
  latency: "延迟最低",
  cost: "成本最低",
};

/** Whether a value names one. */
export function isStrategy(value: unknown): value is ChannelStrategy {
  return CHANNEL_STRATEGIES.some((name) => name === value);
}
