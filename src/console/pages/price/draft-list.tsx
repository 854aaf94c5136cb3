// The rows of a price draft: what a model costs now and by the list, why a row is doubted, and which ones are to be published.
import { Button, Checkbox, Pagination, Segmented } from "antd";
import { useState } from "react";
import { formatCount } from "#console/base/format.ts";
import type { Currency } from "#console/base/money-price.ts";
import { pageItem } from "#console/ui/page-item.tsx";
import { StatusTag } from "#console/ui/status-tag.tsx";
import type { PriceChoices, PriceDraftRow } from "#contract/price-draft.ts";
import { FLAGS, otherChanges, priceText, VERDICTS } from "./words.ts";

const SIZE = 20;
const VIEWS = {
  fine: "可发布",
  doubtful: "需确认",
  refused: "不可用",
  gone: "不再列出",
  same: "无变化",
} as const;
type View = keyof typeof VIEWS;

const LEADS: Readonly<Partial<Record<View, string>>> = {
  doubtful: "这些价格需要逐个核对：勾选一行，即表示你核对过这一行。",
  refused: "这些价格不会从价目表发布；需要时请在“模型与价格”中手动填写。",
  gone: "价目表以前有、现在没有这些模型。本站的价格保持不变。",
};

interface RowProps {
  readonly row: PriceDraftRow;
  readonly currency: Currency;
  readonly isChosen: boolean;
  readonly isReadOnly: boolean;
  readonly onChoose: (isChosen: boolean) => void;
}

function Row({ row, currency, isChosen, isReadOnly, onChoose }: RowProps) {
  const { model, listed_as, unit, old, fresh, change, flags, verdict, calls } = row;
  const canChoose = verdict === "fine" || verdict === "doubtful";
  const sign = change !== null && change > 0 ? "+" : "";
  const look = { unit, currency };
  const before = old === null ? "没有价格" : priceText(old, look);
  const after = priceText(fresh, look);
  const others = otherChanges(row, look);
  const facts = [
    change === null || change === 0 ? "" : `最大变化 ${sign}${change}%`,
    ...flags.map((flag) => FLAGS[flag]),
    listed_as === "" ? "" : `价目表中的名称：${listed_as}`,
    calls > 0 ? `近 30 天 ${formatCount(calls)} 次调用` : "",
  ].filter((text) => text !== "");
  return (
    <li className="tg-price-row">
      <Checkbox
        checked={isChosen}
        disabled={!canChoose || isReadOnly}
        onChange={({ target }) => onChoose(target.checked)}
      >
        <span className="tg-code">{model}</span>
      </Checkbox>
      <StatusTag {...VERDICTS[verdict]} />
      <span className="tg-price-change">
        {before}
        {verdict === "gone" || before === after ? null : ` → ${after}`}
      </span>
      {others.map((text) => (
        <span key={text} className="tg-price-change">
          {text}
        </span>
      ))}
      <span className="tg-price-facts">{facts.join("；")}</span>
    </li>
  );
}

export interface DraftListProps {
  readonly rows: readonly PriceDraftRow[];
  readonly currency: Currency;
  readonly choices: PriceChoices;
  /** Absent = they are decided. */
  readonly onChange?: (choices: PriceChoices) => void;
}

/** Who ticks a row in doubt has looked at it: all others can be ticked at once. */
export function DraftList({ rows, currency, choices, onChange }: DraftListProps) {
  const counts = (view: View) => rows.filter(({ verdict }) => verdict === view).length;
  // The keys of VIEWS are exactly View.
  const views = (Object.keys(VIEWS) as View[]).filter((view) => view === "fine" || counts(view) > 0);
  const [view, setView] = useState<View>(() => views.find((one) => counts(one) > 0) ?? "fine");
  const [page, setPage] = useState(1);
  const shown = rows.filter(({ verdict }) => verdict === view);
  const choose = ({ model, verdict }: PriceDraftRow, isChosen: boolean) => {
    const others = Object.entries(choices).filter(([name]) => name !== model);
    const choice = verdict === "doubtful" ? "confirmed" : "chosen";
    onChange?.(Object.fromEntries(isChosen ? [...others, [model, choice]] : others));
  };
  const chooseFine = () =>
    onChange?.({
      ...choices,
      ...Object.fromEntries(
        rows.filter(({ verdict }) => verdict === "fine").map(({ model }) => [model, "chosen"] as const),
      ),
    });
  return (
    <div className="tg-price-draft">
      <Segmented
        aria-label="显示哪些模型"
        value={view}
        options={views.map((value) => ({ value, label: `${VIEWS[value]} ${formatCount(counts(value))}` }))}
        onChange={(next) => {
          setView(next);
          setPage(1);
        }}
      />
      {LEADS[view] === undefined ? null : <p className="tg-price-lead">{LEADS[view]}</p>}
      {onChange === undefined || view === "refused" || view === "gone" || view === "same" ? null : (
        <div className="tg-price-all">
          {view === "fine" ? (
            <Button size="small" onClick={chooseFine}>
              全选可发布的
            </Button>
          ) : null}
          <Button size="small" onClick={() => onChange({})} disabled={Object.keys(choices).length === 0}>
            全不选
          </Button>
        </div>
      )}
      {shown.length === 0 ? <p>没有这样的模型。</p> : null}
      <ul className="tg-price-rows">
        {shown.slice((page - 1) * SIZE, page * SIZE).map((row) => (
          <Row
            key={row.model}
            row={row}
            currency={currency}
            isChosen={Object.hasOwn(choices, row.model)}
            isReadOnly={onChange === undefined}
            onChoose={(isChosen) => choose(row, isChosen)}
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
