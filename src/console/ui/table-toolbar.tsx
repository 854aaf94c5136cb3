// The row above a list: filters or search at the left, refresh and the choice of columns at the right.
import { LinkOutlined, ReloadOutlined, SearchOutlined, SettingOutlined } from "@ant-design/icons";
import { Button, Checkbox, Input, Popover } from "antd";
import { type ReactNode, useEffect, useState } from "react";
import { copyText } from "#console/base/clipboard.ts";
import { NARROW, useMedia } from "#console/base/media.ts";
import { clearable } from "./clearable.tsx";
import { usePopoverFocus } from "./popup-focus.ts";
import { SortChoice, type SortName } from "./sort-choice.tsx";
import { type TableState, viewAddress } from "./table-state.ts";
import { Tooltip } from "./tooltip.tsx";

interface ColumnName extends SortName {
  readonly isFixed?: boolean;
  readonly isSortable?: boolean;
}

/** Text for the search box from outside; each new object is one more request to show it. */
export interface SearchDraft {
  readonly text: string;
}

export interface TableToolbarProps {
  readonly state: TableState;
  readonly columns: readonly ColumnName[];
  readonly filters?: ReactNode | undefined;
  readonly moreSorts?: readonly SortName[] | undefined;
  readonly searchHint?: string | undefined;
  readonly searchDraft?: SearchDraft | undefined;
  readonly onSearch: (text: string) => void;
  readonly onRefresh: () => void;
  /** Saves the list as a file. */
  readonly file?: ReactNode;
}

interface SearchBoxProps {
  readonly keyword: string;
  readonly hint: string;
  readonly draft: SearchDraft | undefined;
  readonly onSearch: (text: string) => void;
}

/** Shows what was searched for last, or what came from outside since. */
function SearchBox({ keyword, hint, draft, onSearch }: SearchBoxProps) {
  const [text, setText] = useState(keyword);
  useEffect(() => setText(keyword), [keyword]);
  useEffect(() => {
    if (draft !== undefined) setText(draft.text);
  }, [draft]);
  return (
    <Input.Search
      className="tg-search"
      value={text}
      placeholder={hint}
      aria-label={hint}
      allowClear={clearable}
      enterButton={<Button icon={<SearchOutlined aria-hidden="true" />} aria-label="搜索" />}
      onChange={(event) => setText(event.target.value)}
      onSearch={(value) => {
        setText(value.trim());
        onSearch(value);
      }}
    />
  );
}

function ColumnChoice({
  state,
  columns,
}: {
  readonly state: TableState;
  readonly columns: readonly ColumnName[];
}) {
  const free = columns.filter((column) => column.isFixed !== true);
  const shown = free.filter((column) => !state.hidden.includes(column.key)).map((column) => column.key);
  const choose = (keys: readonly string[]) =>
    state.setHidden(free.map((column) => column.key).filter((key) => !keys.includes(key)));
  const { id, on } = usePopoverFocus();
  const list = (
    <div id={id}>
      <Checkbox.Group
        className="tg-column-choice"
        value={shown}
        options={free.map((column) => ({ value: column.key, label: column.title }))}
        onChange={choose}
      />
    </div>
  );
  return (
    <Popover {...on} content={list} title="显示的列" trigger="click" placement="bottomRight">
      <Button icon={<SettingOutlined aria-hidden="true" />} aria-label="选择显示的列" title="选择显示的列" />
    </Popover>
  );
}

/** Copies the address of the list as it is seen now. */
function ViewLink({
  state,
  columns,
}: {
  readonly state: TableState;
  readonly columns: readonly ColumnName[];
}) {
  const free = columns.filter((column) => column.isFixed !== true).map(({ key }) => key);
  const copy = () => copyText(viewAddress(globalThis.location.href, state, free), "已复制当前视图的链接");
  return (
    <Tooltip title="复制当前视图的链接：筛选、排序、显示的列与每页条数">
      <Button
        icon={<LinkOutlined aria-hidden="true" />}
        aria-label="复制当前视图的链接"
        onClick={() => void copy()}
      />
    </Tooltip>
  );
}

export function TableToolbar(props: TableToolbarProps) {
  const { state, searchHint } = props;
  const isNarrow = useMedia(NARROW);
  const { moreSorts = [] } = props;
  // Cards have no heads of columns.
  const heads = props.columns.filter(({ key, isSortable }) => isSortable && !state.hidden.includes(key));
  const sorts = isNarrow ? [...moreSorts, ...heads] : moreSorts;
  return (
    <div className="tg-toolbar">
      <div className="tg-toolbar-main">
        {searchHint === undefined ? null : (
          <SearchBox
            keyword={state.input.keyword}
            hint={searchHint}
            draft={props.searchDraft}
            onSearch={props.onSearch}
          />
        )}
        {props.filters}
        {sorts.length === 0 ? null : <SortChoice state={state} sorts={sorts} />}
      </div>
      <div className="tg-toolbar-side">
        <Tooltip title="刷新">
          <Button icon={<ReloadOutlined aria-hidden="true" />} aria-label="刷新" onClick={props.onRefresh} />
        </Tooltip>
        {props.file}
        {isNarrow ? null : (
          <>
            <ViewLink state={state} columns={props.columns} />
            <ColumnChoice state={state} columns={props.columns} />
          </>
        )}
      </div>
    </div>
  );
}
