// By what a list is sorted, for lists without the heads of columns: on phones, and for what shares a column.
import { SortAscendingOutlined, SortDescendingOutlined } from "@ant-design/icons";
import { Button, Select, Space } from "antd";
import type { TableState } from "./table-state.ts";

export interface SortName {
  readonly key: string;
  /** As in 按额度排序. */
  readonly title: string;
}

export interface SortChoiceProps {
  readonly state: TableState;
  readonly sorts: readonly SortName[];
}

/** Biggest and newest first, until the user reverses it. */
export function SortChoice({ state, sorts }: SortChoiceProps) {
  const { order, desc } = state.input;
  const chosen = sorts.some(({ key }) => key === order) ? order : "";
  const turn = desc ? "改为升序" : "改为降序";
  return (
    <Space.Compact className="tg-sort">
      <Select
        aria-label="排序"
        value={chosen}
        options={[
          { value: "", label: "默认排序" },
          ...sorts.map(({ key, title }) => ({
            value: key,
            label: `按${title.replace(/^[\w ]+$/, " $& ")}排序`,
          })),
        ]}
        onChange={(next) => state.setSort(next === "" ? undefined : { order: next, desc: true })}
      />
      {chosen === "" ? null : (
        <Button
          icon={
            desc ? (
              <SortDescendingOutlined aria-hidden="true" />
            ) : (
              <SortAscendingOutlined aria-hidden="true" />
            )
          }
          aria-label={turn}
          title={turn}
          onClick={() => state.setSort({ order, desc: !desc })}
        />
      )}
    </Space.Compact>
  );
}
