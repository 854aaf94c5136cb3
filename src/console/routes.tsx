// The table of pages. Adding a page is one row here: router, menu, guard, title and breadcrumb follow.
import {
  ApiOutlined,
  BookOutlined,
  DashboardOutlined,
  DollarOutlined,
  ExperimentOutlined,
  FileSearchOutlined,
  GiftOutlined,
  KeyOutlined,
  MessageOutlined,
  SettingOutlined,
  TagsOutlined,
  TeamOutlined,
  WalletOutlined,
} from "@ant-design/icons";
import type { ComponentType } from "react";
import { createBrowserRouter, type RouteObject } from "react-router";
import { inTime } from "#console/base/chunk.ts";
import { RouteFault } from "#console/ui/route-fault.tsx";
import type { PageRow } from "#console/ui/shell/nav.ts";

const loadShell = async () => (await import("#console/ui/shell/shell.tsx")).Shell;
const loadTokenForm = async () => (await import("./pages/token/form.tsx")).TokenFormPage;
const loadChannelForm = async () => (await import("./pages/channel/form.tsx")).ChannelFormPage;
const loadRedemptionForm = async () => (await import("./pages/redemption/form.tsx")).RedemptionFormPage;

/** Mostly today's calls are looked for; the bare address shows all of them (requirements B9). */
function sinceMidnight(): string {
  return `?start=${new Date().setHours(0, 0, 0, 0) / 1000}`;
}

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
  { path: "/token/add", title: "添加新的令牌", access: "user", parent: "/token", load: loadTokenForm },
  { path: "/token/edit/:id", title: "编辑令牌", access: "user", parent: "/token", load: loadTokenForm },
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
    path: "/topup",
    title: "充值额度",
    access: "user",
    menu: { group: "控制台", label: "充值", icon: <WalletOutlined aria-hidden="true" /> },
    load: async () => (await import("./pages/topup/topup.tsx")).TopUpPage,
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
    load: async () => (await import("./pages/framed/chat.tsx")).ChatPage,
  },
  {
    path: "/docs",
    title: "文档",
    access: "public",
    menu: { group: "工作台", label: "文档", icon: <BookOutlined aria-hidden="true" /> },
    load: async () => (await import("./pages/framed/docs.tsx")).DocsPage,
  },
  {
    path: "/pricing",
    title: "价格",
    access: "public",
    menu: { group: "工作台", label: "价格", icon: <DollarOutlined aria-hidden="true" /> },
    load: async () => (await import("./pages/framed/pricing.tsx")).PricingPage,
  },
  {
    path: "/cheap",
    title: "特惠套餐",
    access: "public",
    parent: "/pricing",
    load: async () => (await import("./pages/framed/cheap.tsx")).CheapPage,
  },
  {
    path: "/channel",
    title: "管理渠道",
    access: "admin",
    menu: { group: "管理", label: "渠道", icon: <ApiOutlined aria-hidden="true" /> },
    load: async () => (await import("./pages/channel/list.tsx")).ChannelListPage,
  },
  { path: "/channel/add", title: "添加新的渠道", access: "admin", parent: "/channel", load: loadChannelForm },
  {
    path: "/channel/edit/:id",
    title: "编辑渠道",
    access: "admin",
    parent: "/channel",
    load: loadChannelForm,
  },
  {
    path: "/redemption",
    title: "管理兑换码",
    access: "admin",
    menu: { group: "管理", label: "兑换", icon: <TagsOutlined aria-hidden="true" /> },
    load: async () => (await import("./pages/redemption/list.tsx")).RedemptionListPage,
  },
  {
    path: "/redemption/add",
    title: "添加新的兑换码",
    access: "admin",
    parent: "/redemption",
    load: loadRedemptionForm,
  },
  {
    path: "/redemption/edit/:id",
    title: "编辑兑换码",
    access: "admin",
    parent: "/redemption",
    load: loadRedemptionForm,
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
    path: "/user/edit/:id",
    title: "编辑用户",
    access: "admin",
    parent: "/user",
    load: async () => (await import("./pages/user/edit-form.tsx")).EditUserPage,
  },
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

/** Pages with the light frame; no console code is loaded for them. */
const guestPages: readonly { readonly path: string; readonly load: () => Promise<ComponentType> }[] = [
  { path: "/", load: async () => (await import("./pages/home.tsx")).HomePage },
  { path: "/login", load: async () => (await import("./pages/login.tsx")).LoginPage },
  { path: "/register", load: async () => (await import("./pages/register.tsx")).RegisterPage },
  { path: "/reset", load: async () => (await import("./pages/reset.tsx")).ResetPage },
  { path: "/user/reset", load: async () => (await import("./pages/reset-confirm.tsx")).ResetConfirmPage },
  { path: "/oauth/github", load: async () => (await import("./pages/oauth-github.tsx")).OAuthGithubPage },
  { path: "/about", load: async () => (await import("./pages/about.tsx")).AboutPage },
  { path: "/terms", load: async () => (await import("./pages/terms.tsx")).TermsPage },
  { path: "*", load: async () => (await import("./pages/not-found.tsx")).NotFoundPage },
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
