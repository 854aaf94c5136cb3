// The form of one page row: router, menu, guard, title, breadcrumb and palette all come from it.
import { type ComponentType, createContext, type ReactNode, use } from "react";
import { matchPath, useLocation } from "react-router";
import type { Access } from "#console/base/session.ts";
import type { Permission } from "#contract/permission.ts";

/** Groups of the side menu, in their order. */
export const MENU_GROUPS = ["控制台", "工作台", "管理", "设置"] as const;

export interface PageRow {
  /** Route path, e.g. `/token/edit/:id`. */
  readonly path: string;
  readonly title: string;
  readonly access: Access;
  /** Of administrators' pages: what it takes to open one. */
  readonly permission?: Permission;
  /** Of public pages: guests see it in the light frame, so nothing of antd is on it. */
  readonly isLight?: true;
  readonly load: () => Promise<ComponentType>;
  /** Present = an entry of the side menu. */
  readonly menu?: {
    readonly group: (typeof MENU_GROUPS)[number];
    readonly label: string;
    readonly icon: ReactNode;
    /** The query that the entry opens the page with, `?` included. */
    readonly search?: () => string;
  };
  /** Path of the page above, for the breadcrumb and the highlighted menu entry. */
  readonly parent?: string;
}

const NavContext = createContext<readonly PageRow[]>([]);

/** Gives the page rows to the shell, which knows no page by itself. */
export const NavProvider = NavContext.Provider;

export function usePages(): readonly PageRow[] {
  return use(NavContext);
}

/** The row of the page that is open. */
export function usePageHere(): PageRow | undefined {
  return pageAt(usePages(), useLocation().pathname);
}

/** The row a location belongs to; fixed paths win over paths with parameters. */
export function pageAt(pages: readonly PageRow[], pathname: string): PageRow | undefined {
  return pages.find(({ path }) => matchPath(path, pathname) !== null);
}
