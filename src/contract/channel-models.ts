// What the list of models of a channel's upstream says beside the channel's own: new names, names that are gone, names that are spelt otherwise
// (requirements C46). Nothing of it happens by itself: an administrator applies it.
import { z } from "zod";
import { Channel } from "./channel.ts";
import { endpoint } from "./endpoint.ts";
import { IdParams } from "./wire.ts";

const MOST = 2_000;
const ModelName = z.string().min(1).max(200, "模型名称过长");
const ModelNames = z.array(ModelName).max(MOST, "一次最多 2000 个模型").default([]);

export const FreshModel = z.object({
  name: z.string(),
  /** Without a price its calls are refused, so that it is not added. */
  priced: z.boolean(),
});
export type FreshModel = z.output<typeof FreshModel>;

export const GoneModel = z.object({
  /** As clients call it, and as the upstream was asked for it. */
  name: z.string(),
  upstream: z.string(),
  /** What the upstream has of nearly that name; "" = nothing. */
  like: z.string(),
  /** Calls of the last 24 hours: a model in use is not removed. */
  calls: z.int(),
});
export type GoneModel = z.output<typeof GoneModel>;

export const ModelComparison = z.object({
  /** Seconds; 0 = never. */
  checked_time: z.int(),
  /** How many models the upstream had when its list was last taken; 0 = none was. */
  total: z.int(),
  /** Why the last list was not taken; "" = it was. */
  problem: z.string(),
  /** It was not taken because it had less than half of the models of the one before. */
  halved: z.boolean(),
  fresh: z.array(FreshModel),
  gone: z.array(GoneModel),
});
export type ModelComparison = z.output<typeof ModelComparison>;

export const channelModelsApi = {
  get: endpoint({
    method: "GET",
    path: "/api/channel/:id/upstream_models",
    level: "admin",
    permission: "channel.read",
    summary: "渠道的模型与上游模型列表的差异：新增的、消失的、改了写法的；不查询上游",
    params: IdParams,
    data: ModelComparison,
  }),
  check: endpoint({
    method: "POST",
    path: "/api/channel/:id/upstream_models/check",
    level: "admin",
    permission: "channel.test",
    summary: "查询上游的模型列表并比较；少了一半以上的列表不采用，accept 为 true 时采用",
    params: IdParams,
    body: z.object({ accept: z.boolean().default(false) }),
    data: ModelComparison,
  }),
  apply: endpoint({
    method: "POST",
    path: "/api/channel/:id/upstream_models/apply",
    level: "admin",
    permission: "channel.write",
    stepUp: "guarded",
    summary:
      "采用差异：add 添加，remove 移除（过去 24 小时有调用的不移除），rename 改为重定向到上游的新写法，ignore 不再提示",
    params: IdParams,
    body: z.object({ add: ModelNames, remove: ModelNames, rename: ModelNames, ignore: ModelNames }),
    data: Channel,
  }),
};
