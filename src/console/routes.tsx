// The table of pages. Adding a page is one row here: router, menu, guard, title and breadcrumb follow.
import {
  AppstoreOutlined,
  BookOutlined,
  ClockCircleOutlined,
  ControlOutlined,
  DashboardOutlined,
  DollarOutlined,
  ExperimentOutlined,
  FileSearchOutlined,
  GiftOutlined,
  KeyOutlined,
  MessageOutlined,
  ProfileOutlined,
  ScheduleOutlined,
  SettingOutlined,
  UsergroupAddOutlined,
  WalletOutlined,
} from "@ant-design/icons";
import { createBrowserRouter, type RouteObject } from "react-router";
import { inTime } from "#console/base/chunk.ts";
import { RouteFault } from "#console/ui/route-fault.tsx";
import type { PageRow } from "#console/ui/shell/nav.ts";
import { adminPages } from "./routes/admin.tsx";
import { formPages, tokenLimitPages } from "./routes/rows.ts";
import { guestPages } from "./routes-guest.ts";

const loadOpenFrame = async () => (await import("#console/ui/open-frame.tsx")).OpenFrame;
const loadShell = async () => (await import("#console/ui/shell/shell.tsx")).Shell;

/** Mostly today's calls are looked for; the bare address shows all of them (requirements B9). */
function sinceMidnight(): string {
  return `?start=${new Date().setHours(0, 0, 0, 0) / 1000}`;
}

const OF_TEAM = { access: "user", parent: "/team" } as const;
const loadJoin = async () => (await import("./pages/team/join.tsx")).JoinTeamPage;
const loadTeam = async () => (await import("./pages/team/page.tsx")).TeamPage;

/** Pages inside the shell. */
export const consolePages: readonly PageRow[] = [
  {
    path: "/dashboard",
    title: "总览",
    access: "user",
    ofTeam: { right: "calls", title: "团队总览" },
    menu: { group: "控制台", label: "总览", icon: <DashboardOutlined aria-hidden="true" /> },
    load: async () => (await import("./pages/dashboard/page.tsx")).DashboardPage,
  },
  {
    path: "/token",
    title: "我的令牌",
    access: "user",
    ofTeam: { right: "token", title: "团队令牌" },
    menu: { group: "控制台", label: "令牌", icon: <KeyOutlined aria-hidden="true" /> },
    load: async () => (await import("./pages/token/list.tsx")).TokenListPage,
  },
  ...formPages(
    { add: "添加新的令牌", edit: "编辑令牌" },
    {
      access: "user",
      ofTeam: { right: "token" },
      parent: "/token",
      load: async () => (await import("./pages/token/form.tsx")).TokenFormPage,
    },
  ),
  ...tokenLimitPages({ access: "user", parent: "/token", ofTeam: { right: "token" } }, "/token/limit/:token"),
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
  ...formPages(
    { add: "添加新的限额", edit: "编辑限额" },
    {
      access: "admin",
      permission: "limit.write",
      parent: "/limit",
      load: async () => (await import("./pages/limit/form.tsx")).LimitFormPage,
    },
  ),
  {
    path: "/log",
    title: "使用明细",
    access: "user",
    ofTeam: { right: "see", title: "团队明细" },
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
    path: "/task",
    title: "任务",
    access: "user",
    menu: { group: "控制台", label: "任务", icon: <ClockCircleOutlined aria-hidden="true" /> },
    load: async () => (await import("./pages/task/list.tsx")).TaskListPage,
  },
  {
    path: "/topup",
    title: "充值额度",
    access: "user",
    ofTeam: { right: "deposit", title: "团队充值" },
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
    ofTeam: { right: "wallet", title: "团队账单" },
    menu: { group: "控制台", label: "账单", icon: <ProfileOutlined aria-hidden="true" /> },
    load: async () => (await import("./pages/statement/list.tsx")).StatementListPage,
  },
  {
    path: "/statement/:month",
    title: "账单详情",
    access: "user",
    ofTeam: { right: "wallet" },
    parent: "/statement",
    load: async () => (await import("./pages/statement/month.tsx")).StatementPage,
  },
  {
    path: "/invoice",
    title: "发票",
    access: "user",
    ofTeam: { right: "invoice", title: "团队发票" },
    parent: "/statement",
    load: async () => (await import("./pages/invoice/invoices.tsx")).InvoicePage,
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
    path: "/models",
    title: "模型广场",
    access: "public",
    isLight: true,
    menu: { group: "工作台", label: "模型广场", icon: <AppstoreOutlined aria-hidden="true" /> },
    load: async () => (await import("./pages/models/page.tsx")).ModelsPage,
  },
  {
    path: "/cheap",
    title: "特惠套餐",
    access: "public",
    parent: "/pricing",
    load: async () => (await import("./pages/framed/pages.tsx")).CheapPage,
  },
  ...adminPages,
  {
    path: "/setting",
    title: "设置",
    access: "user",
    menu: { group: "设置", label: "设置", icon: <SettingOutlined aria-hidden="true" /> },
    load: async () => (await import("./pages/setting/page.tsx")).SettingPage,
  },
  {
    path: "/user/edit",
    title: "个人资料",
    access: "user",
    load: async () => (await import("./pages/user/self.tsx")).SelfPage,
  },
];

function routesOf({ path, load, ofTeam }: Pick<PageRow, "path" | "load" | "ofTeam">): RouteObject[] {
  const lazy = async () => ({ Component: await inTime(load) });
  return [{ path, lazy }, ...(ofTeam === undefined ? [] : [{ path: `/t/:team${path}`, lazy }])];
}

export const router = createBrowserRouter([
  {
    ErrorBoundary: RouteFault,
    HydrateFallback: () => null,
    children: [
      ...guestPages.flatMap(routesOf),
      {
        lazy: async () => ({ Component: await inTime(loadOpenFrame) }),
        children: consolePages.filter(({ isLight }) => isLight === true).flatMap(routesOf),
      },
      {
        lazy: async () => ({ Component: await inTime(loadShell) }),
        children: consolePages.filter(({ isLight }) => isLight !== true).flatMap(routesOf),
      },
    ],
  },
]);
