// The row under a list: its buttons and the pages.
import { Pagination } from "antd";
import type { ReactNode } from "react";
import { formatCount } from "#console/base/format.ts";
import { NARROW, useMedia } from "#console/base/media.ts";
import { pageCount } from "#console/base/paging.ts";
import { pageItem } from "./page-item.tsx";
import { SIZES, type TableState } from "./table-state.ts";

export interface TableFooterProps {
  readonly state: TableState;
  readonly received: number;
  readonly total: number | undefined;
  readonly isLoading: boolean;
  readonly children?: ReactNode;
}

export function TableFooter({ state, received, total, isLoading, children }: TableFooterProps) {
  const { p, size } = state.input;
  const isNarrow = useMedia(NARROW);
  const pages = pageCount({ page: p, size, received, total });
  const isPaged = p > 0 || received > 0;
  // It comes with the rows: below bones, of which there are more or fewer, it would move.
  if (isLoading || (children === undefined && !isPaged)) return null;
  return (
    <div className="tg-table-foot">
      <div className="tg-table-foot-buttons">{children}</div>
      {isPaged ? (
        <Pagination
          current={p + 1}
          pageSize={size}
          total={pages * size}
          simple={isNarrow}
          showSizeChanger={!isNarrow}
          pageSizeOptions={[...SIZES]}
          itemRender={pageItem}
          {...(total === undefined || isNarrow ? {} : { showTotal: () => `共 ${formatCount(total)} 条` })}
          onChange={(page, nextSize) =>
            nextSize === size ? state.setPage(page - 1) : state.setSize(nextSize)
          }
        />
      ) : null}
    </div>
  );
}
