// The pages of administrators. A bad permission here shows a page whose calls are refused: rights are the server's.
import {
  AccountBookOutlined,
  ApiOutlined,
  AuditOutlined,
  CreditCardOutlined,
  LineChartOutlined,
  PayCircleOutlined,
  ReconciliationOutlined,
  TagsOutlined,
  TeamOutlined,
} from "@ant-design/icons";
import type { PageRow } from "#console/ui/shell/nav.ts";
import { formPages, tokenLimitPages } from "./rows.ts";

const OF_CHANNEL = { access: "admin", permission: "channel.read", parent: "/channel" } as const;
const OF_PRICE = { access: "admin", permission: "price.read", parent: "/price" } as const;
const loadPriceEdit = async () => (await import("#console/pages/price/edit.tsx")).PriceEditPage;
const loadPriceUpdate = async () => (await import("#console/pages/price/list-update.tsx")).PriceUpdatePage;
const loadRatios = async () => (await import("#console/pages/setting/ratios.tsx")).RatiosPage;
const loadKeys = async () => (await import("#console/pages/channel/keys.tsx")).ChannelKeysPage;
const loadModels = async () => (await import("#console/pages/channel/models.tsx")).ChannelModelsPage;
const loadRules = async () => (await import("#console/pages/channel/rules.tsx")).RouteRulesPage;
const loadRoute = async () => (await import("#console/pages/channel/route.tsx")).RouteExplainPage;

/** Pages inside the shell, for administrators. */
export const adminPages: readonly PageRow[] = [
  {
    path: "/channel",
    title: "管理渠道",
    access: "admin",
    permission: "channel.read",
    menu: { group: "管理", label: "渠道", icon: <ApiOutlined aria-hidden="true" /> },
    load: async () => (await import("#console/pages/channel/list.tsx")).ChannelListPage,
  },
  { ...OF_CHANNEL, path: "/channel/keys/:channel", title: "渠道密钥", load: loadKeys },
  { ...OF_CHANNEL, path: "/channel/models/:channel", title: "上游模型", load: loadModels },
  { ...OF_CHANNEL, path: "/channel/route", title: "路由解释", load: loadRoute },
  { ...OF_CHANNEL, path: "/channel/rules", permission: "option.write", title: "路由规则", load: loadRules },
  ...formPages(
    { add: "添加新的渠道", edit: "编辑渠道" },
    {
      access: "admin",
      permission: "channel.write",
      parent: "/channel",
      load: async () => (await import("#console/pages/channel/form.tsx")).ChannelFormPage,
    },
  ),
  {
    path: "/redemption",
    title: "管理兑换码",
    access: "admin",
    permission: "redemption.read",
    menu: { group: "管理", label: "兑换", icon: <TagsOutlined aria-hidden="true" /> },
    load: async () => (await import("#console/pages/redemption/list.tsx")).RedemptionListPage,
  },
  ...formPages(
    { add: "添加新的兑换码", edit: "编辑兑换码" },
    {
      access: "admin",
      permission: "redemption.write",
      parent: "/redemption",
      load: async () => (await import("#console/pages/redemption/form.tsx")).RedemptionFormPage,
    },
  ),
  {
    path: "/payment",
    title: "支付管理",
    access: "admin",
    permission: "money.read",
    menu: { group: "管理", label: "支付", icon: <PayCircleOutlined aria-hidden="true" /> },
    load: async () => (await import("#console/pages/payment/page.tsx")).PaymentPage,
  },
  {
    path: "/payment/order/:no",
    title: "订单详情",
    access: "admin",
    permission: "money.read",
    parent: "/payment",
    load: async () => (await import("#console/pages/payment/order.tsx")).PaymentOrderPage,
  },
  ...formPages(
    { add: "添加新的支付渠道", edit: "编辑支付渠道" },
    {
      access: "admin",
      permission: "money.write",
      parent: "/payment",
      load: async () => (await import("#console/pages/payment/instance-form.tsx")).InstanceFormPage,
    },
  ),
  {
    path: "/plan",
    title: "管理套餐",
    access: "admin",
    permission: "money.read",
    menu: { group: "管理", label: "套餐", icon: <CreditCardOutlined aria-hidden="true" /> },
    load: async () => (await import("#console/pages/payment/plans.tsx")).PlansPage,
  },
  ...formPages(
    { add: "添加新的套餐", edit: "编辑套餐" },
    {
      access: "admin",
      permission: "money.write",
      parent: "/plan",
      load: async () => (await import("#console/pages/payment/plan-form.tsx")).PlanFormPage,
    },
  ),
  {
    path: "/price",
    title: "模型与价格",
    access: "admin",
    permission: "price.read",
    menu: { group: "管理", label: "模型与价格", icon: <AccountBookOutlined aria-hidden="true" /> },
    load: async () => (await import("#console/pages/price/models.tsx")).ModelPricesPage,
  },
  {
    path: "/margin",
    title: "毛利",
    access: "admin",
    permission: "money.read",
    menu: { group: "管理", label: "毛利", icon: <LineChartOutlined aria-hidden="true" /> },
    load: async () => (await import("#console/pages/margin/page.tsx")).MarginPage,
  },
  { ...OF_PRICE, permission: "option.write", path: "/price/edit", title: "编辑价格", load: loadPriceEdit },
  { ...OF_PRICE, path: "/price/update", title: "从价目表更新价格", load: loadPriceUpdate },
  {
    ...OF_PRICE,
    parent: "/price/update",
    path: "/price/draft/:draft",
    title: "价格草稿",
    load: async () => (await import("#console/pages/price/draft.tsx")).PriceDraftPage,
  },
  { ...OF_PRICE, permission: "option.read", path: "/price/ratio", title: "倍率与 JSON", load: loadRatios },
  {
    path: "/reconciliation",
    title: "对账",
    access: "admin",
    permission: "money.read",
    menu: { group: "管理", label: "对账", icon: <ReconciliationOutlined aria-hidden="true" /> },
    load: async () => (await import("#console/pages/payment/books.tsx")).BooksPage,
  },
  {
    path: "/audit",
    title: "审计",
    access: "admin",
    permission: "audit.read",
    menu: { group: "管理", label: "审计", icon: <AuditOutlined aria-hidden="true" /> },
    load: async () => (await import("#console/pages/audit/page.tsx")).AuditPage,
  },
  {
    path: "/user",
    title: "管理用户",
    access: "admin",
    permission: "user.read",
    menu: { group: "管理", label: "用户", icon: <TeamOutlined aria-hidden="true" /> },
    load: async () => (await import("#console/pages/user/list.tsx")).UserListPage,
  },
  {
    path: "/user/add",
    title: "添加新的用户",
    access: "admin",
    permission: "user.create",
    parent: "/user",
    load: async () => (await import("#console/pages/user/new-form.tsx")).NewUserPage,
  },
  {
    path: "/user/invitation",
    title: "邀请",
    access: "admin",
    permission: "user.create",
    parent: "/user",
    load: async () => (await import("#console/pages/user/invitations.tsx")).InvitationsPage,
  },
  ...formPages(
    { add: "添加新的邀请", edit: "编辑邀请" },
    {
      access: "admin",
      parent: "/user/invitation",
      load: async () => (await import("#console/pages/user/invitation-form.tsx")).NewInvitationPage,
    },
  ).slice(0, 1),
  {
    path: "/user/edit/:id",
    title: "编辑用户",
    access: "admin",
    permission: "user.read",
    parent: "/user",
    load: async () => (await import("#console/pages/user/edit-form.tsx")).EditUserPage,
  },
  {
    path: "/user/token/:user",
    title: "用户的令牌",
    access: "admin",
    permission: "user.read",
    parent: "/user",
    load: async () => (await import("#console/pages/token/of-user.tsx")).UserTokensPage,
  },
  {
    path: "/user/token/:user/add",
    title: "为用户添加令牌",
    access: "admin",
    permission: "user.write",
    parent: "/user",
    load: async () => (await import("#console/pages/token/of-user.tsx")).UserTokenFormPage,
  },
  ...tokenLimitPages(
    { access: "admin", permission: "user.read", parent: "/user" },
    "/user/token/:user/limit/:token",
  ),
  {
    path: "/staff",
    title: "权限集",
    access: "admin",
    permission: "user.role.write",
    parent: "/user",
    load: async () => (await import("#console/pages/staff/list.tsx")).StaffSetsPage,
  },
  ...formPages(
    { add: "添加新的权限集", edit: "编辑权限集" },
    {
      access: "admin",
      permission: "user.role.write",
      parent: "/staff",
      load: async () => (await import("#console/pages/staff/form.tsx")).StaffSetFormPage,
    },
  ),
  {
    path: "/service-account",
    title: "服务账户",
    access: "admin",
    permission: "service.read",
    parent: "/user",
    load: async () => (await import("#console/pages/service-account/list.tsx")).ServiceAccountsPage,
  },
  ...formPages(
    { add: "添加新的服务账户", edit: "编辑服务账户" },
    {
      access: "admin",
      permission: "service.write",
      parent: "/service-account",
      load: async () => (await import("#console/pages/service-account/form.tsx")).NewServiceAccountPage,
    },
  ).slice(0, 1),
  {
    path: "/alert",
    title: "通知",
    access: "admin",
    permission: "alert.read",
    parent: "/setting",
    load: async () => (await import("#console/pages/alert/page.tsx")).AlertPage,
  },
  ...formPages(
    { add: "添加新的通知对象", edit: "编辑通知对象" },
    {
      access: "admin",
      permission: "alert.write",
      parent: "/alert",
      load: async () => (await import("#console/pages/alert/form.tsx")).AlertTargetFormPage,
    },
  ),
  {
    path: "/login-provider",
    title: "登录服务",
    access: "admin",
    permission: "provider.read",
    parent: "/setting",
    load: async () => (await import("#console/pages/sign-on/list.tsx")).LoginProvidersPage,
  },
  ...formPages(
    { add: "添加新的登录服务", edit: "编辑登录服务" },
    {
      access: "admin",
      permission: "provider.write",
      parent: "/login-provider",
      load: async () => (await import("#console/pages/sign-on/form.tsx")).LoginProviderFormPage,
    },
  ),
  {
    path: "/mail-domain",
    title: "邮箱域名",
    access: "admin",
    permission: "provider.read",
    parent: "/login-provider",
    load: async () => (await import("#console/pages/mail-domain/list.tsx")).MailDomainsPage,
  },
  ...formPages(
    { add: "添加新的邮箱域名", edit: "编辑邮箱域名" },
    {
      access: "admin",
      permission: "provider.write",
      parent: "/mail-domain",
      load: async () => (await import("#console/pages/mail-domain/form.tsx")).MailDomainFormPage,
    },
  ),
];
