// The actor's own account beside its profile: access token, invitation code, usage by day, and its end (requirements W3.3).
import { z } from "zod";
import { TurnstileProof } from "./auth.ts";
import { endpoint } from "./endpoint.ts";
import { Nothing, Quota, query, rowsOf } from "./wire.ts";

/** Consumption of one day and model. The family writes these keys with capitals. */
export const DashboardRow = z.object({
  /** Day in UTC, `2026-11-20`. */
  Day: z.string(),
  ModelName: z.string(),
  RequestCount: z.int(),
  Quota: Quota,
  PromptTokens: z.int(),
  CompletionTokens: z.int(),
});
export type DashboardRow = z.output<typeof DashboardRow>;

export const accountApi = {
  accessToken: endpoint({
    method: "GET",
    path: "/api/user/token",
    level: "user",
    stepUp: "guarded",
    mutates: true,
    summary: "生成新的系统访问令牌（32 位十六进制），旧的立即失效；只在此处返回一次",
    data: z.string(),
  }),
  affCode: endpoint({
    method: "GET",
    path: "/api/user/aff",
    level: "user",
    summary: "我的邀请码，没有则生成",
    data: z.string(),
  }),
  dashboard: endpoint({
    method: "GET",
    path: "/api/user/dashboard",
    level: "user",
    summary: "最近 7 天（UTC，含今天）按日与模型的消费",
    data: rowsOf(DashboardRow),
  }),
  removeSelf: endpoint({
    method: "DELETE",
    path: "/api/user/self",
    level: "user",
    stepUp: "guarded",
    turnstile: true,
    summary: "注销自己的账户；带 username 时须与自己的用户名一致",
    query: z.object({
      turnstile: TurnstileProof,
      /** The name that was typed to confirm; checked when given (requirements A26). */
      username: query.text,
    }),
    data: Nothing,
  }),
};
