// Tokens of a user of lower rank, for administrators: listed, made and limited. A key is in the answer that makes it, and nowhere else.
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { UsableGroup } from "./group.ts";
import { Limit, OwnedBoost, TokenLimits } from "./limit.ts";
import { Token, TokenDraft } from "./token.ts";
import { IdParams, ListBeside, ListQuery, rowsOf } from "./wire.ts";

/** The user's id and the token's. */
const Params = z.object({ ...IdParams.shape, token: IdParams.shape.id });

export const userTokenApi = {
  groups: endpoint({
    method: "GET",
    path: "/api/user/:id/groups",
    level: "admin",
    permission: "user.read",
    summary: "一个用户可以为令牌选择的分组及其倍率",
    params: IdParams,
    data: z.record(z.string(), UsableGroup),
  }),
  list: endpoint({
    method: "GET",
    path: "/api/user/:id/token/",
    level: "admin",
    permission: "user.read",
    summary: "一个用户的令牌，不含密钥",
    params: IdParams,
    query: ListQuery,
    data: rowsOf(Token),
    beside: ListBeside,
  }),
  create: endpoint({
    method: "POST",
    path: "/api/user/:id/token/",
    level: "admin",
    permission: "user.write",
    stepUp: "guarded",
    summary: "为一个用户创建令牌并通知该用户，返回含完整密钥的令牌",
    params: IdParams,
    body: TokenDraft,
    data: Token,
  }),
  limits: endpoint({
    method: "GET",
    path: "/api/user/:id/token/:token/limit",
    level: "admin",
    permission: "user.read",
    summary: "一个用户的一个令牌的限额",
    params: Params,
    data: rowsOf(Limit),
  }),
  setLimits: endpoint({
    method: "PUT",
    path: "/api/user/:id/token/:token/limit",
    level: "admin",
    permission: "user.write",
    summary: "设置一个用户的一个令牌的全部限额；带 id 的保留并继续计数，未列出的删除",
    params: Params,
    body: TokenLimits,
    data: rowsOf(Limit),
  }),
  boostLimit: endpoint({
    method: "PUT",
    path: "/api/user/:id/token/:token/limit/boost",
    level: "admin",
    permission: "user.write",
    summary: "临时提高一个用户的一个令牌的一条限额，到期自动恢复；amount 为 0 时立即结束",
    params: Params,
    body: OwnedBoost,
    data: rowsOf(Limit),
  }),
};
