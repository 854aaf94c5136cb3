// The row above a list: filters or search at the left, refresh and the choice of columns at the right.
import { ReloadOutlined, SearchOutlined, SettingOutlined } from "@ant-design/icons";
import { Button, Checkbox, Input, Popover } from "antd";
import { type ReactNode, useState } from "react";
import { NARROW, useMedia } from "#console/base/media.ts";
import type { TableState } from "./table-state.ts";
import { Tooltip } from "./tooltip.tsx";

interface ColumnName {
  readonly key: string;
  readonly title: string;
  readonly isFixed?: boolean;
}

export interface TableToolbarProps {
  readonly state: TableState;
  readonly columns: readonly ColumnName[];
  readonly filters?: ReactNode | undefined;
  readonly searchHint?: string | undefined;
  readonly searchDraft?: string | undefined;
  readonly onRefresh: () => void;
}

function SearchBox({
  state,
  hint,
  draft,
}: {
  readonly state: TableState;
  readonly hint: string;
  readonly draft: string;
}) {
  const [text, setText] = useState(draft === "" ? state.input.keyword : draft);
  return (
    <Input.Search
      className="tg-search"
      value={text}
      placeholder={hint}
      aria-label={hint}
      allowClear
      enterButton={<Button icon={<SearchOutlined />} aria-label="搜索" />}
      onChange={(event) => setText(event.target.value)}
      onSearch={(value) => {
        setText(value.trim());
        state.setKeyword(value);
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
  const list = (
    <Checkbox.Group
      className="tg-column-choice"
      value={shown}
      options={free.map((column) => ({ value: column.key, label: column.title }))}
      onChange={choose}
    />
  );
  return (
    <Popover content={list} title="显示的列" trigger="click" placement="bottomRight">
      <Button icon={<SettingOutlined />} aria-label="选择显示的列" title="选择显示的列" />
    </Popover>
  );
}

export function TableToolbar(props: TableToolbarProps) {
  const { state, searchHint, searchDraft = "" } = props;
  const isNarrow = useMedia(NARROW);
  return (
    <div className="tg-toolbar">
      <div className="tg-toolbar-main">
        {searchHint === undefined ? null : (
          <SearchBox
            key={`${searchDraft}\n${state.input.keyword}`}
            state={state}
            hint={searchHint}
            draft={searchDraft}
          />
        )}
        {props.filters}
      </div>
      <div className="tg-toolbar-side">
        <Tooltip title="刷新">
          <Button icon={<ReloadOutlined />} aria-label="刷新" onClick={props.onRefresh} />
        </Tooltip>
        {isNarrow ? null : <ColumnChoice state={state} columns={props.columns} />}
      </div>
    </div>
  );
}
