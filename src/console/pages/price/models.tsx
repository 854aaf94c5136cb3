// 模型与价格: a row for each model, what it costs, where the price comes from, who offers it.
import { UndoOutlined } from "@ant-design/icons";
import { useQuery } from "@tanstack/react-query";
import { query, useCall } from "#console/base/call.ts";
import { formatCount } from "#console/base/format.ts";
import { type Currency, moneyText, OTHER_WORDS, tierText, UNIT_WORDS } from "#console/base/money-price.ts";
import { useStatus } from "#console/base/status.ts";
import { toast } from "#console/base/toast.ts";
import { Callout } from "#console/ui/callout.tsx";
import { useToForm } from "#console/ui/form-way.ts";
import { type FilterField, ListFilters, useAddressFilters } from "#console/ui/list-filters.tsx";
import { Page } from "#console/ui/page.tsx";
import { LinkButton } from "#console/ui/plain-button.tsx";
import { ResourceTable } from "#console/ui/resource-table.tsx";
import { AddLink, editAction } from "#console/ui/row-actions.tsx";
import type { Column, RowAction } from "#console/ui/row-view.ts";
import { StatusTag } from "#console/ui/status-tag.tsx";
import { Tooltip } from "#console/ui/tooltip.tsx";
import type { MoneyPrice } from "#contract/catalogue.ts";
import { type ModelPriceRow, modelPriceApi } from "#contract/model-price.ts";
import { priceListApi } from "#contract/price-list.ts";
import { SOURCES, sourceHint, VIEWS } from "./words.ts";
import "./price.css";

function Money({ dollars, currency }: { readonly dollars: string | undefined; readonly currency: Currency }) {
  if (dollars === undefined || dollars === "") return <span className="tg-muted">—</span>;
  return <span className="tg-number">{moneyText(dollars, currency)}</span>;
}

/** Models that are counted otherwise have one price, which stands with the input. */
function Input({ row, currency }: { readonly row: ModelPriceRow; readonly currency: Currency }) {
  const { money } = row;
  return (
    <>
      <Money dollars={money?.input} currency={currency} />
      {money === null || money.unit === "token" ? null : (
        <small className="tg-muted"> {UNIT_WORDS[money.unit]}</small>
      )}
    </>
  );
}

function More({ row, currency }: { readonly row: ModelPriceRow; readonly currency: Currency }) {
  const { money } = row;
  const lines = [
    ...(money?.tiers ?? []).map((tier) => tierText(tier, currency)),
    ...(money?.others ?? []).map(({ kind, price }) => `${OTHER_WORDS[kind]} ${moneyText(price, currency)}`),
  ];
  if (lines.length === 0) return <span className="tg-muted">—</span>;
  return (
    <Tooltip title={lines.join("；")}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what the tooltip says must be reachable by keyboard */}
      <span className="tg-price-more" tabIndex={0}>
        {(money?.tiers.length ?? 0) > 0 ? `${money?.tiers.length} 个阶梯` : "另有价格"}
      </span>
    </Tooltip>
  );
}

function Source({ row }: { readonly row: ModelPriceRow }) {
  return <StatusTag {...SOURCES[row.source]} hint={sourceHint(row)} />;
}

function Channels({ row: { channels, channel_names } }: { readonly row: ModelPriceRow }) {
  if (channels === 0) return <span className="tg-muted">无</span>;
  const names = `${channel_names.join("、")}${channels > channel_names.length ? "…" : ""}`;
  return (
    <span className="tg-clip" title={names}>
      {formatCount(channels)} 个：{names}
    </span>
  );
}

function columnsIn(currency: Currency): readonly Column<ModelPriceRow>[] {
  const price = (
    key: Exclude<keyof MoneyPrice, "input">,
    title: string,
    width: number,
  ): Column<ModelPriceRow> => ({
    key,
    title,
    width,
    isNumber: true,
    render: ({ money }) => <Money dollars={money?.[key]} currency={currency} />,
  });
  return [
    {
      key: "model",
      title: "模型",
      width: 200,
      isFixed: true,
      isInHead: true,
      isSortable: true,
      render: ({ model, maker, unlisted }) => (
        <span className="tg-price-model">
          <span className="tg-code tg-clip" title={model}>
            {model}
          </span>
          <small className="tg-muted">
            {maker}
            {unlisted.length === 0 ? null : (
              <span title={`不再列出：${unlisted.join("、")}`}> · 价目表不再列出</span>
            )}
          </small>
        </span>
      ),
    },
    {
      key: "input",
      title: "输入",
      width: 104,
      isNumber: true,
      render: (row) => <Input row={row} currency={currency} />,
    },
    price("output", "输出", 84),
    price("cache_read", "缓存读取", 88),
    price("cache_write", "缓存写入", 88),
    {
      key: "tiers",
      title: "阶梯与其他",
      width: 100,
      render: (row) => <More row={row} currency={currency} />,
    },
    { key: "source", title: "来源", width: 100, isInHead: true, render: (row) => <Source row={row} /> },
    {
      key: "channels",
      title: "渠道",
      width: 120,
      isGrowing: true,
      isSortable: true,
      render: (row) => <Channels row={row} />,
    },
    { key: "last_day", title: "停用日期", width: 100, shows: "text" },
  ];
}

function fieldsOf(makers: readonly string[]): readonly FilterField[] {
  return [
    {
      kind: "choice",
      name: "view",
      label: "显示",
      chip: "显示",
      width: 150,
      options: VIEWS,
    },
    {
      kind: "choice",
      name: "maker",
      label: "厂商",
      chip: "厂商",
      width: 140,
      isSearchable: true,
      options: [{ value: "", label: "所有厂商" }, ...makers.map((value) => ({ value, label: value }))],
    },
    {
      kind: "choice",
      name: "currency",
      label: "货币",
      chip: "货币",
      width: 140,
      options: [
        { value: "", label: "默认货币" },
        { value: "USD", label: "美元（$）" },
        { value: "CNY", label: "人民币（¥）" },
      ],
    },
  ];
}

const FIRST = query(modelPriceApi.list, {
  query: { p: 0, size: 1, order: "", desc: false, keyword: "", maker: "", view: "" },
});

function usePriceActions() {
  const toForm = useToForm();
  const save = useCall(modelPriceApi.save, {
    invalidates: [modelPriceApi.list, modelPriceApi.find, priceListApi.versions],
    onSuccess: () => toast.success(),
  });
  return ({ model, mark, last_day, is_changed, is_built_in }: ModelPriceRow): RowAction[] => [
    {
      ...editAction(() => toForm(`/price/edit?model=${encodeURIComponent(model)}`)),
      permission: "option.write",
    },
    ...(is_changed
      ? [
          {
            key: "reset",
            label: is_built_in ? "恢复内置" : "删除价格",
            icon: <UndoOutlined aria-hidden="true" />,
            permission: "option.write" as const,
            question: is_built_in
              ? `恢复 ${model} 的内置价格？之后的调用按内置价格计费。`
              : `删除 ${model} 的价格？之后的调用会被拒绝。`,
            confirmText: "确认",
            onClick: () =>
              save.mutate({ body: { model, mark, last_day, ratios: null, tiers: [], reason: "" } }),
          },
        ]
      : []),
  ];
}

const extra = (
  <>
    <LinkButton to="/price/ratio">倍率与 JSON</LinkButton>
    <LinkButton to="/price/update">从价目表更新</LinkButton>
    <AddLink to="/price/edit" text="添加价格" permission="option.write" />
  </>
);

export function ModelPricesPage() {
  const { data: first } = useQuery({ ...FIRST, meta: { silent: true }, staleTime: 10_000 });
  const fields = fieldsOf(first?.makers ?? []);
  const filters = useAddressFilters(fields);
  const status = useStatus();
  const { view = "", maker = "" } = filters.values;
  const currency =
    filters.values["currency"] === "CNY" || filters.values["currency"] === "USD"
      ? filters.values["currency"]
      : (status?.price_currency ?? "USD");
  const actions = usePriceActions();
  const unpriced = first?.unpriced ?? 0;
  return (
    <Page
      title="模型与价格"
      lead="分组倍率为 1 时的价格；除另有说明外，按每百万 token。保存后立即对新的调用生效，可以撤销。"
      extra={extra}
    >
      {unpriced === 0 || view === "unpriced" ? null : (
        <Callout tone="warn">
          渠道中有 {formatCount(unpriced)} 个模型没有价格，调用会被拒绝或按“未定价模型的倍率”计费。
          <LinkButton to="/price?view=unpriced">查看</LinkButton>
        </Callout>
      )}
      <ResourceTable<ModelPriceRow>
        name="model-price"
        label="模型与价格列表"
        searchHint="搜索模型或厂商"
        filters={
          <ListFilters fields={fields} label="筛选模型" values={filters.values} onChange={filters.change} />
        }
        load={(input) => query(modelPriceApi.list, { query: { ...input, maker, view } })}
        columns={columnsIn(currency)}
        actions={actions}
        actionsWidth={166}
        cardTitle={({ model }) => <span className="tg-code">{model}</span>}
        cardState={(row) => <Source row={row} />}
        cardFacts={["input", "output", "cache_read", "channels"]}
        empty={{ text: "没有这样的模型。" }}
      />
    </Page>
  );
}
