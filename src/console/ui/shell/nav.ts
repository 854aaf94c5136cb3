// The form of one page row: router, menu, guard, title, breadcrumb and palette all come from it.
import { type ComponentType, createContext, type ReactNode, use } from "react";
import { matchPath, useLocation } from "react-router";
import type { Access } from "#console/base/session.ts";
import { placeAt } from "#console/ui/team-context.ts";
import type { Permission } from "#contract/permission.ts";
import type { TeamRight } from "#contract/team-words.ts";

/** Groups of the side menu, in their order. */
export const MENU_GROUPS = ["控制台", "工作台", "管理", "设置"] as const;

export interface PageRow {
  /** Route path, e.g. `/token/edit/:id`. */
  readonly path: string;
  readonly title: string;
  readonly access: Access;
  /** Of administrators' pages: what it takes to open one. */
  readonly permission?: Permission;
  /** It shows the things of a team too, to members who may (`/t/:team` before its path). */
  readonly ofTeam?: { readonly right: TeamRight; readonly title?: string };
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

/** The row a location belongs to; fixed paths win over paths with parameters. Of a team there are only the pages that show its things. */
export function pageAt(pages: readonly PageRow[], pathname: string): PageRow | undefined {
  const { team, path: place } = placeAt(pathname);
  return pages.find(
    ({ path, ofTeam }) => (team === 0 || ofTeam !== undefined) && matchPath(path, place) !== null,
  );
}

/** What a page is called where it shows one's own things, or those of a team. */
export function titleIn(team: number, { title, ofTeam }: PageRow): string {
  return team === 0 ? title : (ofTeam?.title ?? title);
}
