// Renaming of user groups, for super administrators (requirements K16).
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { GroupName } from "./group.ts";

/** Rules of login providers name no longer ones. */
const NewName = GroupName.max(32, "分组名最多 32 个字符");

/** How many of each named the group. */
export const GroupRenaming = z.object({
  users: z.int(),
  channels: z.int(),
  tokens: z.int(),
  limits: z.int(),
  plans: z.int(),
});
export type GroupRenaming = z.output<typeof GroupRenaming>;

export const groupAdminApi = {
  rename: endpoint({
    method: "POST",
    path: "/api/group/rename",
    level: "root",
    permission: "option.write",
    stepUp: "guarded",
    summary: "重命名分组：倍率、用户、渠道、令牌、限额、套餐与登录规则一并修改，旧日志保留原名",
    body: z.object({ from: z.string().min(1, "请填写分组名"), to: NewName }),
    data: GroupRenaming,
  }),
};
