// The table of pages. Adding a page is one row here: router, menu, guard, title and breadcrumb follow.
import {
  ApiOutlined,
  AuditOutlined,
  BookOutlined,
  ControlOutlined,
  CreditCardOutlined,
  DashboardOutlined,
  DollarOutlined,
  ExperimentOutlined,
  FileSearchOutlined,
  GiftOutlined,
  KeyOutlined,
  MessageOutlined,
  PayCircleOutlined,
  ProfileOutlined,
  ReconciliationOutlined,
  ScheduleOutlined,
  SettingOutlined,
  TagsOutlined,
  TeamOutlined,
  UsergroupAddOutlined,
  WalletOutlined,
} from "@ant-design/icons";
import type { ComponentType } from "react";
import { createBrowserRouter, type RouteObject } from "react-router";
import { inTime } from "#console/base/chunk.ts";
import { RouteFault } from "#console/ui/route-fault.tsx";
import type { PageRow } from "#console/ui/shell/nav.ts";
import { guestPages } from "./routes-guest.ts";

const loadShell = async () => (await import("#console/ui/shell/shell.tsx")).Shell;

/** Mostly today's calls are looked for; the bare address shows all of them (requirements B9). */
function sinceMidnight(): string {
  return `?start=${new Date().setHours(0, 0, 0, 0) / 1000}`;
}

/** The two addresses of a form: for what is new, and for a row. */
function formPages(
  noun: string,
  row: Pick<PageRow, "access" | "load"> & { readonly parent: string },
): PageRow[] {
  return [
    { ...row, path: `${row.parent}/add`, title: `添加新的${noun}` },
    { ...row, path: `${row.parent}/edit/:id`, title: `编辑${noun}` },
  ];
}

/** The limits of one token, and their form. */
function tokenLimitPages(
  row: Pick<PageRow, "access"> & { readonly parent: string },
  base: string,
): PageRow[] {
  const load = () => import("./pages/limit/token-pages.tsx");
  const loadForm = async () => (await load()).TokenLimitFormPage;
  return [
    { ...row, path: base, title: "令牌限额", load: async () => (await load()).TokenLimitPage },
    { ...row, path: `${base}/add`, title: "添加新的限额", load: loadForm },
    { ...row, path: `${base}/edit/:id`, title: "编辑限额", load: loadForm },
  ];
}

/** What stands beneath the lists of teams and of channels. */
const OF_TEAM = { access: "user", parent: "/team" } as const;
const OF_CHANNEL = { access: "admin", parent: "/channel" } as const;
const loadJoin = async () => (await import("./pages/team/join.tsx")).JoinTeamPage;
const loadTeam = async () => (await import("./pages/team/page.tsx")).TeamPage;
const loadKeys = async () => (await import("./pages/channel/keys.tsx")).ChannelKeysPage;
const loadRoute = async () => (await import("./pages/channel/route.tsx")).RouteExplainPage;

/** Pages inside the shell. */
export const consolePages: readonly PageRow[] = [
  {
    path: "/dashboard",
    title: "总览",
    access: "user",
    menu: { group: "控制台", label: "总览", icon: <DashboardOutlined aria-hidden="true" /> },
    load: async () => (await import("./pages/dashboard/page.tsx")).DashboardPage,
  },
  {
    path: "/token",
    title: "我的令牌",
    access: "user",
    menu: { group: "控制台", label: "令牌", icon: <KeyOutlined aria-hidden="true" /> },
    load: async () => (await import("./pages/token/list.tsx")).TokenListPage,
  },
  ...formPages("令牌", {
    access: "user",
    parent: "/token",
    load: async () => (await import("./pages/token/form.tsx")).TokenFormPage,
  }),
  ...tokenLimitPages({ access: "user", parent: "/token" }, "/token/limit/:token"),
  {
    path: "/team",
    title: "团队",
    access: "user",
    menu: { group: "控制台", label: "团队", icon: <UsergroupAddOutlined aria-hidden="true" /> },
    load: async () => (await import("./pages/team/list.tsx")).TeamListPage,
  },
  { ...OF_TEAM, path: "/team/join", title: "加入团队", load: loadJoin },
  { ...OF_TEAM, path: "/team/:id", title: "团队详情", load: loadTeam },
  {
    path: "/limit",
    title: "限额",
    access: "user",
    menu: { group: "控制台", label: "限额", icon: <ControlOutlined aria-hidden="true" /> },
    load: async () => (await import("./pages/limit/page.tsx")).LimitPage,
  },
  ...formPages("限额", {
    access: "admin",
    parent: "/limit",
    load: async () => (await import("./pages/limit/form.tsx")).LimitFormPage,
  }),
  {
    path: "/log",
    title: "使用明细",
    access: "user",
    menu: {
      group: "控制台",
      label: "日志",
      icon: <FileSearchOutlined aria-hidden="true" />,
      search: sinceMidnight,
    },
    load: async () => (await import("./pages/log/list.tsx")).LogListPage,
  },
  {
    path: "/receipt/:id",
    title: "账单小票",
    access: "user",
    parent: "/log",
    load: async () => (await import("./pages/log/receipt.tsx")).ReceiptPage,
  },
  {
    path: "/topup",
    title: "充值额度",
    access: "user",
    menu: { group: "控制台", label: "充值", icon: <WalletOutlined aria-hidden="true" /> },
    load: async () => (await import("./pages/topup/topup.tsx")).TopUpPage,
  },
  {
    path: "/topup/order/:no",
    title: "充值订单",
    access: "user",
    parent: "/topup",
    load: async () => (await import("./pages/topup/order-page.tsx")).OrderPage,
  },
  {
    path: "/subscription",
    title: "订阅套餐",
    access: "user",
    menu: { group: "控制台", label: "订阅", icon: <ScheduleOutlined aria-hidden="true" /> },
    load: async () => (await import("./pages/topup/subscription.tsx")).SubscriptionPage,
  },
  {
    path: "/statement",
    title: "月度账单",
    access: "user",
    menu: { group: "控制台", label: "账单", icon: <ProfileOutlined aria-hidden="true" /> },
    load: async () => (await import("./pages/statement/list.tsx")).StatementListPage,
  },
  {
    path: "/statement/:month",
    title: "账单详情",
    access: "user",
    parent: "/statement",
    load: async () => (await import("./pages/statement/month.tsx")).StatementPage,
  },
  {
    path: "/partnerplan",
    title: "推广计划",
    access: "public",
    menu: { group: "控制台", label: "推广计划", icon: <GiftOutlined aria-hidden="true" /> },
    load: async () => (await import("./pages/partner/plan.tsx")).PartnerPlanPage,
  },
  {
    path: "/playground",
    title: "操练场",
    access: "user",
    menu: { group: "工作台", label: "操练场", icon: <ExperimentOutlined aria-hidden="true" /> },
    load: async () => (await import("./pages/playground/page.tsx")).PlaygroundPage,
  },
  {
    path: "/chat",
    title: "聊天",
    access: "public",
    menu: { group: "工作台", label: "聊天", icon: <MessageOutlined aria-hidden="true" /> },
    load: async () => (await import("./pages/framed/pages.tsx")).ChatPage,
  },
  {
    path: "/docs",
    title: "文档",
    access: "public",
    menu: { group: "工作台", label: "文档", icon: <BookOutlined aria-hidden="true" /> },
    load: async () => (await import("./pages/framed/pages.tsx")).DocsPage,
  },
  {
    path: "/pricing",
    title: "价格",
    access: "public",
    menu: { group: "工作台", label: "价格", icon: <DollarOutlined aria-hidden="true" /> },
    load: async () => (await import("./pages/framed/pages.tsx")).PricingPage,
  },
  {
    path: "/cheap",
    title: "特惠套餐",
    access: "public",
    parent: "/pricing",
    load: async () => (await import("./pages/framed/pages.tsx")).CheapPage,
  },
  {
    path: "/channel",
    title: "管理渠道",
    access: "admin",
    menu: { group: "管理", label: "渠道", icon: <ApiOutlined aria-hidden="true" /> },
    load: async () => (await import("./pages/channel/list.tsx")).ChannelListPage,
  },
  { ...OF_CHANNEL, path: "/channel/keys/:channel", title: "渠道密钥", load: loadKeys },
  { ...OF_CHANNEL, path: "/channel/route", title: "路由解释", load: loadRoute },
  ...formPages("渠道", {
    access: "admin",
    parent: "/channel",
    load: async () => (await import("./pages/channel/form.tsx")).ChannelFormPage,
  }),
  {
    path: "/redemption",
    title: "管理兑换码",
    access: "admin",
    menu: { group: "管理", label: "兑换", icon: <TagsOutlined aria-hidden="true" /> },
    load: async () => (await import("./pages/redemption/list.tsx")).RedemptionListPage,
  },
  ...formPages("兑换码", {
    access: "admin",
    parent: "/redemption",
    load: async () => (await import("./pages/redemption/form.tsx")).RedemptionFormPage,
  }),
  {
    path: "/payment",
    title: "支付管理",
    access: "admin",
    menu: { group: "管理", label: "支付", icon: <PayCircleOutlined aria-hidden="true" /> },
    load: async () => (await import("./pages/payment/page.tsx")).PaymentPage,
  },
  {
    path: "/payment/order/:no",
    title: "订单详情",
    access: "admin",
    parent: "/payment",
    load: async () => (await import("./pages/payment/order.tsx")).PaymentOrderPage,
  },
  ...formPages("支付渠道", {
    access: "admin",
    parent: "/payment",
    load: async () => (await import("./pages/payment/instance-form.tsx")).InstanceFormPage,
  }),
  {
    path: "/plan",
    title: "管理套餐",
    access: "admin",
    menu: { group: "管理", label: "套餐", icon: <CreditCardOutlined aria-hidden="true" /> },
    load: async () => (await import("./pages/payment/plans.tsx")).PlansPage,
  },
  ...formPages("套餐", {
    access: "admin",
    parent: "/plan",
    load: async () => (await import("./pages/payment/plan-form.tsx")).PlanFormPage,
  }),
  {
    path: "/price",
    title: "从价目表更新价格",
    access: "admin",
    parent: "/setting",
    load: async () => (await import("./pages/price/page.tsx")).PricePage,
  },
  {
    path: "/reconciliation",
    title: "对账",
    access: "admin",
    menu: { group: "管理", label: "对账", icon: <ReconciliationOutlined aria-hidden="true" /> },
    load: async () => (await import("./pages/payment/books.tsx")).BooksPage,
  },
  {
    path: "/audit",
    title: "审计",
    access: "admin",
    menu: { group: "管理", label: "审计", icon: <AuditOutlined aria-hidden="true" /> },
    load: async () => (await import("./pages/audit/page.tsx")).AuditPage,
  },
  {
    path: "/user",
    title: "管理用户",
    access: "admin",
    menu: { group: "管理", label: "用户", icon: <TeamOutlined aria-hidden="true" /> },
    load: async () => (await import("./pages/user/list.tsx")).UserListPage,
  },
  {
    path: "/user/add",
    title: "添加新的用户",
    access: "admin",
    parent: "/user",
    load: async () => (await import("./pages/user/new-form.tsx")).NewUserPage,
  },
  {
    path: "/user/invitation",
    title: "邀请",
    access: "admin",
    parent: "/user",
    load: async () => (await import("./pages/user/invitations.tsx")).InvitationsPage,
  },
  ...formPages("邀请", {
    access: "admin",
    parent: "/user/invitation",
    load: async () => (await import("./pages/user/invitation-form.tsx")).NewInvitationPage,
  }).slice(0, 1),
  {
    path: "/user/edit/:id",
    title: "编辑用户",
    access: "admin",
    parent: "/user",
    load: async () => (await import("./pages/user/edit-form.tsx")).EditUserPage,
  },
  {
    path: "/user/token/:user",
    title: "用户的令牌",
    access: "admin",
    parent: "/user",
    load: async () => (await import("./pages/token/of-user.tsx")).UserTokensPage,
  },
  {
    path: "/user/token/:user/add",
    title: "为用户添加令牌",
    access: "admin",
    parent: "/user",
    load: async () => (await import("./pages/token/of-user.tsx")).UserTokenFormPage,
  },
  ...tokenLimitPages({ access: "admin", parent: "/user" }, "/user/token/:user/limit/:token"),
  {
    path: "/setting",
    title: "设置",
    access: "user",
    menu: { group: "设置", label: "设置", icon: <SettingOutlined aria-hidden="true" /> },
    load: async () => (await import("./pages/setting/page.tsx")).SettingPage,
  },
  {
    path: "/alert",
    title: "通知",
    access: "admin",
    parent: "/setting",
    load: async () => (await import("./pages/alert/page.tsx")).AlertPage,
  },
  ...formPages("通知对象", {
    access: "admin",
    parent: "/alert",
    load: async () => (await import("./pages/alert/form.tsx")).AlertTargetFormPage,
  }),
  {
    path: "/login-provider",
    title: "登录服务",
    access: "admin",
    parent: "/setting",
    load: async () => (await import("./pages/sign-on/list.tsx")).LoginProvidersPage,
  },
  ...formPages("登录服务", {
    access: "admin",
    parent: "/login-provider",
    load: async () => (await import("./pages/sign-on/form.tsx")).LoginProviderFormPage,
  }),
  {
    path: "/user/edit",
    title: "个人资料",
    access: "user",
    load: async () => (await import("./pages/user/self.tsx")).SelfPage,
  },
];

function routeOf({
  path,
  load,
}: {
  readonly path: string;
  readonly load: () => Promise<ComponentType>;
}): RouteObject {
  return { path, lazy: async () => ({ Component: await inTime(load) }) };
}

export const router = createBrowserRouter([
  {
    ErrorBoundary: RouteFault,
    HydrateFallback: () => null,
    children: [
      ...guestPages.map(routeOf),
      {
        lazy: async () => ({ Component: await inTime(loadShell) }),
        children: consolePages.map(routeOf),
      },
    ],
  },
]);
