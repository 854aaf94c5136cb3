// Redemption codes (兑换码) as administrators see them (requirements W3.8).
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import {
  IdParams,
  InBlocks,
  ListBeside,
  ListQuery,
  MadeBetween,
  Nothing,
  Quota,
  query,
  rowsOf,
  SearchQuery,
} from "./wire.ts";

export const RedemptionStatus = { unused: 1, disabled: 2, used: 3 } as const;

export const Redemption = z.object({
  id: z.int(),
  /** The user that made it. */
  user_id: z.int(),
  /** 32 lower-case hex characters; "" while opening it cannot be written down (docs/decisions/016). */
  key: z.string(),
  status: z.int(),
  name: z.string(),
  quota: Quota,
  /** What it was sold for, in fen, for margins alone; 0 = it is given away, -1 = what codes are sold for. Our addition. */
  price_minor: z.int().default(-1),
  created_time: z.int(),
  /** Seconds; 0 = not redeemed. */
  redeemed_time: z.int(),
  /** Of a creation only; always 0 in answers. */
  count: z.int().default(0),
  /** The user that redeemed it; 0 = not redeemed. Our addition. */
  used_user_id: z.int().default(0),
});
export type Redemption = z.output<typeof Redemption>;

const Name = z.string().trim().min(1, "请输入名称").max(20, "名称须为 1 到 20 个字符");
const Price = z.int().min(-1).max(100_000_000, "售价最多 1000000 元");
const Worth = Quota.min(1, "额度须大于 0").max(Number.MAX_SAFE_INTEGER);

export const RedemptionDraft = z.object({
  name: Name,
  /** Quota units of each code; default of requirements B9. */
  quota: Worth.default(100_000),
  price_minor: Price.default(-1),
  count: z.int().min(1, "数量须在 1 到 100 之间").max(100, "数量须在 1 到 100 之间").default(1),
});
export type RedemptionDraft = z.output<typeof RedemptionDraft>;

/** A full update carries name, quota and price; with `status_only` just `status` counts (requirements B7). */
export const RedemptionUpdate = z.object({
  id: z.int().min(1),
  status: z.int().optional(),
  name: Name.optional(),
  quota: Worth.optional(),
  price_minor: Price.optional(),
});
export type RedemptionUpdate = z.output<typeof RedemptionUpdate>;

/** Which codes are listed; 0 = all. */
const OfCodes = { status: query.count, used_user_id: query.count, ...MadeBetween, ...InBlocks };

export const redemptionApi = {
  list: endpoint({
    method: "GET",
    path: "/api/redemption/",
    level: "admin",
    permission: "redemption.read",
    stepUp: "guarded",
    summary: "兑换码，可按状态、兑换用户与创建时间筛选；export 时成批返回且不含密钥，用于导出",
    query: ListQuery.extend(OfCodes),
    data: rowsOf(Redemption),
    beside: ListBeside,
  }),
  search: endpoint({
    method: "GET",
    path: "/api/redemption/search",
    level: "admin",
    permission: "redemption.read",
    stepUp: "guarded",
    summary: "按 ID 或名称前缀搜索兑换码，筛选同上",
    query: SearchQuery.extend(OfCodes),
    data: rowsOf(Redemption),
    beside: ListBeside,
  }),
  get: endpoint({
    method: "GET",
    path: "/api/redemption/:id",
    level: "admin",
    permission: "redemption.read",
    stepUp: "guarded",
    summary: "一个兑换码",
    params: IdParams,
    data: Redemption,
  }),
  create: endpoint({
    method: "POST",
    path: "/api/redemption/",
    level: "admin",
    permission: "redemption.write",
    stepUp: "guarded",
    summary:
      "生成 1 到 100 个兑换码，返回新码；price_minor 为售价（分），只用于计算毛利，0 为赠送，-1 为按平均实收；带 Idempotency-Key 的重复请求返回同一批",
    body: RedemptionDraft,
    data: z.array(z.string()),
  }),
  update: endpoint({
    method: "PUT",
    path: "/api/redemption/",
    level: "admin",
    permission: "redemption.write",
    stepUp: "guarded",
    summary: "修改兑换码的名称、额度与售价；status_only 时只改状态，已使用的不能改",
    query: z.object({ status_only: query.text }),
    body: RedemptionUpdate,
    data: Redemption,
  }),
  remove: endpoint({
    method: "DELETE",
    path: "/api/redemption/:id",
    level: "admin",
    permission: "redemption.delete",
    summary: "删除兑换码",
    params: IdParams,
    data: Nothing,
  }),
};
