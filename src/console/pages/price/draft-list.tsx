// The rows of a price draft: what a model costs now and by the list, why a row is doubted, and which ones are to be published.
import { Checkbox, Pagination, Segmented } from "antd";
import { useState } from "react";
import { formatCount } from "#console/base/format.ts";
import { pageItem } from "#console/ui/page-item.tsx";
import { StatusTag } from "#console/ui/status-tag.tsx";
import type { PriceDraftRow } from "#contract/price-list.ts";
import { FLAGS, priceText, VERDICTS } from "./words.ts";

const SIZE = 20;
const VIEWS = { changed: "有变化", doubtful: "需确认", refused: "不可用", same: "无变化" } as const;
type View = keyof typeof VIEWS;

const inView = (view: View) => (row: PriceDraftRow) =>
  view === "changed" ? row.verdict === "fine" || row.verdict === "doubtful" : row.verdict === view;

interface RowProps {
  readonly row: PriceDraftRow;
  readonly isChosen: boolean;
  readonly onChoose: (isChosen: boolean) => void;
}

function Row({ row, isChosen, onChoose }: RowProps) {
  const { model, old, fresh, change, flags, verdict, calls } = row;
  const canChoose = verdict === "fine" || verdict === "doubtful";
  const sign = change !== null && change > 0 ? "+" : "";
  return (
    <li className="tg-price-row">
      <Checkbox checked={isChosen} disabled={!canChoose} onChange={({ target }) => onChoose(target.checked)}>
        <span className="tg-code">{model}</span>
      </Checkbox>
      <StatusTag {...VERDICTS[verdict]} hint={flags.map((flag) => FLAGS[flag]).join("；")} />
      <span className="tg-price-change">
        {old === null ? "没有价格" : priceText(old)}
        {verdict === "same" ? null : ` → ${priceText(fresh)}`}
        {change === null || change === 0 ? null : ` （${sign}${change}%）`}
      </span>
      <span className="tg-price-facts">
        {[...flags.map((flag) => FLAGS[flag]), calls > 0 ? `近 30 天 ${formatCount(calls)} 次调用` : ""]
          .filter((text) => text !== "")
          .join("；")}
      </span>
    </li>
  );
}

export interface DraftListProps {
  readonly rows: readonly PriceDraftRow[];
  readonly chosen: ReadonlySet<string>;
  readonly onChange: (chosen: ReadonlySet<string>) => void;
}

export function DraftList({ rows, chosen, onChange }: DraftListProps) {
  const [view, setView] = useState<View>("changed");
  const [page, setPage] = useState(1);
  const shown = rows.filter(inView(view));
  const choose = (model: string, isChosen: boolean) => {
    const next = new Set(chosen);
    if (isChosen) next.add(model);
    else next.delete(model);
    onChange(next);
  };
  // The keys of VIEWS are exactly View.
  const views = Object.keys(VIEWS) as View[];
  return (
    <div className="tg-price-draft">
      <Segmented
        aria-label="显示哪些模型"
        value={view}
        options={views.map((value) => ({
          value,
          label: `${VIEWS[value]} ${formatCount(rows.filter(inView(value)).length)}`,
        }))}
        onChange={(next) => {
          setView(next);
          setPage(1);
        }}
      />
      {shown.length === 0 ? <p>没有这样的模型。</p> : null}
      <ul className="tg-price-rows">
        {shown.slice((page - 1) * SIZE, page * SIZE).map((row) => (
          <Row
            key={row.model}
            row={row}
            isChosen={chosen.has(row.model)}
            onChoose={(isChosen) => choose(row.model, isChosen)}
          />
        ))}
      </ul>
      {shown.length <= SIZE ? null : (
        <Pagination
          current={page}
          pageSize={SIZE}
          total={shown.length}
          showSizeChanger={false}
          itemRender={pageItem}
          onChange={setPage}
        />
      )}
    </div>
  );
}
