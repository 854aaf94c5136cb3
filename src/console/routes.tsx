// The table of pages. Adding a page is one row here: router, menu, guard, title and breadcrumb follow.
import { ApiOutlined, FileSearchOutlined, KeyOutlined } from "@ant-design/icons";
import type { ComponentType } from "react";
import { createBrowserRouter, type RouteObject } from "react-router";
import { RouteFault } from "#console/ui/route-fault.tsx";
import type { PageRow } from "#console/ui/shell/nav.ts";

const loadTokenForm = async () => (await import("./pages/token/form.tsx")).TokenFormPage;
const loadChannelForm = async () => (await import("./pages/channel/form.tsx")).ChannelFormPage;

/** Pages inside the shell. */
export const consolePages: readonly PageRow[] = [
  {
    path: "/token",
    title: "我的令牌",
    access: "user",
    menu: { group: "控制台", label: "令牌", icon: <KeyOutlined /> },
    load: async () => (await import("./pages/token/list.tsx")).TokenListPage,
  },
  { path: "/token/add", title: "添加新的令牌", access: "user", parent: "/token", load: loadTokenForm },
  { path: "/token/edit/:id", title: "编辑令牌", access: "user", parent: "/token", load: loadTokenForm },
  {
    path: "/log",
    title: "使用明细",
    access: "user",
    menu: { group: "控制台", label: "日志", icon: <FileSearchOutlined /> },
    load: async () => (await import("./pages/log/list.tsx")).LogListPage,
  },
  {
    path: "/channel",
    title: "管理渠道",
    access: "admin",
    menu: { group: "管理", label: "渠道", icon: <ApiOutlined /> },
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
  { path: "*", load: async () => (await import("./pages/not-found.tsx")).NotFoundPage },
];

function routeOf({
  path,
  load,
}: {
  readonly path: string;
  readonly load: () => Promise<ComponentType>;
}): RouteObject {
  return { path, lazy: async () => ({ Component: await load() }) };
}

export const router = createBrowserRouter([
  {
    ErrorBoundary: RouteFault,
    HydrateFallback: () => null,
    children: [
      ...guestPages.map(routeOf),
      {
        lazy: async () => ({ Component: (await import("#console/ui/shell/shell.tsx")).Shell }),
        children: consolePages.map(routeOf),
      },
    ],
  },
]);
