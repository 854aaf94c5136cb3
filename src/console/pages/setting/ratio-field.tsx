// Edits a price table: searchable rows with money beside the ratio, or the raw JSON with the place of a mistake.
import { DeleteOutlined, PlusOutlined, SearchOutlined, UndoOutlined } from "@ant-design/icons";
import { Button, Input, Segmented, Switch, Table, type TableColumnsType } from "antd";
import { useState } from "react";
import { Link } from "react-router";
import { jsonFault } from "#console/base/json.ts";
import { NARROW, useMedia } from "#console/base/media.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { clearable } from "#console/ui/clearable.tsx";
import { NumberInput } from "#console/ui/number-input.tsx";
import { pageItem } from "#console/ui/page-item.tsx";
import { optionTable } from "#contract/option.ts";
import {
  type Bases,
  dollarText,
  isChanged,
  type RatioKey,
  type RatioRow,
  type Ratios,
  ratioOfDollars,
  ratioRows,
  readRatios,
  rowMoney,
  withRatio,
  writeRatios,
} from "./ratio-rows.ts";
import { Unpriced } from "./unpriced.tsx";

export interface RatioFieldProps {
  readonly ratioKey: RatioKey;
  /** JSON text. Given by Form.Item. */
  readonly value?: string;
  readonly onChange?: (text: string) => void;
  /** For the money of tables that multiply others. */
  readonly bases: Bases;
  readonly isReadOnly: boolean;
}

interface RowTools {
  readonly ratioKey: RatioKey;
  readonly bases: Bases;
  readonly quotaPerUnit: number;
  readonly isReadOnly: boolean;
  readonly set: (name: string, ratio: number | undefined) => void;
}

/** What is none leaves the row as it was: a slip must not make a model free. */
function isPrice(typed: number | null): typed is number {
  return typed !== null && Number.isFinite(typed) && typed >= 0;
}

function Price({ row, tools }: { readonly row: RatioRow; readonly tools: RowTools }) {
  const money = rowMoney(tools.ratioKey, row, tools.bases, tools.quotaPerUnit);
  if (money === undefined) return <span className="tg-muted">—</span>;
  if (tools.ratioKey !== "ModelRatio" || tools.isReadOnly) {
    return (
      <span className="tg-number">
        {dollarText(money.dollars)} <span className="tg-muted">/ {money.per}</span>
      </span>
    );
  }
  return (
    <span className="tg-ratio-price">
      <NumberInput
        size="small"
        prefix="$"
        controls={false}
        value={Number(money.dollars.toFixed(6))}
        aria-label={`${row.name} 的价格`}
        onChange={(dollars) =>
          isPrice(dollars)
            ? tools.set(
                row.name,
                ratioOfDollars(row.name, dollars, {
                  quotaPerUnit: tools.quotaPerUnit,
                  units: tools.bases.units,
                }),
              )
            : undefined
        }
      />
      <span className="tg-muted">/ {money.per}</span>
    </span>
  );
}

function Reset({ row, tools }: { readonly row: RatioRow; readonly tools: RowTools }) {
  if (tools.isReadOnly || !isChanged(row)) return null;
  // Every user without a group is in this one.
  if (tools.ratioKey === "GroupRatio" && row.name === "default") return null;
  const isOwn = row.builtIn === undefined;
  const label = isOwn ? `删除 ${row.name}` : `恢复 ${row.name} 的内置倍率 ${row.builtIn}`;
  return (
    <Button
      type="text"
      size="small"
      icon={isOwn ? <DeleteOutlined aria-hidden="true" /> : <UndoOutlined aria-hidden="true" />}
      aria-label={label}
      title={label}
      onClick={() => tools.set(row.name, undefined)}
    />
  );
}

function RatioInput({ row, tools }: { readonly row: RatioRow; readonly tools: RowTools }) {
  return (
    <NumberInput
      size="small"
      controls={false}
      disabled={tools.isReadOnly}
      value={row.ratio}
      aria-label={`${row.name} 的倍率`}
      onChange={(ratio) => (isPrice(ratio) ? tools.set(row.name, ratio) : undefined)}
    />
  );
}

/** Tables whose price is that of output. */
const OF_OUTPUT: readonly RatioKey[] = ["CompletionRatio", "AudioCompletionRatio", "ImageCompletionRatio"];

/** On a phone the price stands under the ratio. */
function columnsOf(tools: RowTools, isNarrow: boolean): TableColumnsType<RatioRow> {
  const isGroup = tools.ratioKey === "GroupRatio";
  const priceTitle = OF_OUTPUT.includes(tools.ratioKey) ? "输出价格" : "价格";
  const isPriceApart = !isGroup && !isNarrow;
  return [
    {
      key: "name",
      title: isGroup ? "分组" : "模型",
      render: (_value, row) => (
        <span className={isChanged(row) && !isGroup ? "tg-code tg-ratio-changed" : "tg-code"}>
          {row.name}
          {row.isRule ? <small className="tg-muted"> 按系列</small> : null}
        </span>
      ),
    },
    {
      key: "ratio",
      title: isGroup || isPriceApart ? "倍率" : `倍率与${priceTitle}`,
      width: isGroup || isPriceApart ? 116 : 184,
      render: (_value, row) => (
        <span className="tg-ratio-cell">
          <RatioInput row={row} tools={tools} />
          {isGroup || isPriceApart ? null : <Price row={row} tools={tools} />}
        </span>
      ),
    },
    ...(isPriceApart
      ? [
          {
            key: "price",
            title: priceTitle,
            width: 236,
            render: (_value: unknown, row: RatioRow) => <Price row={row} tools={tools} />,
          },
        ]
      : []),
    {
      key: "reset",
      title: <span className="tg-hidden">恢复或删除</span>,
      width: isNarrow ? 36 : 44,
      render: (_value, row) => <Reset row={row} tools={tools} />,
    },
  ];
}

function AddRow({ label, onAdd }: { readonly label: string; readonly onAdd: (name: string) => void }) {
  const [name, setName] = useState("");
  const add = () => {
    if (name.trim() !== "") onAdd(name.trim());
    setName("");
  };
  return (
    <div className="tg-ratio-add">
      <Input
        value={name}
        placeholder={`${label}名称`}
        aria-label={`新${label}的名称`}
        onChange={(event) => setName(event.target.value)}
        onPressEnter={(event) => {
          event.preventDefault();
          add();
        }}
      />
      <Button icon={<PlusOutlined aria-hidden="true" />} disabled={name.trim() === ""} onClick={add}>
        添加
      </Button>
    </div>
  );
}

interface RatioTableProps extends Omit<RowTools, "set"> {
  readonly ratios: Ratios;
  readonly onChange: (ratios: Ratios) => void;
}

function RatioTable({ ratios, onChange, ...tools }: RatioTableProps) {
  const [keyword, setKeyword] = useState("");
  const [onlyChanged, setOnlyChanged] = useState(false);
  const isNarrow = useMedia(NARROW);
  const { ratioKey } = tools;
  const label = ratioKey === "GroupRatio" ? "分组" : "模型";
  const set = (name: string, ratio: number | undefined) => onChange(withRatio(ratioKey, ratios, name, ratio));
  const rows = ratioRows(ratioKey, ratios, tools.bases.models).filter(
    (row) =>
      row.name.toLowerCase().includes(keyword.trim().toLowerCase()) && (!onlyChanged || isChanged(row)),
  );
  const add = (name: string) => {
    set(name, ratios[name] ?? 1);
    setKeyword(ratioKey === "GroupRatio" ? "" : name);
  };
  return (
    <div className="tg-ratio-table">
      {ratioKey === "ModelRatio" ? (
        <>
          {tools.isReadOnly ? null : (
            <p>
              <Link to="/price/update">从公开的价目表更新价格</Link>
            </p>
          )}
          <Unpriced ratios={ratios} isReadOnly={tools.isReadOnly} onAdd={add} />
        </>
      ) : null}
      {ratioKey === "GroupRatio" ? null : (
        <div className="tg-ratio-tools">
          <Input
            allowClear={clearable}
            prefix={<SearchOutlined aria-hidden="true" />}
            placeholder="搜索模型"
            aria-label="搜索模型"
            value={keyword}
            onChange={(event) => setKeyword(event.target.value)}
            onPressEnter={(event) => event.preventDefault()}
          />
          <span className="tg-ratio-only">
            <Switch
              size="small"
              checked={onlyChanged}
              aria-label="仅看与内置不同的"
              onChange={setOnlyChanged}
            />
            仅看与内置不同的
          </span>
        </div>
      )}
      <Table<RatioRow>
        size="small"
        rowKey="name"
        dataSource={[...rows]}
        columns={columnsOf({ ...tools, set }, isNarrow)}
        {...(isNarrow ? { tableLayout: "fixed" } : { scroll: { x: 480 } })}
        locale={{ emptyText: keyword === "" ? "还没有条目" : "没有找到，可在下方添加" }}
        pagination={{
          itemRender: pageItem,
          pageSize: 10,
          hideOnSinglePage: true,
          showSizeChanger: false,
          size: "small",
          showTotal: (total) => `共 ${total} 项`,
        }}
      />
      {tools.isReadOnly ? null : <AddRow label={label} onAdd={add} />}
    </div>
  );
}

export function RatioField({ ratioKey, value = "", onChange, bases, isReadOnly }: RatioFieldProps) {
  const { quotaPerUnit } = useQuotaDisplay();
  const [isRaw, setRaw] = useState(false);
  const ratios = readRatios(ratioKey, value);
  const fault = jsonFault(value);
  const showRaw = isRaw || ratios === undefined;
  return (
    <div className="tg-ratio">
      <Segmented
        size="small"
        aria-label="编辑方式"
        value={showRaw ? "raw" : "table"}
        options={[
          { value: "table", label: "表格", disabled: ratios === undefined },
          { value: "raw", label: "JSON" },
        ]}
        onChange={(next) => setRaw(next === "raw")}
      />
      {showRaw ? (
        <Input.TextArea
          className="tg-code"
          aria-label={`${optionTable[ratioKey].label}的 JSON`}
          value={value}
          readOnly={isReadOnly}
          autoSize={{ minRows: 8, maxRows: 22 }}
          spellCheck={false}
          onChange={(event) => {
            setRaw(true);
            onChange?.(event.target.value);
          }}
        />
      ) : (
        <RatioTable
          ratioKey={ratioKey}
          ratios={ratios}
          bases={ratioKey === "ModelRatio" ? { ...bases, models: ratios } : bases}
          quotaPerUnit={quotaPerUnit}
          isReadOnly={isReadOnly}
          onChange={(next) => onChange?.(writeRatios(next))}
        />
      )}
      {fault === undefined ? null : <span className="tg-ratio-fault">{fault.text}</span>}
    </div>
  );
}
