// The arrows of a row of pages, named for who cannot see them.
import { LeftOutlined, RightOutlined } from "@ant-design/icons";
import type { PaginationProps } from "antd";

const ARROWS = {
  prev: { label: "上一页", icon: <LeftOutlined aria-hidden="true" /> },
  next: { label: "下一页", icon: <RightOutlined aria-hidden="true" /> },
} as const;

/** antd names its arrows by their icons; ours say where they lead. */
export const pageItem: NonNullable<PaginationProps["itemRender"]> = (_page, kind, element) => {
  if (kind !== "prev" && kind !== "next") return element;
  const { label, icon } = ARROWS[kind];
  return (
    <button type="button" className="ant-pagination-item-link" tabIndex={-1} aria-label={label}>
      {icon}
    </button>
  );
};
