// A list of a resource: server paging, sorting and search, remembered looks, and cards instead of rows on phones.
// Knows how lists behave, nothing about any resource.
import { CloseOutlined } from "@ant-design/icons";
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { Button } from "antd";
import { type ReactNode, useState } from "react";
import { type CallInput, call, type Query, query } from "#console/base/call.ts";
import { type CsvColumn, fetchBlocks, MAX_BLOCK_ROWS } from "#console/base/export.ts";
import { NARROW, useMedia } from "#console/base/media.ts";
import { shownRows } from "#console/base/rows.ts";
import { may, useUser } from "#console/base/session.ts";
import type { Endpoint } from "#contract/endpoint.ts";
import { CardList } from "./card-list.tsx";
import { ExportButton } from "./export-button.tsx";
import { RowTable } from "./row-table.tsx";
import type { Column, RowView } from "./row-view.ts";
import type { SortName } from "./sort-choice.tsx";
import { TableFooter } from "./table-footer.tsx";
import { type Hideable, type ListInput, useTableState } from "./table-state.ts";
import { EmptyState, ErrorState } from "./table-states.tsx";
import { type SearchDraft, TableToolbar } from "./table-toolbar.tsx";
import "./resource-table.css";
import "./bulk-bar.css";

interface BulkBarProps {
  readonly count: number;
  readonly onClear: () => void;
  readonly children: ReactNode;
}

function BulkBar({ count, onClear, children }: BulkBarProps) {
  return (
    <div className="tg-bulk" role="toolbar" aria-label="批量操作">
      <span role="status">已选择 {count} 项</span>
      <div className="tg-bulk-buttons">{children}</div>
      <Button
        type="text"
        icon={<CloseOutlined aria-hidden="true" />}
        aria-label="取消选择"
        title="取消选择"
        onClick={onClear}
      />
    </div>
  );
}

export interface ListAnswer<Row> {
  readonly data: readonly Row[];
  readonly total?: number | undefined;
  /** These are all rows, and their pages are made here. */
  readonly isWhole?: true;
}

interface ListApi<L extends Endpoint, S extends Endpoint> {
  readonly list: L;
  readonly search: S;
}

/** What a list is asked for besides its page; the contract says which fields it has. */
type Filter = Readonly<Record<string, string | number | boolean>>;

/** Loads a list: the whole one, or what was searched for. */
export function listOf<L extends Endpoint, S extends Endpoint>(api: ListApi<L, S>, filter: Filter = {}) {
  return ({ keyword, ...page }: ListInput) =>
    // The queries of all lists have these fields (contract: ListQuery).
    keyword === ""
      ? query(api.list, { query: { ...filter, ...page } } as unknown as CallInput<L>)
      : query(api.search, { query: { ...filter, ...page, keyword } } as unknown as CallInput<S>);
}

/** Loads a list that comes whole. Cached beside the bare list: the same key would hand each the other's form. */
export function rowsOf<Row>({ queryKey, queryFn }: Query<readonly Row[]>): Query<ListAnswer<Row>> {
  return {
    queryKey: [...queryKey, "rows"],
    queryFn: async (context) => {
      const data = await queryFn(context);
      return { data, total: data.length, isWhole: true };
    },
  };
}

/** Reads the same list for a file (contract: InBlocks). */
export function blocksOf<L extends Endpoint, S extends Endpoint>(api: ListApi<L, S>, filter: Filter) {
  return (keyword: string, before: number, signal: AbortSignal) => {
    const block = { ...filter, export: true, before };
    return keyword === ""
      ? call(api.list, { query: block } as unknown as CallInput<L>, signal)
      : call(api.search, { query: { ...block, keyword } } as unknown as CallInput<S>, signal);
  };
}

/** A list as a CSV file. */
export interface ListFile<Row> {
  /** Begin of the file's name. */
  readonly name: string;
  readonly columns: readonly CsvColumn<Row>[];
  readonly block: (keyword: string, before: number, signal: AbortSignal) => Promise<ListAnswer<Row>>;
}

interface LiveQuery<Row> extends Query<ListAnswer<Row>> {
  /** When an answer is asked for again by itself, ms; false = it is not. */
  refetchInterval?(query: { readonly state: { readonly data: ListAnswer<Row> | undefined } }): number | false;
}

export interface ResourceTableProps<Row extends { readonly id: number }>
  extends Omit<RowView<Row>, "selection"> {
  /** Name in local storage. */
  readonly name: string;
  /** Accessible name, e.g. 令牌列表. */
  readonly label: string;
  readonly load: (input: ListInput) => LiveQuery<Row>;
  readonly searchHint?: string;
  /** Text put into the search box from outside (clipboard fallback, requirements B8). */
  readonly searchDraft?: SearchDraft | undefined;
  /** Present = what is filtered and searched for can be saved. */
  readonly file?: ListFile<Row>;
  /** Filters at the left of the toolbar. */
  readonly filters?: ReactNode;
  /** What rows can be sorted by that is no column of its own. */
  readonly moreSorts?: readonly SortName[];
  readonly empty: { readonly text: string; readonly action?: ReactNode };
  /** Buttons under the table. */
  readonly footer?: ReactNode;
  /** Buttons for the chosen rows of this page; present = rows can be chosen. `onDone` leaves only these rows chosen. */
  readonly bulk?: (rows: readonly Row[], onDone: (left: readonly Row[]) => void) => ReactNode;
}

function FileButton<Row extends { readonly id: number }>({
  file: { block, ...file },
  keyword,
}: {
  readonly file: ListFile<Row>;
  readonly keyword: string;
}) {
  return (
    <ExportButton<Row>
      {...file}
      isSmall
      most={MAX_BLOCK_ROWS}
      read={({ signal, onProgress }) => fetchBlocks((before) => block(keyword, before, signal), onProgress)}
    />
  );
}

function hideable(columns: readonly Pick<Column<never>, "key" | "isFixed" | "isHiddenAtFirst">[]): Hideable {
  const keys = (some: typeof columns) => some.map(({ key }) => key);
  return {
    free: keys(columns.filter(({ isFixed }) => isFixed !== true)),
    hiddenAtFirst: keys(columns.filter(({ isHiddenAtFirst }) => isHiddenAtFirst === true)),
  };
}

export function ResourceTable<Row extends { readonly id: number }>(props: ResourceTableProps<Row>) {
  const state = useTableState(props.name, hideable(props.columns));
  const isNarrow = useMedia(NARROW);
  const client = useQueryClient();
  const user = useUser();
  const answer = useQuery({ ...props.load(state.input), placeholderData: keepPreviousData });
  const rows = answer.data === undefined ? [] : shownRows(answer.data, state.input);
  const shown = props.columns.filter((column) => column.isFixed || !state.hidden.includes(column.key));
  const isFirstLoad = answer.isPending;
  const [ids, choose] = useState<readonly number[]>([]);
  // Rows of other pages do not count: the user does not see them.
  const chosen = rows.filter((row) => ids.includes(row.id));
  const selection = props.bulk === undefined ? undefined : { ids: chosen.map((row) => row.id), choose };
  /** Asks the server in any case, for the same term and for none as well (requirements B5). */
  const search = (text: string) => {
    const { queryKey } = props.load({ ...state.input, p: 0, keyword: text.trim() });
    void client.invalidateQueries({ queryKey, exact: true });
    state.setKeyword(text);
  };
  const body = () => {
    if (answer.isError && answer.data === undefined) {
      return <ErrorState error={answer.error} onRetry={() => void answer.refetch()} />;
    }
    if (!isFirstLoad && rows.length === 0) {
      return <EmptyState {...props.empty} state={state} />;
    }
    const { actions } = props;
    const allowed = (row: Row) =>
      (actions?.(row) ?? []).filter(({ permission }) => permission === undefined || may(user, permission));
    const view = {
      ...props,
      columns: shown,
      rows,
      isLoading: isFirstLoad,
      state,
      selection,
      ...(actions === undefined ? {} : { actions: allowed }),
    };
    return isNarrow ? <CardList {...view} /> : <RowTable {...view} />;
  };
  return (
    <section className="tg-card tg-resource" aria-label={props.label} aria-busy={answer.isFetching}>
      <div className={answer.isFetching && !isFirstLoad ? "tg-progress tg-progress-on" : "tg-progress"} />
      <TableToolbar
        state={state}
        columns={props.columns}
        filters={props.filters}
        moreSorts={props.moreSorts}
        searchHint={props.searchHint}
        searchDraft={props.searchDraft}
        onSearch={search}
        file={
          props.file === undefined ? null : <FileButton file={props.file} keyword={state.input.keyword} />
        }
        onRefresh={() => void answer.refetch()}
      />
      {body()}
      <TableFooter state={state} received={rows.length} total={answer.data?.total} isLoading={isFirstLoad}>
        {props.footer}
      </TableFooter>
      {props.bulk === undefined || chosen.length === 0 ? null : (
        <BulkBar count={chosen.length} onClear={() => choose([])}>
          {props.bulk(chosen, (left) => choose(left.map(({ id }) => id)))}
        </BulkBar>
      )}
    </section>
  );
}
