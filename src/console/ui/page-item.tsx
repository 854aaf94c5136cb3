// The arrows of a row of pages, named for screen readers.
import { LeftOutlined, RightOutlined } from "@ant-design/icons";
import type { PaginationProps } from "antd";
import { cloneElement, type HTMLAttributes, isValidElement } from "react";

const ARROWS = {
  prev: { label: "上一页", icon: <LeftOutlined aria-hidden="true" /> },
  next: { label: "下一页", icon: <RightOutlined aria-hidden="true" /> },
} as const;

const JUMPS = { "jump-prev": "向前 5 页", "jump-next": "向后 5 页" } as const;

/** antd names its arrows by their icons; ours say where they lead. */
export const pageItem: NonNullable<PaginationProps["itemRender"]> = (_page, kind, element) => {
  if (kind === "page") return element;
  if (kind === "jump-prev" || kind === "jump-next") {
    const name = { role: "button", "aria-label": JUMPS[kind] };
    return isValidElement<HTMLAttributes<HTMLElement>>(element) ? cloneElement(element, name) : element;
  }
  const { label, icon } = ARROWS[kind];
  return (
    <button type="button" className="ant-pagination-item-link" tabIndex={-1} aria-label={label}>
      {icon}
    </button>
  );
};
