// The keys of a channel in the route explainer: how many have which verdict, and page by page why each is in or out (requirements C47).
import { useQuery } from "@tanstack/react-query";
import { Pagination, Select } from "antd";
import { useState } from "react";
import { query } from "#console/base/call.ts";
import { formatCharge, formatCount } from "#console/base/format.ts";
import { NARROW, useMedia } from "#console/base/media.ts";
import { useQuotaDisplay } from "#console/base/status.ts";
import { ClippedText } from "#console/ui/cell.tsx";
import { pageItem } from "#console/ui/page-item.tsx";
import { Section } from "#console/ui/section.tsx";
import { Sheet } from "#console/ui/sheet.tsx";
import { StatusTag } from "#console/ui/status-tag.tsx";
import { ErrorState } from "#console/ui/table-states.tsx";
import {
  type KeyCount,
  type KeyVerdict,
  type RouteChannel,
  type RouteKey,
  routeApi,
} from "#contract/route.ts";
import { KEY_LABELS, keyReason, keyTone, limitsText, oddsText } from "./route-words.ts";

const SIZE = 20;

function countText({ verdict, count }: KeyCount): string {
  return `${KEY_LABELS[verdict]} ${formatCount(count)}`;
}

function KeySheet({ label, keys }: { readonly label: string; readonly keys: readonly RouteKey[] }) {
  const display = useQuotaDisplay();
  return (
    <Sheet<RouteKey>
      label={label}
      width={1000}
      rowKey="id"
      rows={keys}
      why={{ title: "原因", width: 330, text: keyReason }}
      columns={[
        {
          title: "密钥",
          dataIndex: "name",
          className: "tg-route-line",
          render: (name: string, { id }) => <ClippedText text={`#${id} ${name}`.trimEnd()} />,
        },
        {
          title: "结论",
          dataIndex: "verdict",
          render: (verdict: KeyVerdict) => <StatusTag tone={keyTone(verdict)} label={KEY_LABELS[verdict]} />,
        },
        { title: "几率", dataIndex: "odds", align: "right", className: "tg-route-line", render: oddsText },
        { title: "权重", dataIndex: "weight", align: "right", className: "tg-route-line" },
        {
          title: "进行中",
          dataIndex: "in_flight",
          align: "right",
          className: "tg-route-line",
          render: formatCount,
        },
        {
          title: "限额",
          key: "limits",
          render: (_, { limits }) => limitsText(limits, (quota) => formatCharge(quota, display)) || "不限",
        },
        {
          title: "代理",
          dataIndex: "proxy",
          className: "tg-route-line",
          render: (proxy: string) => (proxy === "" ? "同渠道" : proxy === "direct" ? "直连" : proxy),
        },
      ]}
    />
  );
}

interface RouteKeysProps {
  readonly channel: RouteChannel;
  readonly model: string;
  readonly format: string;
}

/** Those of a channel that has several, for a model and a format. */
export function RouteKeys({ channel, model, format }: RouteKeysProps) {
  const { id, name, keys: counts, keys_total: all } = channel;
  const [verdict, setVerdict] = useState<KeyVerdict | "">("");
  const [page, setPage] = useState(0);
  const isNarrow = useMedia(NARROW);
  const found = useQuery(
    query(routeApi.keys, { params: { id }, query: { model, format, verdict, p: page, size: SIZE } }),
  );
  const total = found.data?.total ?? 0;
  return (
    <Section
      title={`渠道 #${id} ${name} 的密钥（${formatCount(all)} 个）`}
      lead={`${counts.map(countText).join("，")}。几率是本渠道的下一次调用用到它的机会；同一对话固定使用同一密钥。`}
    >
      <Select
        aria-label={`渠道 ${id} 的密钥按结论筛选`}
        className="tg-key-status tg-route-filter"
        value={verdict}
        options={[
          { value: "", label: "全部结论" },
          ...counts.map((one) => ({ value: one.verdict, label: countText(one) })),
        ]}
        onChange={(next) => {
          setVerdict(next);
          setPage(0);
        }}
      />
      {found.isError ? (
        <ErrorState error={found.error} onRetry={() => void found.refetch()} />
      ) : (
        <KeySheet label={`渠道 ${id} 的密钥`} keys={found.data?.data ?? []} />
      )}
      {total > SIZE ? (
        <Pagination
          className="tg-route-pages"
          current={page + 1}
          pageSize={SIZE}
          total={total}
          simple={isNarrow}
          showSizeChanger={false}
          itemRender={pageItem}
          onChange={(next) => setPage(next - 1)}
        />
      ) : null}
    </Section>
  );
}
