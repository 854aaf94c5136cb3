// The entries of the side menu: only pages that exist and that this user may open.
import { Menu, type MenuProps } from "antd";
import { Link, useLocation } from "react-router";
import { mayOpen, useUser } from "#console/base/session.ts";
import { MENU_GROUPS, type PageRow, pageAt, usePages } from "./nav.ts";

type Items = NonNullable<MenuProps["items"]>;

function entry(page: PageRow, isHere: boolean): Items[number] {
  return {
    key: page.path,
    icon: page.menu?.icon,
    label: (
      <Link
        to={page.path + (page.menu?.search?.() ?? "")}
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
  const allowed = pages.filter((page) => page.menu !== undefined && mayOpen(page, user));
  const items: Items = MENU_GROUPS.flatMap((group): Items => {
    const children = allowed
      .filter((page) => page.menu?.group === group)
      .map((page) => entry(page, page === here));
    if (children.length === 0) return [];
    return isCollapsed ? children : [{ type: "group", key: group, label: group, children }];
  });
  return (
    <nav aria-label="主导航">
      <Menu
        mode="inline"
        inlineCollapsed={isCollapsed}
        selectedKeys={[here?.parent ?? here?.path ?? ""]}
        items={items}
        {...(onChoose === undefined ? {} : { onClick: onChoose })}
        style={{ borderInlineEnd: 0 }}
      />
    </nav>
  );
}
