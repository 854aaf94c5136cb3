// A name → name table kept as JSON text: a table to edit first, the raw JSON behind a tab.
import { DeleteOutlined, PlusOutlined } from "@ant-design/icons";
import { Button, Input, Segmented } from "antd";
import { useState } from "react";
import { jsonFault, readPairs, writePairs } from "#console/base/json.ts";
import "./mapping-field.css";

type Pair = readonly [string, string];

export interface MappingFieldProps {
  readonly id?: string;
  /** JSON text; "" = none. Given by Form.Item. */
  readonly value?: string;
  readonly onChange?: (text: string) => void;
  readonly from: string;
  readonly to: string;
  readonly example: string;
}

interface PairTableProps {
  readonly pairs: readonly Pair[];
  readonly onChange: (pairs: readonly Pair[]) => void;
  readonly from: string;
  readonly to: string;
}

function PairTable({ pairs, onChange, from, to }: PairTableProps) {
  const put = (at: number, pair: Pair) => onChange(pairs.map((old, index) => (index === at ? pair : old)));
  return (
    <div className="tg-pairs">
      {pairs.map(([name, target], index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a row is its place; names change while they are typed
        <div key={index} className="tg-pair">
          <Input
            aria-label={`第 ${index + 1} 行${from}`}
            placeholder={from}
            value={name}
            onChange={(event) => put(index, [event.target.value, target])}
          />
          <span aria-hidden="true">→</span>
          <Input
            aria-label={`第 ${index + 1} 行${to}`}
            placeholder={to}
            value={target}
            onChange={(event) => put(index, [name, event.target.value])}
          />
          <Button
            type="text"
            icon={<DeleteOutlined aria-hidden="true" />}
            aria-label={`删除第 ${index + 1} 行`}
            onClick={() => onChange(pairs.filter((_pair, at) => at !== index))}
          />
        </div>
      ))}
      <Button
        type="dashed"
        icon={<PlusOutlined aria-hidden="true" />}
        onClick={() => onChange([...pairs, ["", ""]])}
      >
        添加一行
      </Button>
    </div>
  );
}

export function MappingField({ id, value = "", onChange, from, to, example }: MappingFieldProps) {
  const [isRaw, setRaw] = useState(false);
  const [rows, setRows] = useState<readonly Pair[]>(() => readPairs(value) ?? []);
  const pairs = readPairs(value);
  const fault = jsonFault(value);
  const showRaw = isRaw || pairs === undefined;
  const change = (next: readonly Pair[]) => {
    setRows(next);
    // Rows that are still being typed are kept on screen, not in the value.
    onChange?.(writePairs(next.filter(([name, target]) => name.trim() !== "" && target.trim() !== "")));
  };
  const choose = (raw: boolean) => {
    if (!raw) setRows(pairs ?? []);
    setRaw(raw);
  };
  return (
    <div className="tg-mapping">
      <Segmented
        size="small"
        aria-label="编辑方式"
        value={showRaw ? "raw" : "table"}
        options={[
          { value: "table", label: "表格", disabled: pairs === undefined },
          { value: "raw", label: "JSON" },
        ]}
        onChange={(next) => choose(next === "raw")}
      />
      {showRaw ? (
        <Input.TextArea
          {...(id === undefined ? {} : { id })}
          className="tg-code"
          value={value}
          autoSize={{ minRows: 4, maxRows: 16 }}
          placeholder={example}
          spellCheck={false}
          onChange={(event) => {
            setRaw(true);
            onChange?.(event.target.value);
          }}
        />
      ) : (
        <PairTable pairs={rows} onChange={change} from={from} to={to} />
      )}
      {fault === undefined ? null : <span className="tg-mapping-fault">{fault.text}</span>}
    </div>
  );
}
