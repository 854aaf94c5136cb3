// What administrators may be allowed one by one: permissions, and the sets that come with the program (requirements Z15). Data only; who may
// do what is decided in one function of the server.

/** `resource.verb` → what the console says. */
export const PERMISSIONS = {
  "channel.read": "查看渠道",
  "channel.test": "测试渠道、更新余额",
  "channel.write": "添加和编辑渠道",
  "channel.delete": "删除渠道",
  "channel.reveal": "导出渠道密钥",
  "user.read": "查看用户",
  "user.create": "创建用户",
  "user.write": "编辑用户与其令牌",
  "user.disable": "启用和禁用用户",
  "user.delete": "删除用户",
  "user.group.write": "修改用户分组",
  "user.role.write": "修改角色与权限",
  "user.mfa.reset": "重置验证方式",
  "user.session.end": "结束登录会话",
  "user.view_as": "以用户的身份查看（只读）",
  "money.read": "查看订单、套餐与对账",
  "money.adjust": "调整余额、处理订单",
  "money.topup": "为用户加减额度",
  "money.withdraw": "登记提现",
  "money.write": "管理支付渠道与套餐",
  "redemption.read": "查看兑换码列表",
  "redemption.write": "创建和编辑兑换码",
  "redemption.delete": "删除兑换码",
  "redemption.reveal": "查看兑换码内容",
  "log.read": "查看日志",
  "log.delete": "清理日志",
  "log.address.read": "查看来源地址",
  "option.read": "查看设置",
  "option.write": "修改设置",
  "team.read": "查看团队",
  "team.write": "管理团队",
  "team.wallet.adjust": "调整团队额度",
  "limit.read": "查看限额",
  "limit.write": "管理限额",
  "audit.read": "查看审计",
  "usage.read": "查看用量",
  "group.read": "查看分组名称",
  "price.read": "查看价格版本",
  "price.draft": "准备价格草稿",
  "price.write": "批准与发布价格",
  "provider.read": "查看登录服务",
  "provider.write": "管理登录服务",
  "alert.read": "查看通知",
  "alert.write": "管理通知",
  "service.read": "查看服务账户",
  "service.write": "管理服务账户",
} as const;
export type Permission = keyof typeof PERMISSIONS;

// The keys of the table are exactly Permission.
export const PERMISSION_NAMES = Object.keys(PERMISSIONS) as Permission[];

/** The heads of the permissions, in words. */
export const PERMISSION_RESOURCES: Readonly<Record<string, string>> = {
  channel: "渠道",
  user: "用户",
  money: "资金",
  redemption: "兑换码",
  log: "日志",
  option: "设置",
  team: "团队",
  limit: "限额",
  audit: "审计",
  usage: "用量",
  group: "分组",
  price: "价格",
  provider: "登录服务",
  alert: "消息通知",
  service: "服务账户",
};

/** Whether this is the name of a permission. */
export function isPermission(name: string): name is Permission {
  return Object.hasOwn(PERMISSIONS, name);
}

/**
 * What only super administrators may do, whatever a set says: no set may hold it, so that none can grow by its own doing and none opens
 * what administrators never could.
 */
export const SUPER_ONLY: readonly Permission[] = [
  "user.role.write",
  "channel.reveal",
  "money.write",
  "price.write",
  "provider.read",
  "provider.write",
  "alert.read",
  "alert.write",
];

/** What a set may hold. */
export const GRANTABLE: readonly Permission[] = PERMISSION_NAMES.filter((name) => !SUPER_ONLY.includes(name));

/** What a service account may hold: none makes another, so that none outlives its day, and none has a console to look at. */
export const SERVICE_GRANTABLE: readonly Permission[] = GRANTABLE.filter(
  (name) => name !== "service.write" && name !== "user.view_as",
);

/** The sets that every installation begins with. A new permission comes into none of them by itself. */
export const BUILT_IN_SETS: readonly {
  readonly name: string;
  readonly permissions: readonly Permission[];
}[] = [
  {
    name: "审计员",
    permissions: [
      "channel.read",
      "user.read",
      "money.read",
      "redemption.read",
      "log.read",
      "log.address.read",
      "option.read",
      "team.read",
      "limit.read",
      "audit.read",
      "usage.read",
      "group.read",
      "price.read",
    ],
  },
  {
    name: "财务",
    permissions: [
      "money.read",
      "money.adjust",
      "money.topup",
      "money.withdraw",
      "redemption.read",
      "usage.read",
      "log.read",
      "user.read",
      "team.read",
    ],
  },
  {
    name: "客服",
    permissions: ["user.read", "user.session.end", "user.mfa.reset", "log.read", "usage.read"],
  },
  {
    name: "渠道运维",
    permissions: [
      "channel.read",
      "channel.test",
      "channel.write",
      "channel.delete",
      "group.read",
      "price.read",
      "usage.read",
      "log.read",
    ],
  },
];
