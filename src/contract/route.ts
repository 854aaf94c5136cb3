// The route explainer (路由解释): why calls go to which channel, and why not to the others (requirements C47). For administrators alone.
import { z } from "zod";
import { CHANNEL_LIMITS } from "./channel-limits.ts";
import { endpoint } from "./endpoint.ts";
import { CHANNEL_STRATEGIES } from "./strategy.ts";
import { IdParams, ListBeside, ListQuery, query, rowsOf } from "./wire.ts";

/**
 * What becomes of a channel. `next`: calls go to one of these, by their odds. `tried` and `chosen` stand in the log alone, of a call that
 * was made.
 */
export const ROUTE_VERDICTS = [
  "next",
  "chosen",
  "left",
  "tried",
  "limited",
  "resting",
  "priority_lower",
  "weight_zero",
  "format_other",
  "dearer",
  "slower",
  "endpoint_absent",
  "price_missing",
  "below_cost",
  "keys_none",
  "disabled",
  "auto_disabled",
  "group",
  "model",
  "rule",
] as const;
export type RouteVerdict = (typeof ROUTE_VERDICTS)[number];

/** In words, with what a number or a name beside it means. */
export const ROUTE_VERDICT_LABELS: Readonly<Record<RouteVerdict, string>> = {
  next: "可选",
  chosen: "已选",
  left: "可选",
  tried: "已失败",
  limited: "达到限额",
  resting: "暂停中",
  priority_lower: "优先级较低",
  weight_zero: "权重为 0",
  format_other: "格式不同",
  dearer: "成本较高",
  slower: "延迟较高",
  endpoint_absent: "不支持此接口",
  price_missing: "没有价格",
  below_cost: "低于成本",
  keys_none: "没有可用密钥",
  disabled: "已禁用",
  auto_disabled: "自动禁用",
  group: "不在分组",
  model: "没有此模型",
  rule: "规则排除",
};

/** Of `resting`: what rests. */
export const ROUTE_RESTS = ["", "circuit", "proxy", "keys"] as const;

/** What becomes of one of several keys. `next`: it gets calls of its channel, by its odds; `later`: when those before it rest. */
export const KEY_VERDICTS = [
  "next",
  "later",
  "weight_zero",
  "limited",
  "resting",
  "model",
  "auto_disabled",
  "disabled",
] as const;
export type KeyVerdict = (typeof KEY_VERDICTS)[number];

/** Why a key rests: it was refused, may not do something, does not know the model, has no room, or its own proxy failed. */
export const KEY_RESTS = ["", "refused", "forbidden", "model_absent", "saturated", "proxy"] as const;

const RouteLimit = z.object({
  name: z.enum(CHANNEL_LIMITS),
  amount: z.int(),
  /** At this moment, over all nodes; of more than 120 calls a minute as a share of those that may come at once. */
  left: z.int(),
});
export type RouteLimit = z.output<typeof RouteLimit>;

const RouteKey = z.object({
  id: z.int(),
  name: z.string(),
  verdict: z.enum(KEY_VERDICTS),
  /** From 0 to 1: how many of its channel's next calls get it. Calls of one conversation keep their key. */
  odds: z.number(),
  weight: z.int(),
  /** Why it rests, also of one that is `next` since all do. */
  rests: z.enum(KEY_RESTS),
  /** Of `limited`: which limit. */
  limit: z.enum(["", ...CHANNEL_LIMITS]),
  /** When it is over; seconds, 0 = not known, or it does not rest. */
  until: z.int(),
  /** Of those that are disabled: why, and since when (seconds). */
  reason: z.string(),
  since: z.int(),
  in_flight: z.int(),
  limits: z.array(RouteLimit),
  /** Its own, without credentials; "" = the channel's. */
  proxy: z.string(),
});
export type RouteKey = z.output<typeof RouteKey>;

/** How many keys have which verdict. */
const KeyCount = z.object({ verdict: z.enum(KEY_VERDICTS), count: z.int() });
export type KeyCount = z.output<typeof KeyCount>;

export const RouteChannel = z.object({
  id: z.int(),
  name: z.string(),
  type: z.int(),
  priority: z.int(),
  weight: z.int(),
  verdict: z.enum(ROUTE_VERDICTS),
  /** Of `limited`: which limit, and whether it is its keys'. */
  limit: z.enum(["", ...CHANNEL_LIMITS]),
  limit_of: z.enum(["channel", "key"]),
  rests: z.enum(ROUTE_RESTS),
  /** When it is over, as far as this node knows; seconds, 0 = not known. */
  until: z.int(),
  /** Of those that are disabled: why, and since when (seconds). */
  reason: z.string(),
  since: z.int(),
  /** From 0 to 1: how many of the next calls go there. */
  odds: z.number(),
  /** The name that is sent upstream. */
  upstream_model: z.string(),
  /** Quota of a million LLM tokens of input and of output; null = it has no price, or is not paid by the token. */
  price: z.object({ input: z.int(), output: z.int() }).nullable().default(null),
  /** What a million LLM tokens cost there, a quarter of them output, by the price of the upstream model; null = it has none. Quota. */
  cost: z.number().nullable().default(null),
  /** To the first event of a stream, as this node knows; 0 = not known: it is measured where channels are chosen by it. */
  latency_ms: z.int(),
  in_flight: z.int(),
  limits: z.array(RouteLimit),
  /** Of several keys: how many there are of each verdict (their page: /api/route/keys/:id), and in all; of one key none. */
  keys: z.array(KeyCount),
  keys_total: z.int(),
});
export type RouteChannel = z.output<typeof RouteChannel>;

export const RouteExplanation = z.object({
  group: z.string(),
  model: z.string(),
  /** Calls in this format are paid by the LLM token. */
  by_token: z.boolean(),
  /** How calls are shared among channels of the same priority. */
  strategy: z.enum(CHANNEL_STRATEGIES),
  native_first: z.boolean(),
  /** The rule of routing that holds for it; "" = none does. */
  rule: z.string(),
  /** Why no channel serves; "" = one does. */
  refusal: z.string(),
  /** Every channel, those that serve first. */
  channels: z.array(RouteChannel),
});
export type RouteExplanation = z.output<typeof RouteExplanation>;

/** What became of one candidate of a call that was made. */
const KeptCandidate = z.object({
  id: z.int(),
  /** As it is called now. */
  name: z.string(),
  verdict: z.enum(ROUTE_VERDICTS),
  /** Why it failed, of `tried`: as in the log. */
  error: z.string(),
  said: z.string(),
});

/** Why a call went where it went, as it was when it was made. */
export const RouteDecision = z.object({
  log_id: z.int(),
  request_id: z.string(),
  created_at: z.int(),
  user_id: z.int(),
  model: z.string(),
  /** Which channel and key served; 0 = none, or it has one key. */
  channel: z.int(),
  key_id: z.int(),
  /** It ended with an answer that was charged. */
  served: z.boolean(),
  /** The groups in the order in which they were tried; empty = the call is older than what is kept. */
  groups: z.array(
    z.object({
      group: z.string(),
      strategy: z.enum(CHANNEL_STRATEGIES),
      native_first: z.boolean(),
      /** Calls of one conversation keep their channel. */
      sticky: z.boolean(),
      candidates: z.array(KeptCandidate),
      /** Candidates that are not named. */
      more: z.int(),
    }),
  ),
});
export type RouteDecision = z.output<typeof RouteDecision>;

export const routeApi = {
  call: endpoint({
    method: "GET",
    path: "/api/route/call/:id",
    level: "admin",
    permission: "log.read",
    summary: "一次调用（日志编号）当时为什么走这个渠道，或为什么没有渠道：各分组的候选渠道与结论",
    params: IdParams,
    data: RouteDecision,
  }),
  explain: endpoint({
    method: "GET",
    path: "/api/route/explain",
    level: "admin",
    permission: "channel.read",
    summary:
      "路由解释：令牌（token_id）、用户（user_id）或分组（group）以某种接口（format）调用模型时，每个渠道与密钥是否可选及原因，按本节点此刻的状态",
    query: z.object({
      token_id: query.count,
      user_id: query.count,
      group: query.text,
      model: query.text,
      /** A name of `relay-endpoint.ts`; "" = chat. */
      format: query.text,
      /** Size of the request's body, for rules that go by it. */
      kib: query.count,
    }),
    data: RouteExplanation,
    beside: z.object({
      /** The other groups of the token, in the order in which they are tried when this one has no channel left. */
      further: z.array(RouteExplanation),
    }),
  }),
  keys: endpoint({
    method: "GET",
    path: "/api/route/keys/:id",
    level: "admin",
    permission: "channel.read",
    summary:
      "路由解释：一个多密钥渠道（渠道编号）的密钥对某个模型（model）与接口（format）是否可选、原因、几率与剩余限额，按结论（verdict）筛选，可选的在前，分页",
    params: IdParams,
    query: ListQuery.extend({
      model: query.text,
      /** A name of `relay-endpoint.ts`; "" = chat. */
      format: query.text,
      verdict: query.text,
    }),
    data: rowsOf(RouteKey),
    beside: ListBeside.extend({ counts: z.array(KeyCount) }),
  }),
};
