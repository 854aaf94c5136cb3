// The entries of the side menu: only pages that exist and that this user may open.
import { Menu, type MenuProps } from "antd";
import { Link, useLocation } from "react-router";
import { mayOpen, useUser } from "#console/base/session.ts";
import { mayIn, pathIn, useTeamAround, useTeams } from "#console/ui/team-context.ts";
import type { Team } from "#contract/team.ts";
import { MENU_GROUPS, type PageRow, pageAt, usePages } from "./nav.ts";

type Items = NonNullable<MenuProps["items"]>;

interface Around {
  readonly id: number;
  /** undefined = not known yet, or one's own account. */
  readonly team: Team | undefined;
}

/** Where an entry leads: in a team to its things, and from other pages out of it; undefined = nowhere for the member's role. */
function pathFrom({ id, team }: Around, { path, ofTeam, menu }: PageRow): string | undefined {
  const search = menu?.search?.() ?? "";
  if (id === 0) return path + search;
  if (path === "/team") return `/team/${id}`;
  if (ofTeam === undefined) return path + search;
  return team !== undefined && mayIn(team, ofTeam.right) ? pathIn(id, path) + search : undefined;
}

function entry(page: PageRow, to: string, isHere: boolean): Items[number] {
  return {
    key: page.path,
    icon: page.menu?.icon,
    label: (
      <Link
        to={to}
        aria-current={isHere ? "page" : undefined}
        onMouseEnter={() => void page.load()}
        onFocus={() => void page.load()}
      >
        {page.menu?.label}
      </Link>
    ),
  };
}

export interface SideMenuProps {
  readonly isCollapsed: boolean;
  readonly onChoose?: () => void;
}

export function SideMenu({ isCollapsed, onChoose }: SideMenuProps) {
  const pages = usePages();
  const user = useUser();
  const here = pageAt(pages, useLocation().pathname);
  const id = useTeamAround();
  const teams = useTeams();
  const around = { id, team: teams?.find((team) => team.id === id) };
  // What a role may open is not known yet: entries that come later would push the others down.
  const isComing = id !== 0 && teams === undefined;
  const allowed = pages.filter((page) => page.menu !== undefined && mayOpen(page, user));
  const items: Items = MENU_GROUPS.flatMap((group): Items => {
    const children = allowed
      .filter((page) => page.menu?.group === group)
      .flatMap((page): Items => {
        const to = pathFrom(around, page);
        return to === undefined ? [] : [entry(page, to, page === here)];
      });
    if (children.length === 0) return [];
    return isCollapsed ? children : [{ type: "group", key: group, label: group, children }];
  });
  return (
    <nav aria-label="主导航">
      <Menu
        mode="inline"
        inlineCollapsed={isCollapsed}
        selectedKeys={[here?.parent ?? here?.path ?? ""]}
        items={isComing ? [] : items}
        {...(onChoose === undefined ? {} : { onClick: onChoose })}
        style={{ borderInlineEnd: 0 }}
      />
    </nav>
  );
}
