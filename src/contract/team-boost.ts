// What a team, its members and its projects may spend, raised for a while by who may set it (requirements L14).
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { Limit, OwnedBoost } from "./limit.ts";
import { IdParams, rowsOf } from "./wire.ts";

export const teamBoostApi = {
  boostLimit: endpoint({
    method: "PUT",
    path: "/api/team/:id/limit/boost",
    level: "user",
    right: "own",
    summary: "临时提高团队整体的一条限额，到期自动恢复；amount 为 0 时立即结束",
    params: IdParams,
    body: OwnedBoost,
    data: rowsOf(Limit),
  }),
  boostCap: endpoint({
    method: "PUT",
    path: "/api/team/:id/member/limit/boost",
    level: "user",
    right: "people",
    summary: "临时提高一个成员的一条上限，到期自动恢复；amount 为 0 时立即结束",
    params: IdParams,
    body: OwnedBoost.extend({ user_id: z.int().min(1) }),
    data: rowsOf(Limit),
  }),
  boostProject: endpoint({
    method: "PUT",
    path: "/api/team/:id/project/limit/boost",
    level: "user",
    right: "projects",
    summary: "临时提高一个项目的一条上限，到期自动恢复；amount 为 0 时立即结束",
    params: IdParams,
    body: OwnedBoost.extend({ project_id: z.int().min(1) }),
    data: rowsOf(Limit),
  }),
};
