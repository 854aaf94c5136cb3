// Looking at the console as another user does (requirements Z24): read only, told in the audit log, for half an hour at most. It is of the
// session that began it, and so of all its windows.
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { IdParams, Nothing } from "./wire.ts";

/** How long a view lasts at most. Unit: seconds. */
export const VIEW_SEC = 1_800;

export const viewApi = {
  start: endpoint({
    method: "POST",
    path: "/api/user/:id/view",
    level: "admin",
    permission: "user.view_as",
    stepUp: "guarded",
    summary:
      "以级别低于自己的用户的身份查看控制台：只读，不显示密钥，最多 30 分钟；须在控制台登录后使用，随会话结束",
    params: IdParams,
    data: z.object({
      /** Seconds. */
      until: z.int(),
    }),
  }),
  end: endpoint({
    method: "POST",
    path: "/api/user/view/end",
    level: "user",
    endsView: true,
    summary: "结束以其他用户的身份查看",
    data: Nothing,
  }),
};
